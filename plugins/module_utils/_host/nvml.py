# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The part of NVML, the driver's management library, that setting clocks needs. Standard library only.

Clocks are MHz, power is milliwatts, as NVML has them. Every failure is an NvmlError; an answer is never made up.
"""

from __future__ import annotations

import ctypes
import threading

SONAME = "libnvidia-ml.so.1"

NOT_SUPPORTED, NO_PERMISSION, INSUFFICIENT_SIZE, DRIVER_NOT_LOADED, TIMEOUT = 3, 4, 7, 9, 10
LIBRARY_NOT_FOUND, FUNCTION_NOT_FOUND, GPU_IS_LOST, RESET_REQUIRED = 12, 13, 15, 16
VERSION_MISMATCH, DEPRECATED, UNKNOWN = 18, 26, 999

NAMES = {
    1: "UNINITIALIZED", 2: "INVALID_ARGUMENT", 3: "NOT_SUPPORTED", 4: "NO_PERMISSION", 6: "NOT_FOUND", 7: "INSUFFICIENT_SIZE",
    8: "INSUFFICIENT_POWER", 9: "DRIVER_NOT_LOADED", 10: "TIMEOUT", 11: "IRQ_ISSUE", 12: "LIBRARY_NOT_FOUND", 13: "FUNCTION_NOT_FOUND",
    14: "CORRUPTED_INFOROM", 15: "GPU_IS_LOST", 16: "RESET_REQUIRED", 17: "OPERATING_SYSTEM", 18: "LIB_RM_VERSION_MISMATCH", 19: "IN_USE",
    20: "MEMORY", 21: "NO_DATA", 26: "DEPRECATED", 27: "NOT_READY", 28: "GPU_NOT_FOUND", 999: "UNKNOWN",
}

# The GPU does not have it, as opposed to: it went wrong.
ABSENT = frozenset((NOT_SUPPORTED, FUNCTION_NOT_FOUND, DEPRECATED))

_SM, _MEMORY = 1, 2
_TEXT_SIZE = 96


class NvmlError(Exception):
    """NVML refused. code: its number; name: its word; function: what was asked."""

    def __init__(self, code, function, detail=""):
        self.code = code
        self.name = NAMES.get(code, "error %d" % code)
        self.function = function
        super().__init__("%s: %s%s" % (function, self.name, " (%s)" % detail if detail else ""))


class Library:
    """The opened library. NvmlError(LIBRARY_NOT_FOUND) without it, NvmlError(DRIVER_NOT_LOADED) without the driver."""

    def __init__(self, name=SONAME):
        try:
            self._library = ctypes.CDLL(name)
        except OSError as exc:
            raise NvmlError(LIBRARY_NOT_FOUND, "load", str(exc)) from None
        try:
            self.call("nvmlInitWithFlags", ctypes.c_uint(0))
        except NvmlError as exc:
            if exc.code != FUNCTION_NOT_FOUND:
                raise
            self.call("nvmlInit_v2")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        """Let the driver go; without persistence this may put the GPUs to rest."""
        try:
            self.call("nvmlShutdown")
        except NvmlError:
            pass

    def call(self, function, *arguments):
        """Call one function. NvmlError for any answer but success, or when this library has no such function."""
        try:
            address = getattr(self._library, function)
        except AttributeError:
            raise NvmlError(FUNCTION_NOT_FOUND, function) from None
        code = address(*arguments)
        if code:
            raise NvmlError(code, function)

    def count(self):
        """Number of GPUs."""
        number = ctypes.c_uint()
        self.call("nvmlDeviceGetCount_v2", ctypes.byref(number))
        return number.value

    def gpu(self, index):
        """Gpu number index. NvmlError, for example GPU_IS_LOST: the others still answer."""
        handle = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(handle))
        return Gpu(self, index, handle)

    def gpu_of(self, uuid):
        """Gpu with this UUID. NvmlError."""
        handle = ctypes.c_void_p()
        self.call("nvmlDeviceGetHandleByUUID", ctypes.c_char_p(uuid.encode("ascii")), ctypes.byref(handle))
        return Gpu(self, None, handle)


def open_within(seconds, opener=Library):
    """Library, or NvmlError(TIMEOUT) where the driver hangs. Without persistence the start of 8 GPUs alone takes half a minute."""
    found = []

    def attempt():
        try:
            found.append(opener())
        except NvmlError as exc:
            found.append(exc)

    # A hanging call cannot be taken back; a daemon thread at least keeps no program from ending.
    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    thread.join(seconds)
    if not found:
        raise NvmlError(TIMEOUT, "nvmlInitWithFlags", "no answer within %d s" % seconds)
    if isinstance(found[0], NvmlError):
        raise found[0]
    return found[0]


class Gpu:
    """One GPU. Every method may raise NvmlError; setters need root."""

    def __init__(self, library, index, handle):
        self._library = library
        self.index = index
        self._handle = handle

    def _call(self, function, *arguments):
        self._library.call(function, self._handle, *arguments)

    def _text(self, function):
        buffer = ctypes.create_string_buffer(_TEXT_SIZE)
        self._call(function, buffer, ctypes.c_uint(_TEXT_SIZE))
        return buffer.value.decode("utf-8", "replace")

    def _number(self, function, *arguments):
        number = ctypes.c_uint()
        self._call(function, *(arguments + (ctypes.byref(number),)))
        return number.value

    def _numbers(self, function, *arguments):
        """A list whose length NVML tells only by refusing a list that is too short."""
        size = ctypes.c_uint(0)
        try:
            self._call(function, *(arguments + (ctypes.byref(size), None)))
        except NvmlError as exc:
            if exc.code != INSUFFICIENT_SIZE:
                raise
        if not size.value:
            return []
        values = (ctypes.c_uint * size.value)()
        self._call(function, *(arguments + (ctypes.byref(size), values)))
        return sorted(values[:size.value], reverse=True)

    # ---- reading --------------------------------------------------------------------------------------------------

    def uuid(self):
        """For example GPU-5f3c..."""
        return self._text("nvmlDeviceGetUUID")

    def name(self):
        """For example NVIDIA H200."""
        return self._text("nvmlDeviceGetName")

    def sm_clock(self):
        """Present clock of the multiprocessors."""
        return self._number("nvmlDeviceGetClockInfo", ctypes.c_int(_SM))

    def memory_clock(self):
        """Present clock of the memory."""
        return self._number("nvmlDeviceGetClockInfo", ctypes.c_int(_MEMORY))

    def max_sm_clock(self):
        """Highest clock of the multiprocessors."""
        return self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_int(_SM))

    def max_memory_clock(self):
        """Highest clock of the memory."""
        return self._number("nvmlDeviceGetMaxClockInfo", ctypes.c_int(_MEMORY))

    def supported_memory_clocks(self):
        """Every memory clock, highest first."""
        return self._numbers("nvmlDeviceGetSupportedMemoryClocks")

    def supported_sm_clocks(self, memory_clock):
        """Every SM clock that goes with a memory clock, highest first."""
        return self._numbers("nvmlDeviceGetSupportedGraphicsClocks", ctypes.c_uint(memory_clock))

    def event_reasons(self):
        """Bits that say why the clock is what it is."""
        reasons = ctypes.c_ulonglong()
        try:
            self._call("nvmlDeviceGetCurrentClocksEventReasons", ctypes.byref(reasons))
        except NvmlError as exc:
            if exc.code != FUNCTION_NOT_FOUND:
                raise
            self._call("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.byref(reasons))  # its name before driver 535
        return reasons.value

    def persistence(self):
        """Whether the driver stays loaded without clients."""
        return bool(self._number("nvmlDeviceGetPersistenceMode"))

    def power_limit(self):
        """Present limit in mW."""
        return self._number("nvmlDeviceGetPowerManagementLimit")

    def power_limit_range(self):
        """(lowest, highest) limit in mW."""
        low, high = ctypes.c_uint(), ctypes.c_uint()
        self._call("nvmlDeviceGetPowerManagementLimitConstraints", ctypes.byref(low), ctypes.byref(high))
        return low.value, high.value

    # ---- setting --------------------------------------------------------------------------------------------------

    def set_persistence(self, on):
        """The legacy way; the daemon is the better one."""
        self._call("nvmlDeviceSetPersistenceMode", ctypes.c_int(1 if on else 0))

    def set_power_limit(self, milliwatts):
        """Until the next boot or reload of the driver."""
        self._call("nvmlDeviceSetPowerManagementLimit", ctypes.c_uint(milliwatts))

    def lock_sm(self, low, high):
        """Until the next boot, reset, or reload of the driver."""
        self._call("nvmlDeviceSetGpuLockedClocks", ctypes.c_uint(low), ctypes.c_uint(high))

    def reset_sm(self):
        """Take the lock away, whoever made it."""
        self._call("nvmlDeviceResetGpuLockedClocks")

    def lock_memory(self, low, high):
        """Until the next boot, reset, or reload of the driver."""
        self._call("nvmlDeviceSetMemoryLockedClocks", ctypes.c_uint(low), ctypes.c_uint(high))

    def reset_memory(self):
        """Take the lock away, whoever made it."""
        self._call("nvmlDeviceResetMemoryLockedClocks")
