# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel settings: the table is whole, ceilings never fall, the file that really wins is named."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl, _sysctl_keys

ALL = [row for rows in _sysctl_keys.GROUPS.values() for row in rows]
ROWS = {row.name: row for row in ALL}
TIB = 1024 ** 3  # in KiB


def test_thirty_seven_settings_thirteen_of_them_the_articles():
    assert len(ALL) == len(ROWS) == 37
    assert len([row for row in ALL if row.article is not None]) == 13
    assert len([row for row in ALL if row.article is None]) == 24
    assert {name: len(rows) for name, rows in _sysctl_keys.GROUPS.items()} == {"memory": 9, "network": 19, "latency": 4, "limits": 5}


def test_the_articles_value_is_ours_but_where_a_reason_stands_against_it():
    assert {row.name for row in ALL if row.article not in (None, row.value)} == {"vm.overcommit_memory", "vm.nr_hugepages"}


@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_every_row_says_why_and_how(row):
    assert row.reason and row.scope in ("global", "inherited", "namespace", "follows")
    assert row.mode in ("exact", "at_least", "at_least_fields")
    assert _sysctl.normal(row.value) == row.value and "|" not in row.reason
    assert row.name not in _sysctl_keys.REFUSED


@pytest.mark.parametrize("name, current, wanted", [
    ("net.core.rmem_max", "4194304", "16777216"),
    ("net.core.rmem_max", "33554432", "33554432"),
    ("net.ipv4.tcp_rmem", "4096\t131072\t33554432", "4096 1048576 33554432"),
    ("net.ipv4.tcp_rmem", "8192\t131072\t6291456", "8192 1048576 16777216"),
    ("net.core.somaxconn", "65535", "65535"),
    ("net.ipv4.tcp_keepalive_time", "60", "300"),
    ("net.core.rmem_max", None, "16777216"),
])
def test_ceilings_are_raised_and_never_lowered(name, current, wanted):
    assert _sysctl.target(ROWS[name], current) == wanted
    assert _sysctl.satisfied(ROWS[name], wanted)


def test_reserved_ports_are_added_to_what_is_there():
    row = _sysctl.wanted([], [], [30000, 30001, 30002, 9000])[0]
    assert row.name == "net.ipv4.ip_local_reserved_ports" and row.value == "9000,30000-30002"
    assert _sysctl.target(row, "8125,9001") == "8125,9000-9001,30000-30002"
    assert _sysctl.target(row, "") == "9000,30000-30002"
    assert _sysctl.satisfied(row, "9000,30000-30010") and not _sysctl.satisfied(row, "30000")


def test_users_list_adds_changes_and_takes_out():
    rows = {row.name: row for row in _sysctl.wanted(["network"], [
        {"name": "net.core.somaxconn", "value": 1024},
        {"name": "net/ipv4/tcp_tw_reuse", "value": "2", "state": "present"},
        {"name": "net.core.default_qdisc", "state": "absent"},
    ], [])}
    assert rows["net.core.somaxconn"].mode == "exact" and rows["net.core.somaxconn"].value == "1024"
    assert rows["net.ipv4.tcp_tw_reuse"].value == "2"
    assert "net.core.default_qdisc" not in rows and len(rows) == 19


@pytest.mark.parametrize("name, value, said", [
    ("vm.swappiness", True, "write 1 or 0"),
    ("vm.swappiness", "yes", "write 1 or 0"),
    ("vm.swappiness", None, "wanted is a number"),
    ("vm.swappiness", [1], "wanted is a number"),
    ("net.ipv4.ip_forward", 1, "open router"),
    ("vm.drop_caches", 3, "an action"),
    ("no way", 3, "not the name"),
])
def test_what_cannot_be_meant_is_refused_by_name(name, value, said):
    with pytest.raises(_sysctl.SysctlError, match=said) as caught:
        _sysctl.wanted([], [{"name": name, "value": value}], [])
    assert name in str(caught.value)


def test_unknown_group_names_the_known_ones():
    with pytest.raises(_sysctl.SysctlError, match="known are latency, limits, memory, network"):
        _sysctl.wanted(["speed"], [], [])


def test_files_count_in_the_order_they_are_read():
    assert _sysctl.reading_order([
        "/etc/sysctl.conf", "/usr/lib/sysctl.d/50-default.conf", "/etc/sysctl.d/99-sysctl.conf",
        "/etc/sysctl.d/50-default.conf", "/etc/sysctl.d/99-zz-indiaai-inference.conf", "/etc/sysctl.d/README",
        "/etc/sysctl.d/99-llm-serving.conf", "/run/sysctl.d/10-a.conf",
    ]) == [
        "/run/sysctl.d/10-a.conf", "/etc/sysctl.d/50-default.conf", "/etc/sysctl.d/99-llm-serving.conf",
        "/etc/sysctl.d/99-sysctl.conf", "/etc/sysctl.d/99-zz-indiaai-inference.conf", "/etc/sysctl.conf",
    ]


