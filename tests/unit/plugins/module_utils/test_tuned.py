# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An active tuned: found without its Python, its profile read with what it includes."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _tuned

FILES = {
    "/etc/tuned/tuned-main.conf": "daemon = 1\n",
    "/etc/tuned/active_profile": "mine\n",
    "/etc/tuned/mine/tuned.conf": "[main]\nsummary=x\ninclude=latency-performance\n[sysctl]\nvm.swappiness=60\nnet.core.somaxconn=>2048\n",
    "/usr/lib/tuned/profiles/latency-performance/tuned.conf":
        "[cpu]\ngovernor=performance\n[vm]\ntransparent_hugepages=never\n[sysctl]\nvm.swappiness=10\nnet.ipv4.tcp_rmem=\"4096 131072 16777216\"\n",
}


def active(files, state="active", enabled="enabled"):
    def run(argv):
        return (0, "ActiveState=%s\nUnitFileState=%s\n" % (state, enabled), "") if argv[0] == "systemctl" else (
            0, "Current active profile: asked\n", "")
    return _tuned.active(files.get, run)


def test_an_active_tuned_is_found():
    assert active(FILES) == ["mine"]
    assert active(FILES, state="inactive") == ["mine"], "it runs again at the next boot"
    assert active({key: text for key, text in FILES.items() if "active_profile" not in key}) == ["asked"]


@pytest.mark.parametrize("files, state, enabled", [
    ({}, "active", "enabled"),
    (FILES, "inactive", "disabled"),
    (FILES, "inactive", ""),
    (dict(FILES, **{"/etc/tuned/active_profile": "\n"}), "active", "enabled"),
])
def test_a_tuned_that_does_nothing_is_none(files, state, enabled):
    assert active(files, state, enabled) == []


def test_a_profile_is_read_with_what_it_includes():
    assert _tuned.settings(["mine"], FILES.get) == {
        "sysctl": {"vm.swappiness": "60", "net.core.somaxconn": ">2048", "net.ipv4.tcp_rmem": "4096 131072 16777216"},
        "thp": "never", "governor": "performance"}


@pytest.mark.parametrize("text", ["", "[main]\ninclude=mine\n", "junk without a section\n", "[sysctl]\nenabled=0\nvm.swappiness=5\n"])
def test_odd_profiles_set_nothing(text):
    assert _tuned.settings(["mine"], {"/etc/tuned/mine/tuned.conf": text}.get)["sysctl"] == {}


@pytest.mark.parametrize("value, ours, suits", [("10", "10", True), ("60", "10", False), (">5", "10", True), (">60", "10", False), ("${x}", "10", False)])
def test_values_that_agree(value, ours, suits):
    assert _tuned.agrees(value, ours, lambda text: int(text) == 10) is suits
