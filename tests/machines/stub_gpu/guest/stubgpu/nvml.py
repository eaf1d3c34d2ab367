# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML through ctypes, as much of it as nvidia-smi needs. A reading is a value or a Bad, which knows why there is none."""
from __future__ import annotations

import ctypes
from ctypes import byref, c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void_p

LIBRARY = "libnvidia-ml.so.1"
NOT_SUPPORTED, NO_PERMISSION, NOT_FOUND, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED = 3, 4, 6, 7, 9
INVALID_ARGUMENT, GPU_IS_LOST, MISMATCH, UNKNOWN_ERROR = 2, 15, 18, 999
CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO = 1, 2, 3
_NONE = 0xFFFFFFFF


class Bad:
    """No value: code of the NVML error and its text."""

    def __init__(self, code: int, text: str):
        self.code, self.text = code, text


class NoLibrary(Exception):
    """libnvidia-ml.so.1 cannot be loaded."""


class Failed(Exception):
    """A call without which there is no answer at all failed."""

    def __init__(self, bad: Bad):
        super().__init__(bad.text)
        self.code = bad.code


class _Memory(ctypes.Structure):
    _fields_ = [("version", c_uint), ("total", c_ulonglong), ("reserved", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class _Bar1(ctypes.Structure):
    _fields_ = [("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong)]


class _Pci(ctypes.Structure):
    _fields_ = [("legacy", c_char * 16), ("domain", c_uint), ("bus", c_uint), ("slot", c_uint), ("device_id", c_uint),
                ("subsystem_id", c_uint), ("bus_id", c_char * 32)]


class _Process(ctypes.Structure):
    _fields_ = [("pid", c_uint), ("used", c_ulonglong), ("gpu_instance", c_uint), ("compute_instance", c_uint)]


class _Fabric(ctypes.Structure):
    _fields_ = [("version", c_uint), ("cluster", ctypes.c_ubyte * 16), ("status", c_int), ("clique", c_uint), ("state", c_uint),
                ("health_mask", c_uint), ("health", ctypes.c_ubyte)]


class _Attributes(ctypes.Structure):
    _fields_ = [(name, c_uint) for name in ("multiprocessors", "copy_engines", "decoders", "encoders", "jpeg", "ofa", "gpu_slices",
                                            "compute_slices")] + [("mib", c_ulonglong)]


class _Margin(ctypes.Structure):
    _fields_ = [("version", c_uint), ("degrees", c_int)]


class _Field(ctypes.Structure):
    _fields_ = [("id", c_uint), ("scope", c_uint), ("timestamp", c_longlong), ("latency", c_longlong), ("type", c_int),
                ("result", c_int), ("value", c_longlong)]


class Nvml:
    """The open library."""

    def __init__(self):
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NoLibrary(str(error)) from error
        self._library.nvmlErrorString.restype = ctypes.c_char_p
        self.need("nvmlInit_v2")

    def bad(self, code: int) -> Bad:
        return Bad(code, self._library.nvmlErrorString(code).decode())

    def call(self, name: str, *arguments):
        """None, or the Bad."""
        code = getattr(self._library, name)(*arguments)
        return None if code == 0 else self.bad(code)

    def need(self, name: str, *arguments) -> None:
        bad = self.call(name, *arguments)
        if bad:
            raise Failed(bad)

    def text(self, name: str, *arguments):
        room = 256
        buffer = ctypes.create_string_buffer(room)
        return self.call(name, *arguments, buffer, c_uint(room)) or buffer.value.decode()

    def numbers(self, name: str, *arguments, count: int = 1, kind=c_uint):
        """What a function writes through its last pointers: one number, or a tuple of ``count``."""
        found = [kind() for _each in range(count)]
        bad = self.call(name, *arguments, *(byref(one) for one in found))
        return bad or (found[0].value if count == 1 else tuple(one.value for one in found))

    def filled(self, name: str, *arguments, structure=None, version: int = 0):
        found = structure()
        if version:
            found.version = ctypes.sizeof(structure) | version << 24
        return self.call(name, *arguments, byref(found)) or found

    def array(self, name: str, *arguments, kind=c_uint):
        """What a function of "how many" and "to where" gives, as a list."""
        count = c_uint(0)
        bad = self.call(name, *arguments, byref(count), None)
        if bad is None:
            return []
        if bad.code != INSUFFICIENT_SIZE:
            return bad
        room = (kind * count.value)()
        bad = self.call(name, *arguments, byref(count), room)
        return bad or list(room[:count.value])

    def gpus(self) -> list:
        """Every visible GPU; Failed when the driver gives no handle for one."""
        found = []
        for index in range(self.numbers("nvmlDeviceGetCount_v2")):
            handle = c_void_p()
            self.need("nvmlDeviceGetHandleByIndex_v2", c_uint(index), byref(handle))
            found.append(Device(self, index, handle))
        return found

    def process_name(self, pid: int) -> str:
        name = self.text("nvmlSystemGetProcessName", c_uint(pid))
        return "[Not Found]" if isinstance(name, Bad) else name


class Device:
    """One GPU or MIG device."""

    def __init__(self, nvml: Nvml, index: int, handle):
        self.nvml, self.index, self.handle = nvml, index, handle

    def text(self, what: str):
        return self.nvml.text("nvmlDeviceGet" + what, self.handle)

    def number(self, what: str, *arguments, count: int = 1, kind=c_uint):
        return self.nvml.numbers("nvmlDeviceGet" + what, self.handle, *(c_uint(one) for one in arguments), count=count, kind=kind)

    def memory(self):
        return self.nvml.filled("nvmlDeviceGetMemoryInfo_v2", self.handle, structure=_Memory, version=2)

    def bar1(self):
        return self.nvml.filled("nvmlDeviceGetBAR1MemoryInfo", self.handle, structure=_Bar1)

    def pci(self):
        return self.nvml.filled("nvmlDeviceGetPciInfo_v3", self.handle, structure=_Pci)

    def fabric(self):
        return self.nvml.filled("nvmlDeviceGetGpuFabricInfoV", self.handle, structure=_Fabric, version=3)

    def margin(self):
        found = self.nvml.filled("nvmlDeviceGetMarginTemperature", self.handle, structure=_Margin, version=1)
        return found if isinstance(found, Bad) else found.degrees

    def attributes(self):
        return self.nvml.filled("nvmlDeviceGetAttributes_v2", self.handle, structure=_Attributes)

    def banks(self):
        found = (c_uint * 5)()
        return self.nvml.call("nvmlDeviceGetRowRemapperHistogram", self.handle, found) or list(found)

    def utilization(self):
        found = (c_uint * 2)()
        return self.nvml.call("nvmlDeviceGetUtilizationRates", self.handle, found) or list(found)

    def field(self, number: int, scope: int = 0):
        one = _Field(id=number, scope=scope)
        bad = self.nvml.call("nvmlDeviceGetFieldValues", self.handle, c_int(1), byref(one))
        if bad or one.result:
            return bad or self.nvml.bad(one.result)
        signed_int = 5
        return ctypes.c_int(one.value & _NONE).value if one.type == signed_int else one.value

    def memory_clocks(self):
        return self.nvml.array("nvmlDeviceGetSupportedMemoryClocks", self.handle)

    def graphics_clocks(self, memory: int):
        return self.nvml.array("nvmlDeviceGetSupportedGraphicsClocks", self.handle, c_uint(memory))

    def processes(self):
        """[(pid, type, MiB or None, GPU instance or None, compute instance or None)], or a Bad."""
        found = []
        for kind, what in (("C", "Compute"), ("G", "Graphics"), ("M+C", "MPSCompute")):
            part = self.nvml.array(f"nvmlDeviceGet{what}RunningProcesses_v3", self.handle, kind=_Process)
            if isinstance(part, Bad):
                return part
            for one in part:
                used = None if one.used == 2 ** 64 - 1 else one.used >> 20
                found.append((one.pid, kind, used, _instance(one.gpu_instance), _instance(one.compute_instance)))
        return sorted(found, key=lambda process: process[0])

    def mig_devices(self) -> list:
        found = []
        count = self.number("MaxMigDeviceCount")
        for index in range(0 if isinstance(count, Bad) else count):
            handle = c_void_p()
            if self.nvml.call("nvmlDeviceGetMigDeviceHandleByIndex", self.handle, c_uint(index), byref(handle)) is None:
                found.append(Device(self.nvml, index, handle))
        return found

    def change(self, function: str, *arguments):
        """Call a setter; None, or the Bad."""
        return self.nvml.call("nvmlDevice" + function, self.handle, *(c_uint(one) for one in arguments))


def _instance(number: int):
    return None if number == _NONE else number