@pytest.mark.parametrize("text, shadow", [
    ("net.core.somaxconn = 128", ("/etc/sysctl.conf", "128")),
    ("net/core/somaxconn=128\n", ("/etc/sysctl.conf", "128")),
    ("-net.core.somaxconn = 128", ("/etc/sysctl.conf", "128")),
    ("net.core.* = 7", ("/etc/sysctl.conf", "7")),
    ("net.core.somaxconn = 8192", None),
    ("net.core.somaxconn = 65535", None),
    ("#net.core.somaxconn = 128\n; x\njunk", None),
    ("net.core.somaxconn = 128\nnet.core.somaxconn = 9000", None),
    ("net.core.somaxconn = many", ("/etc/sysctl.conf", "many")),
])
def test_a_later_file_with_another_value_is_named(text, shadow):
    assert _sysctl.shadows(ROWS["net.core.somaxconn"], "8192", [("/etc/sysctl.conf", text)]) == shadow


def test_paths_and_names():
    assert _sysctl.path("net.ipv4.conf.eth0/1.rp_filter") == "/proc/sys/net/ipv4/conf/eth0.1/rp_filter"
    assert _sysctl.canonical("net/ipv4/conf/eth0.1/rp_filter") == "net.ipv4.conf.eth0/1.rp_filter"
    assert _sysctl.canonical("net.ipv4.tcp_ecn") == "net.ipv4.tcp_ecn"


def test_rendered_file_reads_back():
    text = _sysctl.render([(ROWS["net.core.somaxconn"], "8192", None),
                           (ROWS["net.core.rmem_max"], None, "not on this host (readonly)")], "Managed.\n\nDo not edit.")
    assert _sysctl.parse_conf(text) == [("net.core.somaxconn", "8192")]
    assert "# not on this host (readonly): net.core.rmem_max = 16777216" in text
    assert text.startswith("# Managed.\n#\n# Do not edit.\n")


def test_readme_lists_exactly_the_table():
    readme = (pathlib.Path(__file__).parents[4] / "roles/kernel_tuning/README.md").read_text(encoding="utf-8")
    shown = {}
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 5:
            shown[cells[0].strip("`")] = cells[1:]
    assert shown.pop(_sysctl_keys.RESERVED_PORTS)[2] == ""
    how = {"exact": "exactly", "at_least": "at least", "at_least_fields": "each at least"}
    assert shown == {row.name: ["%s %s" % (how[row.mode], row.value), row.scope, row.article or "", row.reason + (
        " (module %s)" % row.module if row.module else "")] for row in ALL}
    assert sum(bool(cells[2]) for cells in shown.values()) == 13
    for name in _sysctl_keys.GROUPS:
        assert "### Group `%s`" % name in readme


def test_explicit_hugepages_are_zero_by_default_and_what_is_reserved_is_told():
    """Reserved pages are missing from MemAvailable, and engines then refuse to start for lack of memory."""
    row = {row.name: row for row in _sysctl.wanted(["memory"], [], [])}["vm.nr_hugepages"]
    assert row.value == "0" and row.mode == "exact"
    assert _sysctl.hugepages("HugePages_Total:    1024\nHugePages_Free:     1000\nHugepagesize:       2048 kB\n") == {
        "total": 1024, "free": 1000, "page_kib": 2048, "reserved_mib": 2048, "unused_mib": 2000}
    assert _sysctl.hugepages("MemTotal: 5 kB\n")["reserved_mib"] == 0


def test_a_vendors_higher_max_map_count_is_never_lowered():
    row = {row.name: row for row in _sysctl.wanted(["memory"], [], [])}["vm.max_map_count"]
    assert _sysctl.target(row, "2147483642") == "2147483642" and _sysctl.satisfied(row, "1048576")
    assert _sysctl.target(row, "65530") == "1048576"


def test_numa_balancing_is_wanted_off_on_gpu_hosts():
    row = {row.name: row for row in _sysctl.wanted(["latency"], [], [])}["kernel.numa_balancing"]
    assert _sysctl.target(row, "1") == "0" and not _sysctl.satisfied(row, "1")


