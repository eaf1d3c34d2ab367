# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One GPU's readings as nvidia-smi shows them: names with dots to texts without brackets, or a Bad.

Each reader is called only when its name is asked for, so that a short query stays short.
"""
from __future__ import annotations

from ctypes import c_ulonglong

from .nvml import CLOCK_MEMORY, CLOCK_SM, CLOCK_VIDEO, Bad

NOT_AVAILABLE = "N/A"
DEPRECATED = "Requested functionality has been deprecated"
RECOVERY = ("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Recover IMEX Domain", "Bus Reset", "System Reboot")
FABRIC_STATES = ("N/A", "Not Started", "In Progress", "Completed")
# name in the XML: bit, name in the CSV
REASONS = {
    "gpu_idle": (0x1, "gpu_idle"),
    "applications_clocks_setting": (0x2, "applications_clocks_setting"),
    "sw_power_cap": (0x4, "sw_power_cap"),
    "hw_slowdown": (0x8, "hw_slowdown"),
    "hw_thermal_slowdown": (0x40, "hw_thermal_slowdown"),
    "hw_power_brake_slowdown": (0x80, "hw_power_brake_slowdown"),
    "sync_boost": (0x10, "sync_boost"),
    "sw_thermal_slowdown": (0x20, "sw_thermal_slowdown"),
    "display_clocks_setting": (0x100, "display_clock_setting"),
}
COUNTERS = {"sw_power_cap": 74, "sync_boost": 76, "sw_therm_slowdown": 269, "hw_therm_slowdown": 270, "hw_power_brake": 271}


def show(reading, form="{}"):
    """A reading as text in a form; a Bad stays one."""
    return reading if isinstance(reading, Bad) else form.format(reading)


def enabled(reading):
    return reading if isinstance(reading, Bad) else "Enabled" if reading else "Disabled"


def _of(reading, get, form="{}"):
    """A part of a reading."""
    return reading if isinstance(reading, Bad) else form.format(get(reading))


def bad_text(bad: Bad) -> str:
    """What stands where a value should be."""
    return NOT_AVAILABLE if bad.text == "Not Supported" else bad.text


def _mib(amount, name):
    return _of(amount, lambda found: getattr(found, name) >> 20, "{} MiB")


def _watts(milliwatts):
    return _of(milliwatts, lambda found: found / 1000, "{:.2f} W")


def _celsius(degrees):
    return show(degrees, "{} C")


def _mhz(clock):
    return show(clock, "{} MHz")


def _reason(device, bit):
    return _of(device.number("CurrentClocksEventReasons", kind=c_ulonglong), lambda found: "Active" if found & bit else "Not Active")


def _counter(device, field):
    return _of(device.field(field), lambda nanoseconds: nanoseconds // 1000, "{} us")


def _recovery(device):
    return _of(device.field(230), lambda code: RECOVERY[code] if code < len(RECOVERY) else str(code))


def _memory_temperature(device):
    return device.nvml.bad(3) if device.field(82) == 0 else _celsius(device.field(82))


def _dram(device, uncorrected, aggregate):
    return show(device.number("MemoryErrorCounter", uncorrected, aggregate, 2, kind=c_ulonglong))


def _yes(reading):
    return _of(reading, lambda found: "Yes" if found else "No")


READERS = {
    "index": lambda d: str(d.index),
    "name": lambda d: d.text("Name"),
    "uuid": lambda d: d.text("UUID"),
    "serial": lambda d: d.text("Serial"),
    "minor_number": lambda d: show(d.number("MinorNumber")),
    "vbios_version": lambda d: d.text("VbiosVersion"),
    "board_part_number": lambda d: d.text("BoardPartNumber"),
    "compute_cap": lambda d: _of(d.number("CudaComputeCapability", count=2), lambda found: f"{found[0]}.{found[1]}"),
    "pci.bus_id": lambda d: _of(d.pci(), lambda found: found.bus_id.decode()),
    "pci.domain": lambda d: _of(d.pci(), lambda found: found.domain, "0x{:04X}"),
    "pci.bus": lambda d: _of(d.pci(), lambda found: found.bus, "0x{:02X}"),
    "pci.device": lambda d: _of(d.pci(), lambda found: found.slot, "0x{:02X}"),
    "pci.device_id": lambda d: _of(d.pci(), lambda found: found.device_id, "0x{:08X}"),
    "pci.sub_device_id": lambda d: _of(d.pci(), lambda found: found.subsystem_id, "0x{:08X}"),
    "persistence_mode": lambda d: enabled(d.number("PersistenceMode")),
    "compute_mode": lambda d: _of(d.number("ComputeMode"), ("Default", "Exclusive_Thread", "Prohibited", "Exclusive_Process").__getitem__),
    "pstate": lambda d: show(d.number("PerformanceState"), "P{}"),
    "mig.mode.current": lambda d: enabled(_pair(d.number("MigMode", count=2), 0)),
    "mig.mode.pending": lambda d: enabled(_pair(d.number("MigMode", count=2), 1)),
    "memory.total": lambda d: _mib(d.memory(), "total"),
    "memory.reserved": lambda d: _mib(d.memory(), "reserved"),
    "memory.used": lambda d: _mib(d.memory(), "used"),
    "memory.free": lambda d: _mib(d.memory(), "free"),
    "bar1.total": lambda d: _mib(d.bar1(), "total"),
    "bar1.used": lambda d: _mib(d.bar1(), "used"),
    "bar1.free": lambda d: _mib(d.bar1(), "free"),
    "utilization.gpu": lambda d: _of(d.utilization(), lambda found: found[0], "{} %"),
    "utilization.memory": lambda d: _of(d.utilization(), lambda found: found[1], "{} %"),
    "ecc.mode.current": lambda d: enabled(_pair(d.number("EccMode", count=2), 0)),
    "ecc.mode.pending": lambda d: enabled(_pair(d.number("EccMode", count=2), 1)),
    "ecc.errors.corrected.volatile.total": lambda d: show(d.number("TotalEccErrors", 0, 0, kind=c_ulonglong)),
    "ecc.errors.corrected.aggregate.total": lambda d: show(d.number("TotalEccErrors", 0, 1, kind=c_ulonglong)),
    "ecc.errors.uncorrected.volatile.total": lambda d: show(d.number("TotalEccErrors", 1, 0, kind=c_ulonglong)),
    "ecc.errors.uncorrected.aggregate.total": lambda d: show(d.number("TotalEccErrors", 1, 1, kind=c_ulonglong)),
    "ecc.errors.corrected.volatile.dram": lambda d: _dram(d, 0, 0),
    "ecc.errors.corrected.aggregate.dram": lambda d: _dram(d, 0, 1),
    "ecc.errors.uncorrected.volatile.dram": lambda d: _dram(d, 1, 0),
    "ecc.errors.uncorrected.aggregate.dram": lambda d: _dram(d, 1, 1),
    "remapped_rows.correctable": lambda d: show(_pair(d.number("RemappedRows", count=4), 0)),
    "remapped_rows.uncorrectable": lambda d: show(_pair(d.number("RemappedRows", count=4), 1)),
    "remapped_rows.pending": lambda d: _yes(_pair(d.number("RemappedRows", count=4), 2)),
    "remapped_rows.failure": lambda d: _yes(_pair(d.number("RemappedRows", count=4), 3)),
    "temperature.gpu": lambda d: _celsius(d.number("Temperature", 0)),
    "temperature.gpu.tlimit": lambda d: _celsius(d.margin()),
    "temperature.memory": _memory_temperature,
    "temperature.shutdown_tlimit": lambda d: _celsius(d.field(193)),
    "temperature.slowdown_tlimit": lambda d: _celsius(d.field(194)),
    "temperature.memory_tlimit": lambda d: _celsius(d.field(195)),
    "temperature.operating_tlimit": lambda d: _celsius(d.field(196)),
    "power.draw": lambda d: _watts(d.number("PowerUsage")),
    "power.draw.average": lambda d: _watts(d.field(185)),
    "power.draw.instant": lambda d: _watts(d.field(186)),
    "power.limit": lambda d: _watts(d.number("PowerManagementLimit")),
    "enforced.power.limit": lambda d: _watts(d.number("EnforcedPowerLimit")),
    "power.default_limit": lambda d: _watts(d.number("PowerManagementDefaultLimit")),
    "power.min_limit": lambda d: _watts(_pair(d.number("PowerManagementLimitConstraints", count=2), 0)),
    "power.max_limit": lambda d: _watts(_pair(d.number("PowerManagementLimitConstraints", count=2), 1)),
    "clocks.current.graphics": lambda d: _mhz(d.number("ClockInfo", 0)),
    "clocks.current.sm": lambda d: _mhz(d.number("ClockInfo", CLOCK_SM)),
    "clocks.current.memory": lambda d: _mhz(d.number("ClockInfo", CLOCK_MEMORY)),
    "clocks.current.video": lambda d: _mhz(d.number("ClockInfo", CLOCK_VIDEO)),
    "clocks.max.graphics": lambda d: _mhz(d.number("MaxClockInfo", 0)),
    "clocks.max.sm": lambda d: _mhz(d.number("MaxClockInfo", CLOCK_SM)),
    "clocks.max.memory": lambda d: _mhz(d.number("MaxClockInfo", CLOCK_MEMORY)),
    "clocks.max.video": lambda d: _mhz(d.number("MaxClockInfo", CLOCK_VIDEO)),
    "clocks.applications.graphics": lambda d: _mhz(d.number("ApplicationsClock", 0)),
    "clocks.applications.memory": lambda d: _mhz(d.number("ApplicationsClock", CLOCK_MEMORY)),
    "clocks.default_applications.graphics": lambda d: _mhz(d.number("ApplicationsClock", 0)),
    "clocks.default_applications.memory": lambda d: _mhz(d.number("ApplicationsClock", CLOCK_MEMORY)),
    "clocks_event_reasons.supported": lambda d: show(d.number("SupportedClocksEventReasons", kind=c_ulonglong), "0x{:016X}"),
    "clocks_event_reasons.active": lambda d: show(d.number("CurrentClocksEventReasons", kind=c_ulonglong), "0x{:016X}"),
    "gpu_recovery_action": _recovery,
    "fabric.state": lambda d: _of(d.fabric(), lambda found: FABRIC_STATES[found.state]),
    "fabric.status": lambda d: _of(d.fabric(), lambda found: "Success" if found.state == 3 else NOT_AVAILABLE),
}
READERS.update({f"clocks_event_reasons.{csv}": lambda d, bit=bit: _reason(d, bit) for bit, csv in REASONS.values()})
READERS.update({f"clocks_event_reasons_counters.{name}": lambda d, field=field: _counter(d, field) for name, field in COUNTERS.items()})


def _pair(reading, which):
    return reading if isinstance(reading, Bad) else reading[which]


def read(device, name: str):
    """The reading of this name: text or Bad; KeyError when nvidia-smi knows no such name."""
    return READERS[name](device)
