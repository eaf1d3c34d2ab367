# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The driver's library NVML as data, through the Python binding `pynvml` where the host has one.

The result is what `_nvidia_smi.parse` makes of the XML of the same host. Works with
nvidia-ml-py 11.525 to 13: a function that the binding or the library lacks makes its
fields "unavailable", which is neither absent nor broken.

An answer of NVML is one of four things, kept apart like in `_nvidia_smi`:

* a value,
* absent, the GPU has no such thing: NOT_SUPPORTED, DEPRECATED -> None,
* broken, the GPU could not say: any other error -> None and the field in `broken_fields`,
* unavailable, nobody could be asked: FUNCTION_NOT_FOUND, ... -> None and the field in `unavailable_fields`.

Everything here reads. It may hang in the driver, so it runs in a child process (`_gpu_probe`).
"""

from __future__ import annotations

import ctypes
import importlib

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_shape

# nvmlReturn_t
NO_PERMISSION = 4
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
VERSION_MISMATCH = 18

_INVALID_ARGUMENT = 2
_NOT_SUPPORTED = 3
_NOT_FOUND = 6
_ABSENT = (_NOT_SUPPORTED, 26)
_UNAVAILABLE = (FUNCTION_NOT_FOUND, 25)
_BROKEN = {
    NO_PERMISSION: "insufficient permissions",
    GPU_IS_LOST: _gpu_shape.LOST,
    RESET_REQUIRED: _gpu_shape.NEEDS_RESET,
}

# nvmlFieldValue ids; the numbers are the library's, whatever names the binding knows.
_FIELD_MEMORY_TEMPERATURE = 82
_FIELD_RESET_REQUIRED = 226
_FIELD_RECOVERY_ACTION = 230
_FIELD_TYPES = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}

# nvmlDeviceGpuRecoveryAction_t, by the words of nvidia-smi.
_RECOVERY_ACTIONS = {
    1: "reset",
    2: "reboot",
    3: "drain_p2p",
    4: "drain_and_reset",
    5: "recover_imex_domain",
    6: "bus_reset",
    7: "system_reboot",
}
_FABRIC_STATES = {1: "not_started", 2: "in_progress", 3: "completed"}
_SM_CLOCK, _MEMORY_CLOCK = 1, 2
_NO_INSTANCE = 0xFFFFFFFF
_NO_MEMORY = 0xFFFFFFFFFFFFFFFF
_MIB = 1024 * 1024


class _FabricInfo(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t. Not the binding's: 11.525 and 12.550 give the UUID 80 bytes instead of 16."""

    VERSION = 0x02000024
    _fields_ = [
        ("version", ctypes.c_uint),
        ("cluster_uuid", ctypes.c_ubyte * 16),
        ("status", ctypes.c_uint),
        ("clique_id", ctypes.c_uint),
        ("state", ctypes.c_ubyte),
        ("health_mask", ctypes.c_uint),
    ]


class _MarginTemperature(ctypes.Structure):
    """nvmlMarginTemperature_v1_t."""

    VERSION = 0x01000008
    _fields_ = [("version", ctypes.c_uint), ("margin", ctypes.c_int)]


def binding():
    """-> (module pynvml, None) or (None, why it cannot be used)."""
    try:
        found = importlib.import_module("pynvml")
    except Exception as exc:  # pylint: disable=broad-except
        # A binding that cannot be imported, for whatever reason, is one that is not there.
        return None, "{0}: {1}".format(type(exc).__name__, exc)
    if not hasattr(found, "nvmlInit"):
        return None, "the module pynvml found at {0} is no NVML binding".format(getattr(found, "__file__", "?"))
    return found, None