@pytest.mark.parametrize("memory, current, wanted", [
    (2 * TIB, "67584", "4194304"),   # 2 TiB: capped at 4 GiB
    (TIB // 4, "67584", "1342177"),  # 256 GiB: half a percent
    (1048576, "4000", "5242"),
    (1048576, "67584", "67584"),     # never lower
    (0, "67584", "67584"),           # memory unknown
])
def test_min_free_follows_the_memory_with_a_cap(memory, current, wanted):
    row = {row.name: row for row in _sysctl.wanted(["memory"], [], [], memory)}["vm.min_free_kbytes"]
    assert _sysctl.target(row, current) == wanted


def test_memory_is_read_from_meminfo():
    assert _sysctl.memory_kib("MemTotal:       24689120 kB\nMemFree: 1 kB\n") == 24689120
    assert _sysctl.memory_kib("") == 0


def test_groups_are_switched_one_by_one():
    for name, rows in _sysctl_keys.GROUPS.items():
        assert [row.name for row in _sysctl.wanted([name], [], [])] == [row.name for row in rows]
    assert [row.name for row in _sysctl.wanted(["limits", "memory"], [{"name": "vm.swappiness", "state": "absent"}], [])] == [
        row.name for row in _sysctl_keys.LIMITS + _sysctl_keys.MEMORY if row.name != "vm.swappiness"]


def test_a_users_ratio_takes_the_place_of_the_groups_bytes():
    names = [row.name for row in _sysctl.wanted(["memory"], [{"name": "vm.dirty_ratio", "value": 5}], [])]
    assert "vm.dirty_ratio" in names and "vm.dirty_bytes" not in names and "vm.dirty_background_bytes" in names


@pytest.mark.parametrize("settings, said", [
    ([{"name": "vm.dirty_ratio", "value": 5}, {"name": "vm.dirty_bytes", "value": 5000000}], "two ways to say one thing"),
    ([{"name": "vm.dirty_bytes", "value": 0}], "set vm.dirty_ratio instead"),
])
def test_pairs_that_the_kernel_would_not_keep_are_refused(settings, said):
    with pytest.raises(_sysctl.SysctlError, match=said):
        _sysctl.wanted(["memory"], settings, [])


@pytest.mark.parametrize("text, shadow", [
    ("vm.dirty_ratio = 20", ("/etc/sysctl.conf", "0 (by vm.dirty_ratio = 20)")),
    ("vm.dirty_ratio = 20\nvm.dirty_bytes = 1073741824", None),
    ("vm.dirty_ratio = 0", None),
])
def test_a_later_file_that_sets_the_other_key_of_a_pair_is_named(text, shadow):
    assert _sysctl.shadows(ROWS["vm.dirty_bytes"], "1073741824", [("/etc/sysctl.conf", text)]) == shadow


def test_what_the_kernel_made_of_a_value_is_remembered_in_the_file():
    text = _sysctl.render([
        (ROWS["net.core.rps_sock_flow_entries"], "30000", _sysctl.made_note("32768")),
        (ROWS["vm.swappiness"]._replace(value="5000"), None, _sysctl.refused_note()),
        (ROWS["vm.stat_interval"], "10", None),
        (ROWS["vm.overcommit_memory"], None, "not on this host (readonly)"),
    ], "Ours.")
    assert _sysctl.parse_conf(text) == [("net.core.rps_sock_flow_entries", "30000"), ("vm.stat_interval", "10")]
    assert _sysctl.remembered(text) == {"net.core.rps_sock_flow_entries": ("30000", "32768"), "vm.swappiness": ("5000", None)}


def test_what_containers_do_and_do_not_inherit_is_told_for_every_setting():
    told = {item["scope"]: item["settings"] for item in _sysctl.containers(ALL)}
    assert sorted(name for names in told.values() for name in names) == sorted(ROWS)
    assert told["inherited"] == ["net.ipv4.tcp_congestion_control", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"]
    assert told["follows"] == ["net.core.rmem_max", "net.core.wmem_max"]
    assert "net.core.somaxconn" in told["namespace"] and "vm.swappiness" in told["global"]


@pytest.mark.parametrize("own, others, wanted", [
    ("10144", ["8192"], "10144"),  # the kernel has raised it by itself
    (None, [], "67584"),  # the first run: never lower
    ("5000", [], "67584"),  # ours is too little
    ("10144", ["70000"], "67584"),  # somebody wants more
])
def test_what_the_kernel_raises_at_each_boot_does_not_change_the_file_at_each_run(own, others, wanted):
    row = _sysctl_keys.Key("vm.min_free_kbytes", "10144", "at_least", "global", None, None, None)
    assert _sysctl.settled(row, "67584", own, others) == wanted
    assert _sysctl.settled(row._replace(name="net.core.somaxconn"), "67584", own, others) == "67584"
    assert _sysctl.settled(row._replace(mode="exact"), "10144", own, others) == "10144"
