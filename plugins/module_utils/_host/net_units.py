# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What keeps receive steering over a boot and a re-created interface. Pure. Only hosts that steer get these files."""

from __future__ import annotations

from . import paths
from . import units

UNIT_NAME = "inference-net-steering.service"
RULE = "/etc/udev/rules.d/90-indiaai-net-steering.rules"

# The kernel forgets steering with the interface: a driver that is loaded again, a card that is plugged in.
_RULE = """# {notice}
ACTION=="add", SUBSYSTEM=="net", RUN+="{cli} net-steering --mode {mode} --flow-entries {entries} --device $name"
"""

# The number of queues may change between the interface's appearance and a network that is up.
_UNIT = """# {notice}
[Unit]
Description=Receive steering of network interfaces
Documentation=https://github.com/indiaai/inference
Wants=network-online.target
After=network-online.target systemd-sysctl.service
ConditionFileIsExecutable={cli}

[Service]
Type=oneshot
ExecStart={cli} net-steering --mode {mode} --flow-entries {entries}

[Install]
WantedBy=multi-user.target
"""


def files(mode, flow_entries):
    """{path: text} of rule and unit."""
    values = {"notice": units.NOTICE, "cli": paths.CLI, "mode": mode, "entries": flow_entries}
    return {RULE: _RULE.format(**values), "%s/%s" % (paths.SYSTEMD_UNITS, UNIT_NAME): _UNIT.format(**values)}
