# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applying and reading back, on a folder that stands for /proc/sys."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl, _sysctl_keys
from ansible_collections.indiaai.inference.plugins.modules import sysctl_profile

ALL = ["memory", "network", "latency", "limits"]
PRESENT = {
    "net.core.somaxconn": "4096", "net.core.rmem_max": "33554432", "net.ipv4.tcp_rmem": "4096\t131072\t6291456",
    "net.ipv4.tcp_keepalive_time": "7200", "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_available_congestion_control": "reno cubic",
}


class NoModules:
    """A kernel without loadable modules."""

    def prepare(self, name):
        return "missing"


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    real = _sysctl.path
    monkeypatch.setattr(_sysctl, "path", lambda name: real(name, str(tmp_path)))
    for name, value in PRESENT.items():
        path = tmp_path / real(name, "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value + "\n", encoding="ascii")
    return tmp_path


def run(check=False, settings=(), groups=("network",), known=None, profile=None):
    items = sysctl_profile.judge(_sysctl.wanted(groups, settings, [], 2 * 1024 ** 3), NoModules(), known, profile, ["somebodys"])
    if check:
        sysctl_profile.predict(items)
    else:
        sysctl_profile.apply(items)
    return {item["row"].name: item for item in items}


def test_a_missing_key_is_named_and_the_others_are_applied(kernel):
    found = run()
    assert found["net.core.wmem_max"]["state"] == "missing" and found["net.core.wmem_max"]["message"]
    assert found["net.core.somaxconn"]["state"] == "applied"
    assert (kernel / "net/core/somaxconn").read_text(encoding="ascii") == "8192"
    assert found["net.ipv4.tcp_rmem"]["value"] == "4096 1048576 16777216"


def test_a_higher_ceiling_stays(kernel):
    assert run()["net.core.rmem_max"]["state"] == "ok"
    assert (kernel / "net/core/rmem_max").read_text(encoding="ascii") == "33554432\n"


def test_the_second_run_writes_nothing(kernel):
    run()
    again = run()
    assert {item["state"] for item in again.values()} <= {"ok", "missing"}
    assert all(item["value"] == item["before"] for item in again.values())


def test_check_mode_promises_what_happens_and_touches_nothing(kernel):
    promised = run(check=True)
    assert (kernel / "net/core/somaxconn").read_text(encoding="ascii") == "4096\n"
    done = run()
    assert {name: item["state"] for name, item in promised.items()} == {name: item["state"] for name, item in done.items()}
    assert {name: item["value"] for name, item in promised.items()} == {name: item["value"] for name, item in done.items()}


def test_a_congestion_control_without_its_module_is_missing(kernel):
    item = run()["net.ipv4.tcp_congestion_control"]
    assert item["state"] == "missing" and "tcp_bbr" in item["message"] and "reno, cubic" in item["message"]
    assert (kernel / "net/ipv4/tcp_congestion_control").read_text(encoding="ascii") == "cubic\n"


def test_a_value_that_the_kernel_rounds_is_clamped_and_told(kernel, monkeypatch):
    real = sysctl_profile.value_of
    monkeypatch.setattr(sysctl_profile, "value_of", lambda name: "256" if name.endswith("keepalive_time") else real(name))
    item = run()["net.ipv4.tcp_keepalive_time"]
    assert item["state"] == "clamped" and "256" in item["message"] and item["value"] == item["before"]


def test_a_later_file_is_named(kernel, monkeypatch):
    monkeypatch.setattr(sysctl_profile, "later_files", lambda path: [("/etc/sysctl.d/99-zzz.conf", "net.core.somaxconn=1")])
    items = list(run().values())
    sysctl_profile.mark_shadowed(items, "/etc/sysctl.d/99-zz-indiaai-inference.conf")
    shadowed = [item for item in items if item["state"] == "shadowed"]
    assert [item["row"].name for item in shadowed] == ["net.core.somaxconn"]
    assert "/etc/sysctl.d/99-zzz.conf" in shadowed[0]["message"]


def test_what_does_not_hold_is_a_comment_in_the_file(kernel):
    text = sysctl_profile.file_text(list(run().values()))
    assert ("net.core.somaxconn", "8192") in _sysctl.parse_conf(text)
    assert "net.core.wmem_max" not in [name for name, dummy in _sysctl.parse_conf(text)]


class WithModules:
    """A kernel that gets settings with a module."""

    def __init__(self, folder):
        self.path, self.states = folder / "net/netfilter/nf_conntrack_max", {}

    def prepare(self, name):
        self.states[name] = "loaded"
        if name == "nf_conntrack" and not self.path.exists():
            self.path.parent.mkdir()
            self.path.write_text("15360\n", encoding="ascii")
        return "loaded"


def test_a_setting_that_comes_with_its_module_is_written_in_the_same_run(kernel):
    items = sysctl_profile.judge(_sysctl.wanted(["network"], [], []), WithModules(kernel))
    sysctl_profile.apply(items)
    [found] = [item for item in items if item["row"].name == "net.netfilter.nf_conntrack_max"]
    assert (found["before"], found["value"], found["state"]) == ("15360", "1048576", "applied")


def test_modules_of_settings_that_hold_already_are_kept_for_the_boot(kernel):
    """Otherwise the second run takes the file of modules away, and the next boot is without them."""
    modules = WithModules(kernel)
    items = sysctl_profile.judge(_sysctl.wanted(["network"], [], []), modules)
    sysctl_profile.apply(items)
    modules.states.clear()
    assert all(item["state"] in ("ok", "missing") for item in sysctl_profile.judge(_sysctl.wanted(["network"], [], []), modules))
    assert set(modules.states) == {"sch_fq", "tcp_bbr", "nf_conntrack"}


@pytest.fixture
def whole_kernel(kernel):
    """A kernel that has every setting, each with another value than ours, but one."""
    for name in [row.name for group in ALL for row in _sysctl_keys.GROUPS[group]]:
        path = kernel / _sysctl.path(name).replace(str(kernel) + "/", "")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("4096 131072 6291456\n" if name.endswith("mem") else "7\n", encoding="ascii")
    (kernel / "net/ipv4/tcp_available_congestion_control").write_text("reno bbr\n", encoding="ascii")
    (kernel / "kernel/numa_balancing").unlink()
    return kernel


def test_one_missing_setting_is_named_and_the_other_36_are_applied(whole_kernel):
    found = run(groups=ALL)
    missing = [name for name, item in found.items() if item["state"] == "missing"]
    assert missing == ["kernel.numa_balancing"] and "no such setting" in found["kernel.numa_balancing"]["message"]
    assert [item["state"] for item in found.values()].count("applied") == 36


def test_numa_balancing_reads_back_zero_on_a_host_that_had_it_on(whole_kernel):
    (whole_kernel / "kernel/numa_balancing").write_text("1\n", encoding="ascii")
    item = run(groups=["latency"])["kernel.numa_balancing"]
    assert (item["state"], item["before"], item["value"]) == ("applied", "1", "0")


def test_a_second_run_over_all_37_reports_no_change(whole_kernel):
    run(groups=ALL)
    again = run(groups=ALL)
    assert {item["state"] for item in again.values()} == {"ok", "missing"}
    assert all(item["value"] == item["before"] for item in again.values())


def test_a_rounded_value_is_promised_by_a_preview_as_it_came_out(kernel, monkeypatch):
    settings = [{"name": "net.ipv4.tcp_keepalive_time", "value": 250}]
    real = sysctl_profile.value_of
    monkeypatch.setattr(sysctl_profile, "value_of", lambda name: "256" if name.endswith("keepalive_time") else real(name))
    first = list(run(settings=settings).values())
    text = sysctl_profile.file_text(first)
    assert "# the kernel makes 256 of it\nnet.ipv4.tcp_keepalive_time = 250\n" in text
    item = run(check=True, settings=settings, known=_sysctl.remembered(text))["net.ipv4.tcp_keepalive_time"]
    assert item["state"] == "clamped" and item["value"] == "256"
    assert sysctl_profile.file_text(list(run(settings=settings).values())) == text, "the file stays as it is"


def test_a_value_that_the_kernel_refuses_is_no_line_that_a_boot_could_fail_on(kernel, monkeypatch):
    settings = [{"name": "net.ipv4.tcp_keepalive_time", "value": "many"}]
    real = sysctl_profile.write
    monkeypatch.setattr(sysctl_profile, "write", lambda row, wanted: ("clamped", "the kernel refuses many: Invalid argument")
                        if wanted == "many" else real(row, wanted))
    items = run(settings=settings)
    assert items["net.ipv4.tcp_keepalive_time"]["state"] == "clamped"
    text = sysctl_profile.file_text(list(items.values()))
    assert "# refused by the kernel: net.ipv4.tcp_keepalive_time = many\n" in text
    item = run(check=True, settings=settings, known=_sysctl.remembered(text))["net.ipv4.tcp_keepalive_time"]
    assert item["state"] == "clamped" and item["value"] == item["before"]


def test_what_tuned_sets_is_left_to_it_and_named(whole_kernel):
    profile = {"sysctl": {"vm.swappiness": "60", "net.core.somaxconn": ">2048", "vm.dirty_ratio": "40", "vm.stat_interval": "10"}}
    found = run(groups=ALL, profile=profile)
    assert {name for name, item in found.items() if item["tuned"]} == {"vm.swappiness", "vm.dirty_bytes"}
    assert found["vm.swappiness"]["state"] == "shadowed" and "somebodys" in found["vm.swappiness"]["message"]
    assert "vm.dirty_ratio" in found["vm.dirty_bytes"]["message"]
    assert (whole_kernel / "vm/swappiness").read_text(encoding="ascii") == "7\n"
    assert "# left to tuned: vm.swappiness = 10\n" in sysctl_profile.file_text(list(found.values()))


def test_an_agreeing_tuned_leaves_everything_to_us(whole_kernel):
    found = run(groups=ALL, profile={"sysctl": {"vm.swappiness": "10", "net.core.somaxconn": ">2048", "kernel.pid_max": "4194304"}})
    assert not [name for name, item in found.items() if item["tuned"]]


def test_a_value_that_cannot_be_written_is_no_line_of_the_file_even_when_it_is_right(kernel):
    path = kernel / "net/core/rmem_max"
    path.chmod(0o444)
    item = run()["net.core.rmem_max"]
    assert item["state"] == "ok"
    assert "# not on this host (readonly): net.core.rmem_max = 33554432" in sysctl_profile.file_text(list(run().values()))


def test_reasons_that_are_the_same_are_told_once(kernel):
    items = list(run().values())
    text = "; ".join(sysctl_profile.complaints(items))
    assert text.count("no such setting") == 1 and "net.core.wmem_max" in text and "tcp_bbr" in text


def test_unused_and_used_hugepages_are_told():
    row = {"name": "vm.nr_hugepages", "state": "applied", "wanted": "0"}
    notes = list(sysctl_profile.hugepage_notes([row], {"total": 4, "free": 0, "page_kib": 2048, "reserved_mib": 8, "unused_mib": 0}))
    assert len(notes) == 1 and "4 huge pages are still in use" in notes[0]
    notes = list(sysctl_profile.hugepage_notes([], {"total": 1024, "free": 1000, "page_kib": 2048, "reserved_mib": 2048, "unused_mib": 2000}))
    assert len(notes) == 1 and "2048 MiB" in notes[0] and "2000 MiB" in notes[0]
