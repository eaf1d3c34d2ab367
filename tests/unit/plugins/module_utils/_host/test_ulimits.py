# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An engine asks for no limit that Docker may not give: its container would not start at all."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import ulimits

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max open files            1024                 524288               files
Max locked memory         8388608              {memlock}              bytes
"""
WANTED = [{"Name": "memlock", "Soft": -1, "Hard": -1}, {"Name": "stack", "Soft": 67108864, "Hard": 67108864}]


@pytest.fixture
def process(tmp_path):
    """Adds a process to a false /proc."""

    def add(pid, name, memlock="8388608", capabilities="000001ffffffffff"):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(name + "\n")
        (folder / "status").write_text("Name:\t%s\nCapEff:\t%s\n" % (name, capabilities))
        (folder / "limits").write_text(LIMITS.format(memlock=memlock))
        return str(tmp_path)

    return add


def test_a_daemon_that_may_raise_limits_gives_what_is_asked_for(process):
    proc = process(10, "dockerd")
    assert ulimits.bounds(proc) == {}
    assert ulimits.clamp(WANTED, ulimits.bounds(proc)) == (WANTED, [])


def test_a_daemon_that_may_not_gives_what_it_has(process):
    proc = process(10, "dockerd", capabilities="00000000a80425fb")
    granted, lowered = ulimits.clamp(WANTED, ulimits.bounds(proc))
    assert granted == [{"Name": "memlock", "Soft": 8388608, "Hard": 8388608}, WANTED[1]]
    assert len(lowered) == 1 and "memlock is 8388608 instead of -1" in lowered[0]


def test_containerd_counts_too_and_a_daemon_in_a_container_does_not(process):
    process(10, "dockerd", memlock="unlimited", capabilities="0")
    process(11, "containerd", memlock="65536", capabilities="0")
    proc = process(900, "containerd", memlock="4096", capabilities="0")
    assert ulimits.bounds(proc)["memlock"] == 65536


def test_without_a_daemon_nothing_is_known_and_nothing_lowered(tmp_path):
    assert ulimits.bounds(str(tmp_path)) == {}
