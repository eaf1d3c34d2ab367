# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel settings: the table is whole, ceilings never fall, the file that really wins is named."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl, _sysctl_keys

ROWS = {row.name: row for row in _sysctl_keys.NETWORK}


def test_network_group_is_whole():
    assert len(_sysctl_keys.NETWORK) == len(ROWS) == 19
    assert sum(row.article for row in ROWS.values()) == 9
    assert all(name.startswith("net.") for name in ROWS)


@pytest.mark.parametrize("row", _sysctl_keys.NETWORK, ids=lambda row: row.name)
def test_every_row_says_why_and_how(row):
    assert row.reason and row.scope in ("global", "inherited", "namespace", "follows")
    assert row.mode in ("exact", "at_least", "at_least_fields")
    assert _sysctl.normal(row.value) == row.value
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
    with pytest.raises(_sysctl.SysctlError, match="known are network"):
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
                           (ROWS["net.core.rmem_max"], None, "readonly")], "Managed.\n\nDo not edit.")
    assert _sysctl.parse_conf(text) == [("net.core.somaxconn", "8192")]
    assert "# not on this host (readonly): net.core.rmem_max = 16777216" in text
    assert text.startswith("# Managed.\n#\n# Do not edit.\n")


def test_readme_lists_exactly_the_table():
    readme = (pathlib.Path(__file__).parents[4] / "roles/kernel_tuning/README.md").read_text(encoding="utf-8")
    lines = [line for line in readme.splitlines() if line.startswith("| `net.")]
    assert len(lines) == len(ROWS) + 1
    for row in ROWS.values():
        assert any("`%s`" % row.name in line and row.value in line and row.reason in line for line in lines), row.name
