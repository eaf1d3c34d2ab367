# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-smi without arguments: the table for people. Also -L and nvlink -s."""
from __future__ import annotations

import time

from .nvml import Bad
from .readings import read

_RULE = "+" + "-" * 41 + "+" + "-" * 24 + "+" + "-" * 22 + "+"
_DOUBLE = "|" + _RULE.replace("-", "=")[1:-1] + "|"
_WIDE = "+" + "-" * 89 + "+"


def _short(device, name: str) -> str:
    """A reading without its space; what could not be read is ERR!."""
    found = read(device, name)
    if isinstance(found, Bad):
        return "N/A" if found.text == "Not Supported" else "ERR!"
    return found.replace(" ", "")


def _watts(device, name: str) -> str:
    text = _short(device, name)
    return f"{float(text[:-1]):.0f}W" if text.endswith("W") else text


def _gpu(device) -> list:
    mode = read(device, "persistence_mode")
    heat = f"N/A  {_short(device, 'temperature.gpu'):>4}    {_short(device, 'pstate'):<3}"
    power = f"{_watts(device, 'power.draw')} / {_watts(device, 'power.limit'):>5}"
    memory = f"{_short(device, 'memory.used')} / {_short(device, 'memory.total')}"
    return [
        f"| {device.index:>3}  {read(device, 'name'):<28} {'On' if mode == 'Enabled' else 'Off':>4}  "
        f"|   {read(device, 'pci.bus_id')} Off | {_short(device, 'ecc.errors.uncorrected.volatile.total'):>20} |",
        f"| {heat} {power:>22} | {memory:>22} |{_short(device, 'utilization.gpu'):>8} {read(device, 'compute_mode'):>12} |",
        f"|{'':41}|{'':24}| {_short(device, 'mig.mode.current'):>20} |",
        _RULE,
    ]


def _processes(devices: list) -> list:
    rows = []
    for device in devices:
        found = device.processes()
        for pid, kind, used, gpu_instance, compute_instance in [] if isinstance(found, Bad) else found:
            instances = [("N/A" if one is None else str(one)) for one in (gpu_instance, compute_instance)]
            memory = "N/A" if used is None else f"{used}MiB"
            rows.append(f"|{device.index:>5}   {instances[0]:>3}  {instances[1]:>3} {pid:>15} {kind:>6}   "
                        f"{device.nvml.process_name(pid)[-34:]:<34} {memory:>11} |")
    return rows or ["|" + "  No running processes found".ljust(89) + "|"]


def table(devices: list, driver: str, cuda: str) -> str:
    head = f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {cuda:<8} |"
    lines = [
        time.strftime("%a %b %e %H:%M:%S %Y       "), _WIDE, head, _RULE,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        f"|{'':41}|{'':24}|{'MIG M. ':>22}|", _DOUBLE]
    for device in devices:
        lines += _gpu(device)
    lines += ["", _WIDE, "| Processes:".ljust(90) + "|",
              "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
              "|        ID   ID                                                               Usage      |", "|" + "=" * 89 + "|"]
    return "\n".join(lines + _processes(devices) + [_WIDE]) + "\n"


def listing(devices: list) -> str:
    lines = []
    for device in devices:
        lines.append(f"GPU {device.index}: {read(device, 'name')} (UUID: {read(device, 'uuid')})")
        for one in device.mig_devices():
            profile = read(one, "name").partition(" MIG ")[2]
            lines.append(f"  MIG {profile:<11} Device {one.index:>2}: (UUID: {read(one, 'uuid')})")
    return "".join(line + "\n" for line in lines)


def links(devices: list) -> str:
    """nvlink -s"""
    lines = []
    for device in devices:
        count = device.field(91)
        if isinstance(count, Bad):
            continue
        lines.append(f"GPU {device.index}: {read(device, 'name')} (UUID: {read(device, 'uuid')})")
        for link in range(count):
            lines.append(f"\t Link {link}: {'26.562 GB/s' if device.number('NvLinkState', link) == 1 else '<inactive>'}")
    return "".join(line + "\n" for line in lines)
