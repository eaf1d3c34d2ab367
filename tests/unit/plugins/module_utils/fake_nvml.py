# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A test double of the module `pynvml`: GPUs are dictionaries from function names to answers.

An answer is a value, an `Error`, or a function of the call's further arguments. A function
that no GPU names does not exist, as in an older binding.
"""

from __future__ import annotations

import types


class Error(Exception):
    """As pynvml.NVMLError: `value` is the error code."""

    def __init__(self, value):
        super().__init__("nvml error {0}".format(value))
        self.value = value


def memory(total, used, free, reserved):
    """Answer to nvmlDeviceGetMemoryInfo(handle, version), sizes in MiB."""
    sizes = {"total": total, "used": used, "free": free, "reserved": reserved}
    return types.SimpleNamespace(**{name: size * 1024 * 1024 for name, size in sizes.items()})


def process(pid, mib, instance=0xFFFFFFFF):
    size = None if mib is None else mib * 1024 * 1024
    return types.SimpleNamespace(pid=pid, usedGpuMemory=size, gpuInstanceId=instance, computeInstanceId=instance)


class FakeNvml:
    """The module. gpus: [{function: answer}]; structures: {symbol: {field: value} or error code}, for every GPU."""

    NVMLError = Error
    nvmlMemory_v2 = 0x02000028
    NVML_NVLINK_MAX_LINKS = 18

    def __init__(self, gpus, driver="590.48.01", cuda=13010, init=None, names=None):
        self.gpus = gpus
        self.driver, self.cuda, self.init = driver, cuda, init
        self.names = names or {}
        self.calls = 0

    def nvmlInit(self):
        if self.init is not None:
            raise Error(self.init)

    def nvmlSystemGetDriverVersion(self):
        return self.driver

    def nvmlSystemGetCudaDriverVersion(self):
        return self.cuda

    def nvmlSystemGetProcessName(self, pid):
        if pid not in self.names:
            raise Error(6)
        return self.names[pid]

    def nvmlErrorString(self, code):
        return b"Some Error" if code else b"Success"

    def nvmlDeviceGetCount(self):
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index):
        failed = self.gpus[index].get("handle")
        if failed is not None:
            raise failed
        return self.gpus[index]

    def nvmlDeviceGetFieldValues(self, gpu, identities):
        self.calls += 1
        found = gpu.get("fields", {}).get(identities[0], Error(3))
        code, number = (found.value, 0) if isinstance(found, Error) else (0, found)
        return [types.SimpleNamespace(nvmlReturn=code, valueType=1, value=types.SimpleNamespace(uiVal=number))]

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu, index):
        if index >= len(gpu.get("mig", [])):
            raise Error(6)
        return gpu["mig"][index]

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu):
        return 7

    def _nvmlGetFunctionPointer(self, symbol):
        if not any(symbol in gpu for gpu in self.gpus):
            raise Error(13)

        def function(gpu, reference):
            self.calls += 1
            answer = gpu.get(symbol, 3)
            if isinstance(answer, int):
                return answer
            for name, value in answer.items():
                setattr(reference._obj, name, value)
            return 0

        return function

    def __getattr__(self, name):
        owners = [owner for gpu in self.gpus for owner in [gpu] + gpu.get("mig", [])]
        if not name.startswith("nvmlDevice") or not any(name in owner for owner in owners):
            raise AttributeError(name)

        def function(handle, *args):
            self.calls += 1
            answer = handle.get(name, Error(3))
            if callable(answer):
                answer = answer(*args)
            if isinstance(answer, Error):
                raise answer
            return answer

        return function
