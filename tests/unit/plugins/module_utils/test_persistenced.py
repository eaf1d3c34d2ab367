# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drop-in of nvidia-persistenced, for the units that distributions ship. Pure."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _persistenced

UBUNTU = """[Unit]
Description=NVIDIA Persistence Daemon
Wants=syslog.target
StopWhenUnneeded=true

[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --no-persistence-mode --verbose
ExecStopPost=/bin/rm -rf /var/run/nvidia-persistenced
"""
DEBIAN = """[Service]
Type=forking
ExecStart=/usr/bin/nvidia-persistenced --user nvpd

[Install]
WantedBy=multi-user.target
"""


def lines(text):
    return _persistenced.drop_in(_persistenced.command([text]), 20, "ours").splitlines()


def test_ubuntus_daemon_gets_the_mode_on_and_keeps_its_user():
    """Report 10."""
    found = [line for line in lines(UBUNTU) if line.startswith("ExecStart=")]
    assert found == ["ExecStart=", "ExecStart=/usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose --persistence-mode"]


def test_a_daemon_that_has_the_mode_on_keeps_its_command():
    assert not [line for line in lines(DEBIAN) if line.startswith("ExecStart=")]


@pytest.mark.parametrize("text", [UBUNTU, DEBIAN])
def test_every_daemon_stays_started_gets_its_nodes_first_and_cannot_hang_a_reboot(text):
    """Report 11."""
    assert {"StopWhenUnneeded=no", "ExecStartPre=-/usr/bin/nvidia-modprobe -u -c=0", "TimeoutStopSec=20"} <= set(lines(text))


@pytest.mark.parametrize("texts, wanted", [
    ([UBUNTU, "[Service]\nExecStart=\nExecStart=/opt/p --user me\n"], "/opt/p --user me"),
    (["[Service]\nExecStart=/opt/p \\\n  --user me\n"], "/opt/p    --user me"),
    (["[Service]\n# ExecStart=/no\n;ExecStart=/no\n"], None), (["[Other]\nExecStart=/no\n"], None), ([], None),
    ([DEBIAN, "[Service]\nExecStart=\n"], None)])
def test_an_administrators_drop_in_is_what_ours_builds_on(texts, wanted):
    assert _persistenced.command(texts) == wanted