def read(nvml=None):
    """-> {"found": bool, "error": None | {"code": int, "text": str}, "document": None | as _nvidia_smi.parse}.

    found: whether there is a binding; error: why NVML could not be started.
    """
    if nvml is None:
        nvml, why = binding()
        if nvml is None:
            return {"found": False, "error": {"code": None, "text": why}, "document": None}
    try:
        nvml.nvmlInit()
        count = nvml.nvmlDeviceGetCount()
    except nvml.NVMLError as exc:
        return {"found": True, "error": {"code": _code(exc), "text": str(exc)}, "document": None}
    unavailable = set()
    host = _Asker(nvml, unavailable)
    cuda = host.ask(("cuda_version",), ("nvmlSystemGetCudaDriverVersion_v2", "nvmlSystemGetCudaDriverVersion"))
    document = {
        "driver_version": _text(host.ask(("driver_version",), ("nvmlSystemGetDriverVersion",))),
        "cuda_version": "{0}.{1}".format(cuda // 1000, cuda % 1000 // 10) if cuda else None,
        "attached_gpus": count,
        "gpus": [_gpu(nvml, index, unavailable) for index in range(count)],
    }
    document["unavailable_fields"] = sorted(unavailable)
    return {"found": True, "error": None, "document": document}


class _Asker:
    """Calls NVML and remembers which fields were broken, and how, and which could not be asked for."""

    def __init__(self, nvml, unavailable):
        self.nvml = nvml
        self.unavailable = unavailable
        self.broken = {}

    def ask(self, fields, names, *args):
        """The first of these functions that binding and library have -> its answer, or None."""
        for name in names:
            function = getattr(self.nvml, name, None)
            if function is None:
                continue
            answer, known = self.call(fields, function, *args)
            if known:
                return answer
        self.unavailable.update(fields)
        return None

    def call(self, fields, function, *args):
        """-> (answer or None, False when this function is one that cannot be asked)."""
        try:
            return function(*args), True
        except self.nvml.NVMLError as exc:
            return None, self.failed(fields, _code(exc))
        except Exception as exc:  # pylint: disable=broad-except
            # The binding stumbled over an answer: one field is lost, not the whole host.
            self.broken.update((field, type(exc).__name__.lower()) for field in fields)
            return None, True

    def failed(self, fields, code):
        """Sorts an error code; False when it only says that the function is not there."""
        if code in _UNAVAILABLE:
            return False
        if code not in _ABSENT:
            self.broken.update((field, _BROKEN.get(code, "nvml error {0}".format(code))) for field in fields)
        return True

    def structure(self, fields, symbol, kind, handle):
        """Has the library fill a versioned structure; None where it does not know it."""

        lookup = getattr(self.nvml, "_nvmlGetFunctionPointer", None)

        def fill():
            wanted = kind(version=kind.VERSION)
            code = lookup(symbol)(handle, ctypes.byref(wanted))
            if code:
                raise self.nvml.NVMLError(code)
            return wanted

        answer, known = self.call(fields, fill) if lookup else (None, False)
        if not known:
            self.unavailable.update(fields)
        return answer

    def field(self, fields, handle, identity):
        """One of NVML's numbered field values -> number or None."""
        found = self.ask(fields, ("nvmlDeviceGetFieldValues",), handle, [identity])
        if found is None:
            return None
        code = found[0].nvmlReturn
        if code == 0:
            return getattr(found[0].value, _FIELD_TYPES.get(found[0].valueType, "uiVal"))
        # A driver that does not know the number calls it an invalid argument.
        if code != _INVALID_ARGUMENT:
            self.failed(fields, code)
        return None


def _gpu(nvml, index, unavailable):
    asker = _Asker(nvml, unavailable)
    gpu = _gpu_shape.empty(index)
    handle = asker.ask(("handle",), ("nvmlDeviceGetHandleByIndex",), index)
    if handle is None:
        # Lost, or not ours to open: nothing about it can be said, and none of that is "absent".
        why = asker.broken.pop("handle", "no handle")
        return _gpu_shape.finish(gpu, {name: why for name in _gpu_shape.SCALARS + ("mig_instances", "processes")})
    _identity(asker, handle, gpu)
    _memory(asker, handle, gpu)
    _power(asker, handle, gpu)
    _clocks(asker, handle, gpu)
    _temperature(asker, handle, gpu)
    _errors(asker, handle, gpu)
    _links(asker, handle, gpu)
    gpu["recovery_action"] = _recovery(asker, handle)
    if gpu["mig_mode"] == "enabled":
        gpu["mig_instances"] = _mig(asker, handle)
    gpu["processes"] = _processes(asker, handle)
    return _gpu_shape.finish(gpu, asker.broken)


def _identity(asker, handle, gpu):
    gpu["uuid"] = _text(asker.ask(("uuid",), ("nvmlDeviceGetUUID",), handle))
    gpu["name"] = _text(asker.ask(("name",), ("nvmlDeviceGetName",), handle))
    pci = asker.ask(("pci_bus_id",), ("nvmlDeviceGetPciInfo",), handle)
    gpu["pci_bus_id"] = _gpu_shape.bus_id(_text(pci.busId)) if pci is not None else None
    gpu["minor_number"] = asker.ask(("minor_number",), ("nvmlDeviceGetMinorNumber",), handle)
    gpu["persistence_mode"] = _switch(asker.ask(("persistence_mode",), ("nvmlDeviceGetPersistenceMode",), handle))
    mode = asker.ask(("mig_mode", "mig_mode_pending"), ("nvmlDeviceGetMigMode",), handle)
    if mode is not None:
        gpu["mig_mode"], gpu["mig_mode_pending"] = ("enabled" if value else "disabled" for value in mode)


def _memory_info(asker, fields, handle):
    """-> (NVML's sizes or None, whether they tell what is reserved from what is used)."""
    version = getattr(asker.nvml, "nvmlMemory_v2", None)
    if version is not None:
        memory, known = asker.call(fields, asker.nvml.nvmlDeviceGetMemoryInfo, handle, version)
        if known:
            return memory, True
    # The first form counts what the driver reserves as used.
    return asker.ask(fields, ("nvmlDeviceGetMemoryInfo",), handle), False


def _memory(asker, handle, gpu):
    fields = ("memory_total_mib", "memory_used_mib", "memory_free_mib", "memory_reserved_mib")
    memory, apart = _memory_info(asker, fields, handle)
    if not apart:
        asker.unavailable.add("memory_reserved_mib")
    if memory is not None:
        for field, name in zip(fields if apart else fields[:3], ("total", "used", "free", "reserved")):
            gpu[field] = _mib(getattr(memory, name, None))
    rates = asker.ask(("utilization_percent",), ("nvmlDeviceGetUtilizationRates",), handle)
    gpu["utilization_percent"] = rates.gpu if rates is not None else None


def _power(asker, handle, gpu):
    for field, names in (
        ("power_draw_w", ("nvmlDeviceGetPowerUsage",)),
        ("power_limit_w", ("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit")),
        ("power_limit_requested_w", ("nvmlDeviceGetPowerManagementLimit",)),
        ("power_limit_default_w", ("nvmlDeviceGetPowerManagementDefaultLimit",)),
    ):
        gpu[field] = _watts(asker.ask((field,), names, handle))
    limits = asker.ask(
        ("power_limit_min_w", "power_limit_max_w"), ("nvmlDeviceGetPowerManagementLimitConstraints",), handle
    )
    if limits is not None:
        gpu["power_limit_min_w"], gpu["power_limit_max_w"] = (_watts(value) for value in limits)


def _clocks(asker, handle, gpu):
    for field, name, clock in (
        ("sm_clock_mhz", "nvmlDeviceGetClockInfo", _SM_CLOCK),
        ("memory_clock_mhz", "nvmlDeviceGetClockInfo", _MEMORY_CLOCK),
        ("sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", _SM_CLOCK),
        ("memory_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", _MEMORY_CLOCK),
    ):
        gpu[field] = asker.ask((field,), (name,), handle, clock)
    reasons = asker.ask(
        ("clock_event_reasons",),
        ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"),
        handle,
    )
    if reasons is not None:
        gpu["clock_event_reasons"] = [name for bit, name in _gpu_shape.EVENT_REASONS if reasons & bit]


def _temperature(asker, handle, gpu):
    gpu["temperature_c"] = asker.ask(("temperature_c",), ("nvmlDeviceGetTemperature",), handle, 0)
    margin = asker.structure(("temperature_margin_c",), "nvmlDeviceGetMarginTemperature", _MarginTemperature, handle)
    gpu["temperature_margin_c"] = margin.margin if margin is not None else None
    # Boards without this sensor answer 0.
    gpu["memory_temperature_c"] = asker.field(("memory_temperature_c",), handle, _FIELD_MEMORY_TEMPERATURE) or None


def _errors(asker, handle, gpu):
    mode = asker.ask(("ecc_mode", "ecc_mode_pending"), ("nvmlDeviceGetEccMode",), handle)
    if mode is not None:
        gpu["ecc_mode"], gpu["ecc_mode_pending"] = (_switch(value) for value in mode)
    for counter, scope in enumerate(("volatile", "aggregate")):
        for kind, name in enumerate(("corrected", "uncorrected")):
            field = "ecc_{0}_{1}".format(scope, name)
            gpu[field] = asker.ask((field,), ("nvmlDeviceGetTotalEccErrors",), handle, kind, counter)
    fields = tuple("remapped_rows_" + name for name in ("corrected", "uncorrected", "pending", "failed"))
    rows = asker.ask(fields, ("nvmlDeviceGetRemappedRows",), handle)
    if rows is not None:
        gpu.update(zip(fields, (rows[0], rows[1], _switch(rows[2]), _switch(rows[3]))))


def _links(asker, handle, gpu):
    gpu["nvlinks_active"], gpu["nvlinks_inactive"] = _nvlinks(asker, handle)
    fields = ("fabric_state", "fabric_status")
    fabric = asker.structure(fields, "nvmlDeviceGetGpuFabricInfoV", _FabricInfo, handle)
    if fabric is None or fabric.state == 0:
        return
    gpu["fabric_state"] = _FABRIC_STATES.get(fabric.state, "state_{0}".format(fabric.state))
    if fabric.state == 3:
        gpu["fabric_status"] = "success" if fabric.status == 0 else _gpu_shape.word(_error_text(asker.nvml, fabric.status))


def _nvlinks(asker, handle):
    """-> (number of active links, [numbers of inactive ones]) or (None, None) without NVLink."""
    fields = ("nvlinks_active", "nvlinks_inactive")
    function = getattr(asker.nvml, "nvmlDeviceGetNvLinkState", None)
    if function is None:
        asker.unavailable.update(fields)
        return None, None
    active, inactive = 0, []
    for link in range(getattr(asker.nvml, "NVML_NVLINK_MAX_LINKS", 18)):
        try:
            state = function(handle, link)
        except asker.nvml.NVMLError as exc:
            code = _code(exc)
            if code == _NOT_SUPPORTED and link > 0:
                continue  # a link that this board does not wire
            if code in (_INVALID_ARGUMENT, _NOT_SUPPORTED):
                break  # past the last link, or no NVLink at all
            if not asker.failed(fields, code):
                asker.unavailable.update(fields)
            return None, None
        if state:
            active += 1
        else:
            inactive.append(link)
    return (active, inactive) if active or inactive else (None, None)


def _recovery(asker, handle):
    code = asker.field(("recovery_action",), handle, _FIELD_RECOVERY_ACTION)
    if code is not None:
        return _RECOVERY_ACTIONS.get(code, "code_{0}".format(code)) if code else None
    # Drivers before 570 know only this; a GPU without the field needs nothing.
    return "reset" if asker.field(("recovery_action",), handle, _FIELD_RESET_REQUIRED) else None


def _mig(asker, handle):
    fields = ("mig_instances",)
    rows = []
    for index in range(asker.ask(fields, ("nvmlDeviceGetMaxMigDeviceCount",), handle) or 0):
        try:
            device = asker.nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)
        except asker.nvml.NVMLError as exc:
            if _code(exc) != _NOT_FOUND:  # an empty slot is no error
                asker.failed(fields, _code(exc))
            continue
        memory = _memory_info(asker, fields, device)[0]
        rows.append(
            {
                "index": index,
                "gpu_instance_id": asker.ask(fields, ("nvmlDeviceGetGpuInstanceId",), device),
                "compute_instance_id": asker.ask(fields, ("nvmlDeviceGetComputeInstanceId",), device),
                "uuid": _text(asker.ask(fields, ("nvmlDeviceGetUUID",), device)),
                "memory_total_mib": _mib(getattr(memory, "total", None)),
                "memory_used_mib": _mib(getattr(memory, "used", None)),
                "memory_free_mib": _mib(getattr(memory, "free", None)),
            }
        )
    return _gpu_shape.mig_instances(rows)


