# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The unit that sets the GPUs up at boot, and what waits for it. Pure. Only hosts with a GPU get these files."""

from __future__ import annotations

from . import paths
from . import units

_MARGIN = 180  # seconds for what comes after the wait: the driver's start, the daemon, reading back

UNIT = """# {notice}
[Unit]
Description=GPU persistence, clocks and power limit
Documentation=https://github.com/indiaai/inference
{wants}After=systemd-modules-load.service nvidia-persistenced.service nvidia-fabricmanager.service
Before=docker.service
ConditionPathExists={settings}

[Service]
Type=oneshot
RemainAfterExit=yes
# It waits for the GPUs and retries inside. With Restart= the units ordered after it would be let go by its first failure.
ExecStart={cli} gpu-init
ExecReload={cli} gpu-init --wait 0
TimeoutStartSec={timeout}

[Install]
WantedBy=multi-user.target
"""

# Wants, never Requires: without its GPUs a host still serves from what is left, and can be looked at.
WAITING = """# {notice}
[Unit]
Wants={unit}
After={unit}
"""


def files(settings):
    """{path: text} of unit and drop-ins, for settings as gpu_policy has them."""
    unit = UNIT.format(
        notice=units.NOTICE, cli=paths.CLI, settings=paths.GPU_SETTINGS, timeout=settings["wait_seconds"] + _MARGIN,
        wants="Wants=nvidia-persistenced.service\n" if settings["persistence"] else "")
    waiting = WAITING.format(notice=units.NOTICE, unit=paths.GPU_UNIT)
    found = {"%s/%s" % (paths.SYSTEMD_UNITS, paths.GPU_UNIT): unit}
    for name in ("docker.service", paths.ENGINE_UNIT):
        found["%s/%s.d/20-indiaai-inference-gpu.conf" % (paths.SYSTEMD_UNITS, name)] = waiting
    return found
