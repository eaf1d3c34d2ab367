# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs in memory that answer like NVML: locks move the clock of an idle GPU, and nothing tells that there is a lock."""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import nvml

H200_SM = [1980 - 15 * step for step in range(110)]


class Gpu:
    """An idle H200, or what keywords make of it."""

    def __init__(self, number=0, name="NVIDIA H200", memory=(3201, 1593), sm=None, memory_reads=-2):
        self.index, self._uuid, self._name = number, "GPU-%08d-0000-0000-0000-000000000000" % number, name
        self.memory, self.sm, self.memory_reads = list(memory), H200_SM if sm is None else sm, memory_reads
        self.sm_lock = self.memory_lock = None
        self.reasons, self.load_sm, self.lost = 0x1, None, None
        self.on, self.limit = False, 700000
        self.refuse = {}  # method -> error code
        self.calls = []

    def _ask(self, method):
        if self.lost:
            raise nvml.NvmlError(self.lost, method)
        if method in self.refuse:
            raise nvml.NvmlError(self.refuse[method], method)

    def _set(self, method, *arguments):
        self._ask(method)
        self.calls.append((method,) + arguments)

    def uuid(self):
        return self._uuid

    def name(self):
        self._ask("name")
        return self._name

    def sm_clock(self):
        self._ask("sm_clock")
        if self.load_sm is not None:
            return self.load_sm
        return self.sm_lock[0] if self.sm_lock else 345

    def memory_clock(self):
        self._ask("memory_clock")
        return (self.memory_lock or self.memory)[0] + self.memory_reads

    def supported_memory_clocks(self):
        self._ask("supported_memory_clocks")
        return self.memory

    def supported_sm_clocks(self, memory_clock):
        self._ask("supported_sm_clocks")
        return self.sm

    def event_reasons(self):
        self._ask("event_reasons")
        return self.reasons

    def persistence(self):
        self._ask("persistence")
        return self.on

    def power_limit(self):
        self._ask("power_limit")
        return self.limit

    def power_limit_range(self):
        self._ask("power_limit_range")
        return 200000, 700000

    def set_persistence(self, on):
        self._set("set_persistence", on)
        self.on = on

    def set_power_limit(self, milliwatts):
        self._set("set_power_limit", milliwatts)
        self.limit = milliwatts

    def lock_sm(self, low, high):
        self._set("lock_sm", low, high)
        self.sm_lock = (low, high)

    def reset_sm(self):
        self._set("reset_sm")
        self.sm_lock = None

    def lock_memory(self, low, high):
        self._set("lock_memory", low, high)
        self.memory_lock = (low, high)

    def reset_memory(self):
        self._set("reset_memory")
        self.memory_lock = None

    def reboot(self):
        """What a reboot or a reload of the driver leaves."""
        self.sm_lock = self.memory_lock = None
        self.on, self.limit = False, 700000


class Library:
    """NVML over such GPUs. error: what opening it says instead."""

    def __init__(self, gpus, error=None):
        self.gpus, self.error = gpus, error

    def __call__(self):
        if self.error:
            raise nvml.NvmlError(self.error, "nvmlInitWithFlags")
        return self

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        pass

    def close(self):
        pass

    def count(self):
        return len(self.gpus)

    def gpu(self, index):
        if self.gpus[index].lost == nvml.GPU_IS_LOST:
            raise nvml.NvmlError(nvml.GPU_IS_LOST, "nvmlDeviceGetHandleByIndex_v2")
        return self.gpus[index]

    def gpu_of(self, uuid):
        for gpu in self.gpus:
            if gpu.uuid() == uuid:
                return gpu
        raise nvml.NvmlError(6, "nvmlDeviceGetHandleByUUID")


class Clock:
    """A clock that only sleeping moves; events: [(second, call)] that happen meanwhile."""

    def __init__(self, events=()):
        self.time, self.events = 0.0, sorted(events, key=lambda event: event[0])

    def now(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds
        while self.events and self.events[0][0] <= self.time:
            self.events.pop(0)[1]()
