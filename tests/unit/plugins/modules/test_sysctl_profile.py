# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Applying and reading back, on a folder that stands for /proc/sys."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl
from ansible_collections.indiaai.inference.plugins.modules import sysctl_profile

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


def run(check=False, settings=()):
    items = sysctl_profile.judge(_sysctl.wanted(["network"], settings, []), NoModules())
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
