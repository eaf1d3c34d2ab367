# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What nvidia-smi changes, with the real program's sentences. A refusal may end with exit status 0: read the text."""
from __future__ import annotations

from .nvml import INVALID_ARGUMENT, NO_PERMISSION, NOT_SUPPORTED, Bad, Device
from .readings import read

WARNING = "Treating as warning and moving on."
TERMINATING = "Terminating early due to previous errors."
INVALID_OPTION = 2
_SEE_LIST = "Run 'nvidia-smi -q -d SUPPORTED_CLOCKS' to see list of supported clock combinations"


class _Refused(Exception):
    """A sentence and the exit status; None lets nvidia-smi move on."""

    def __init__(self, sentence: str, status):
        super().__init__(sentence)
        self.status = status


def _clocks(device: Device, bus_id: str, function: str, kind: str, pair: tuple) -> str:
    """Lock (a pair of MHz) or reset (an empty pair) clocks. kind: GPU or Memory."""
    bad = device.change(function, *pair)
    wanted = '"({0}Min {1}, {0}Max {2})"'.format("gpuClk" if kind == "GPU" else "memClk", *pair) if pair else ""
    if bad is None:
        return f"{kind} clocks set to {wanted} for GPU {bus_id}" if pair else ""
    if bad.code == NO_PERMISSION:
        raise _Refused(f"The current user does not have permission to change clocks for GPU {bus_id}.", bad.code)
    if bad.code == NOT_SUPPORTED:
        raise _Refused(f"Setting locked {kind} clocks is not supported for GPU {bus_id}.", None)
    if bad.code == INVALID_ARGUMENT:
        raise _Refused(f"Specified clock combination {wanted} is not supported for GPU {bus_id}. {_SEE_LIST}", None)
    raise _Refused(f"Unable to set locked {kind} clocks for GPU {bus_id}: {bad.text}", bad.code)


def lock_gpu(device, bus_id, pair):
    return _clocks(device, bus_id, "SetGpuLockedClocks", "GPU", pair)


def lock_memory(device, bus_id, pair):
    return _clocks(device, bus_id, "SetMemoryLockedClocks", "Memory", pair)


def reset_gpu(device, bus_id, _unused):
    return _clocks(device, bus_id, "ResetGpuLockedClocks", "GPU", ())


def reset_memory(device, bus_id, _unused):
    return _clocks(device, bus_id, "ResetMemoryLockedClocks", "Memory", ())


def persistence(device, bus_id, mode):
    word = "Enabled" if mode else "Disabled"
    if read(device, "persistence_mode") == word:
        return f"Persistence mode is already {word} for GPU {bus_id}."
    bad = device.change("SetPersistenceMode", mode)
    if bad:
        raise _Refused(f"Unable to set persistence mode for GPU {bus_id}: {bad.text}", bad.code)
    return f"{word} persistence mode for GPU {bus_id}."


def power_limit(device, bus_id, watts):
    before = device.number("PowerManagementLimit")
    limits = device.number("PowerManagementLimitConstraints", count=2)
    bad = next((one for one in (before, limits) if isinstance(one, Bad)), None)
    if not bad and not limits[0] <= watts * 1000 <= limits[1]:
        raise _Refused(f"Provided power limit {watts:.2f} W is not a valid power limit which should be between "
                       f"{limits[0] / 1000:.2f} W and {limits[1] / 1000:.2f} W for GPU {bus_id}", INVALID_OPTION)
    bad = bad or device.change("SetPowerManagementLimit", int(watts * 1000))
    if bad and bad.code == NOT_SUPPORTED:
        raise _Refused(f"Changing power management limit is not supported for GPU: {bus_id}.", None)
    if bad:
        raise _Refused(f"Unable to set power limit for GPU {bus_id}: {bad.text}", bad.code)
    return f"Power limit for GPU {bus_id} was set to {watts:.2f} W from {before / 1000:.2f} W."


def _says_persistence_is_off(device, bus_id: str) -> list:
    if read(device, "persistence_mode") != "Disabled":
        return []
    return ["", f"Warning: persistence mode is disabled on device {bus_id}. See the Known Issues section of the nvidia-smi(1) man page "
                "for more information. Run with [--help | -h] switch to get more information on how to enable persistence mode."]


def apply(devices: list, setter, argument) -> tuple:
    """Call a setter on each GPU -> (exit status, text)."""
    lines = []
    for device in devices:
        bus_id = read(device, "pci.bus_id")
        try:
            said = setter(device, bus_id, argument)
        except _Refused as refused:
            lines.append(str(refused))
            if refused.status is not None:
                return refused.status, "\n".join(lines + [TERMINATING]) + "\n"
            lines.append(WARNING)
        else:
            lines += [said] if said else []
            lines += _says_persistence_is_off(device, bus_id)
    return 0, "\n".join(lines + ["All done."]) + "\n"