def _processes(asker, handle):
    rows = []
    for kind, name in (
        ("C", "nvmlDeviceGetComputeRunningProcesses"),
        ("G", "nvmlDeviceGetGraphicsRunningProcesses"),
        ("M+C", "nvmlDeviceGetMPSComputeRunningProcesses"),
    ):
        # The unversioned one last: recent bindings refuse it when the library is of another version.
        for item in asker.ask(("processes",), (name + "_v3", name + "_v2", name), handle) or []:
            instance = getattr(item, "gpuInstanceId", _NO_INSTANCE)
            rows.append(
                {
                    "pid": item.pid,
                    "name": _process_name(asker.nvml, item.pid),
                    "type": kind,
                    "memory_mib": None if item.usedGpuMemory == _NO_MEMORY else _mib(item.usedGpuMemory),
                    "gpu_instance": None if instance == _NO_INSTANCE else instance,
                }
            )
    return _gpu_shape.processes(rows)


def _process_name(nvml, pid):
    try:
        return _text(nvml.nvmlSystemGetProcessName(pid)) or None
    except Exception:  # pylint: disable=broad-except
        return None  # gone by now, somebody else's, or no text


def _error_text(nvml, code):
    try:
        return _text(nvml.nvmlErrorString(code))
    except Exception:  # pylint: disable=broad-except
        return "nvml error {0}".format(code)


def _code(exc):
    return getattr(exc, "value", None)


def _text(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _switch(value):
    return None if value is None else bool(value)


def _watts(milliwatts):
    return None if milliwatts is None else round(milliwatts / 1000.0, 2)


def _mib(size):
    """Bytes -> MiB, rounded up as nvidia-smi does: reserved, used and free of an idle GPU add up to total + 1."""
    return None if size is None else -(-size // _MIB)
