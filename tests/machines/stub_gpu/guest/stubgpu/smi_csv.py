# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The `--query-…` forms of nvidia-smi."""
from __future__ import annotations

import time

from . import readings
from .nvml import Bad

# Names that are asked for, and the name that the header then shows.
_ALIASES = {
    "gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id",
    "clocks.gr": "clocks.current.graphics", "clocks.sm": "clocks.current.sm", "clocks.mem": "clocks.current.memory",
    "clocks.video": "clocks.current.video", "clocks.max.gr": "clocks.max.graphics", "clocks.max.mem": "clocks.max.memory",
    "clocks.applications.gr": "clocks.applications.graphics", "clocks.applications.mem": "clocks.applications.memory",
    "clocks.default_applications.gr": "clocks.default_applications.graphics",
    "clocks.default_applications.mem": "clocks.default_applications.memory",
}
_UNITS = (("MiB", "memory."), ("%", "utilization."), ("W", "power."), ("W", "enforced.power."), ("MHz", "clocks."),
          ("us", "clocks_event_reasons_counters."))
_HOST = ("timestamp", "driver_version", "count")
_PROCESS = {"pid": "pid", "process_name": "process_name", "name": "process_name", "used_gpu_memory": "used_gpu_memory [MiB]",
            "used_memory": "used_gpu_memory [MiB]"}
_CLOCK = {"memory": "memory [MHz]", "mem": "memory [MHz]", "graphics": "graphics [MHz]", "gr": "graphics [MHz]"}
_GPU_OF_ROW = ("timestamp", "gpu_name", "gpu_bus_id", "gpu_serial", "gpu_uuid")


class BadField(Exception):
    """The argument is a name that nvidia-smi does not know."""


class Table:
    """A query that prints as CSV. options: what stands in --format beside csv."""

    def __init__(self, options: set):
        self.header, self.units = "noheader" not in options, "nounits" not in options

    def text(self, columns: list, rows: list) -> str:
        lines = [", ".join(columns)] if self.header else []
        lines += [", ".join(self._cell(cell) for cell in row) for row in rows]
        return "".join(line + "\n" for line in lines)

    def _cell(self, cell) -> str:
        if isinstance(cell, Bad):
            return f"[{readings.bad_text(cell)}]"
        number, space, unit = cell.partition(" ")
        return number if space and not self.units and unit in ("MiB", "MHz", "W", "%", "us") else cell


def _now() -> str:
    now = time.time()
    return time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"


def _canonical(name: str) -> str:
    name = name.replace("clocks_throttle_reasons", "clocks_event_reasons")
    return _ALIASES.get(name, name)


def _with_unit(name: str) -> str:
    unit = next((unit for unit, prefix in _UNITS if name.startswith(prefix)), None)
    return f"{name} [{unit}]" if unit else name


def gpus(devices: list, names: list, table: Table, driver: str, count: int) -> str:
    """--query-gpu"""
    wanted = [_canonical(name) for name in names]
    for asked, name in zip(names, wanted):
        if name not in readings.READERS and name not in _HOST:
            raise BadField(asked)
    host = {"timestamp": _now(), "driver_version": driver, "count": str(count)}
    rows = [[host[name] if name in host else readings.read(device, name) for name in wanted] for device in devices]
    return table.text([_with_unit(name) for name in wanted], [[_host_text(cell) for cell in row] for row in rows])


def _host_text(cell):
    """Temperatures, counts and the like have no unit in a CSV."""
    return cell[:-2] if isinstance(cell, str) and cell.endswith(" C") else cell


def _of_gpu(device, name: str):
    return _now() if name == "timestamp" else readings.read(device, _canonical(name))


def processes(devices: list, names: list, table: Table) -> str:
    """--query-compute-apps"""
    rows = []
    _check(names, _PROCESS)
    for device in devices:
        found = device.processes()
        for pid, kind, used, _gpu_instance, _compute_instance in [] if isinstance(found, Bad) else found:
            own = {"pid": str(pid), "process_name": device.nvml.process_name(pid),
                   "used_gpu_memory [MiB]": "[N/A]" if used is None else f"{used} MiB"}
            if "C" in kind:
                rows.append([own[_PROCESS[name]] if name in _PROCESS else _of_gpu(device, name) for name in names])
    return table.text([_PROCESS.get(name, name) for name in names], rows)


def clocks(devices: list, names: list, table: Table) -> str:
    """--query-supported-clocks"""
    rows = []
    _check(names, _CLOCK)
    for device in devices:
        memories = device.memory_clocks()
        for memory in [] if isinstance(memories, Bad) else memories:
            for graphics in device.graphics_clocks(memory):
                own = {"memory [MHz]": f"{memory} MHz", "graphics [MHz]": f"{graphics} MHz"}
                rows.append([own[_CLOCK[name]] if name in _CLOCK else _of_gpu(device, name) for name in names])
    return table.text([_CLOCK.get(name, name) for name in names], rows)


def _check(names: list, own: dict) -> None:
    for name in names:
        if name not in own and name not in _GPU_OF_ROW:
            raise BadField(name)
