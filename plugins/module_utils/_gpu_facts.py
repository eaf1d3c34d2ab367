# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was probed on a host to the facts `indiaai_gpu`. Pure.

The shape of the result is docs/contracts/gpu_facts.schema.json. "No GPU", "a GPU without
a driver", "a driver whose parts do not match" and "a GPU that does not answer" are
different states; none of them is ever reported as another.
"""

from __future__ import annotations

import re

from ansible_collections.indiaai.inference.plugins.module_utils import _nvidia_smi, _nvml

SCHEMA_VERSION = 1
MANAGED_LABEL = "indiaai.inference.managed"

# nvidia-smi's own exit codes; where NVML has the same error, it has the same number.
RC_NOT_FOUND = 6
RC_NO_DRIVER = 9
RC_NO_LIBRARY = 12
RC_VERSION_MISMATCH = 18

# docker-ID.scope, /docker/ID, libpod-ID.scope, cri-containerd-ID.scope, crio-ID.scope, nerdctl-ID.scope,
# /kubepods/.../ID and /NAMESPACE/ID of plain containerd. podman's monitor is not in the container it watches.
_CONTAINER = re.compile(r"(?<!libpod-conmon-)(?<=[-/:])([0-9a-f]{64})(?=[./]|$)", re.MULTILINE)
_UNIT = re.compile(r"([^/]+\.service)(?:/|$)")


def is_gpu(vendor, pci_class):
    """Contents of /sys/bus/pci/devices/*/{vendor,class} -> whether it is an NVIDIA GPU.

    0x0300 is a VGA controller, 0x0302 a 3D controller; audio functions (0x0403) and
    NVSwitches (0x0680) of the same vendor are none.
    """
    return vendor.strip().lower() == "0x10de" and pci_class.strip().lower()[:6] in ("0x0300", "0x0302")


def container_id(cgroup):
    """Text of /proc/PID/cgroup -> id of the container (64 hex digits) or None."""
    match = _CONTAINER.search(cgroup)
    return match.group(1) if match else None


def unit(cgroup):
    """Text of /proc/PID/cgroup -> name of the systemd service or None."""
    for line in cgroup.splitlines():
        names = _UNIT.findall(line.partition("::")[2] or line.rpartition(":")[2])
        if names:
            return names[-1]
    return None


def owners(cgroups, containers):
    """{pid: text of its cgroup file}, Docker's container list -> {pid: {"container", "unit", "managed"}}.

    A container that Docker does not list (another runtime, or Docker is away) is called
    by the first 12 digits of its id: it is still somebody's container.
    """
    names = {}
    for item in containers:
        labels = item.get("Labels") or {}
        name = (item.get("Names") or [item["Id"][:12]])[0].lstrip("/")
        names[item["Id"]] = (name, str(labels.get(MANAGED_LABEL, "")).lower() == "true")
    result = {}
    for pid, text in cgroups.items():
        identity = container_id(text)
        if identity is None:
            result[pid] = {"container": None, "unit": unit(text), "managed": False}
        else:
            name, managed = names.get(identity, (identity[:12], False))
            result[pid] = {"container": name, "unit": None, "managed": managed}
    return result


def conclusive(nvml):
    """Whether NVML's answer stands, or nvidia-smi has to be asked too.

    A hung driver hangs nvidia-smi as well, and what NVML says of the driver holds. But a
    binding that is missing, too new for the library, or crashed says nothing about the GPU,
    and a library that the binding does not find may be found by nvidia-smi.
    """
    if nvml["timed_out"] or nvml["document"] is not None:
        return True
    return nvml["found"] and nvml["error"]["code"] not in (None, _nvml.LIBRARY_NOT_FOUND, _nvml.FUNCTION_NOT_FOUND)


def nvml_facts(nvml, pci_gpus, kernel_driver):
    """Everything but the processes' owners, from NVML.

    nvml: what `_nvml.read` returns, with {"timed_out": bool, "timeout": s}.
    pci_gpus: number of NVIDIA GPUs on the bus, or None when the bus cannot be read.
    kernel_driver: version of the loaded kernel module ("" when it does not say), or None.
    """
    if nvml["timed_out"]:
        return _hung("nvml", "NVML", nvml["timeout"])
    if nvml["document"] is not None:
        return _read("nvml", "NVML", nvml["document"], pci_gpus)
    code, said = nvml["error"]["code"], nvml["error"]["text"]
    if pci_gpus == 0 and code in (_nvml.DRIVER_NOT_LOADED, _nvml.LIBRARY_NOT_FOUND):
        return _no_gpu()
    if code == _nvml.DRIVER_NOT_LOADED:
        return _driver_missing(said)
    if code == _nvml.VERSION_MISMATCH:
        return _mismatch("nvml", said, kernel_driver)
    if code == _nvml.LIBRARY_NOT_FOUND:
        return _library_missing("pynvml cannot find the driver's library libnvidia-ml.so.1", pci_gpus, kernel_driver)
    return _without("nvml", "unknown", "NVML cannot be used: {0}".format(said))


def facts(smi, pci_gpus, kernel_driver):
    """Everything but the processes' owners, from nvidia-smi.

    smi: {"found": bool, "rc": int|None, "stdout": str, "stderr": str, "timed_out": bool, "timeout": s}
    pci_gpus, kernel_driver: see `nvml_facts`.
    """
    if smi["found"] and smi["timed_out"]:
        return _hung("nvidia-smi", "nvidia-smi", smi["timeout"])
    if smi["found"] and smi["rc"] == 0:
        return _parsed(smi, pci_gpus)
    said = _first_line(smi)
    if pci_gpus == 0 and (not smi["found"] or smi["rc"] in (RC_NO_DRIVER, RC_NO_LIBRARY, RC_NOT_FOUND)):
        return _no_gpu()
    if not smi["found"]:
        return _library_missing("neither pynvml nor nvidia-smi is installed", pci_gpus, kernel_driver)
    if smi["rc"] == RC_NO_LIBRARY:
        return _without(
            "none", "library_missing", "nvidia-smi cannot find the driver's library libnvidia-ml.so: {0}".format(said)
        )
    if smi["rc"] == RC_NO_DRIVER:
        return _driver_missing(said)
    if smi["rc"] == RC_VERSION_MISMATCH or "version mismatch" in said.lower():
        return _mismatch("nvidia-smi", said, kernel_driver)
    failed = "nvidia-smi failed with exit code {0}: {1}".format(smi["rc"], said)
    result = _parsed(smi, pci_gpus)
    if result["gpus"]:
        # One GPU made it fail; the others are in the document all the same.
        result["reason"] += "; nvidia-smi ended with exit code {0}".format(smi["rc"])
        return result
    return _without("nvidia-smi", "unknown", failed)


def disabled():
    """The facts of backend `none`, asked for by name."""
    return _without("none", "no_gpu", "backend none was asked for, the host was not looked at")


def with_owners(result, found):
    """Adds container, unit and managed to every process; a pid that is gone belongs to nobody."""
    nobody = {"container": None, "unit": None, "managed": False}
    for gpu in result["gpus"]:
        for process in gpu["processes"]:
            process.update(found.get(process["pid"], nobody))
    return result


def pids(result):
    return sorted({process["pid"] for gpu in result["gpus"] for process in gpu["processes"]})


def _no_gpu():
    return _without("none", "no_gpu", "no NVIDIA GPU on the PCI bus")


def _driver_missing(said):
    return _without("none", "driver_missing", "the NVIDIA driver is not loaded: {0}".format(said))


def _library_missing(what, pci_gpus, kernel_driver):
    """Nothing on this host speaks for the driver: is there one?"""
    if kernel_driver is not None:
        return _without("none", "library_missing", "the NVIDIA driver is loaded, but {0}".format(what))
    if pci_gpus is None:
        return _without("none", "unknown", "{0}, and the PCI bus cannot be read".format(what))
    return _without(
        "none", "driver_missing", "{0} NVIDIA GPU(s) on the PCI bus, but no driver is loaded, and {1}".format(pci_gpus, what)
    )


def _mismatch(backend, said, kernel_driver):
    reason = "the driver's library and its kernel module are of different versions: {0}".format(said)
    if kernel_driver:
        reason += "; the loaded module is {0}".format(kernel_driver)
    result = _without(backend, "version_mismatch", reason + "; load the new module or reboot")
    result["driver_version"] = kernel_driver or None
    return result


def _hung(backend, what, timeout):
    return _without(
        backend, "unknown", "{0} did not answer within {1} s and was killed; the driver may be stuck".format(what, timeout)
    )


def _parsed(smi, pci_gpus):
    try:
        return _read("nvidia-smi", "nvidia-smi", _nvidia_smi.parse(smi["stdout"]), pci_gpus)
    except _nvidia_smi.ParseError as exc:
        return _without("nvidia-smi", "unknown", "the output of nvidia-smi cannot be read: {0}".format(exc))


def _read(backend, what, document, pci_gpus):
    """Facts of a host that answered. GPUs on the bus that nobody lists are mentioned, and never taken for none."""
    count, attached = len(document["gpus"]), document["attached_gpus"]
    reason = "{0} GPU(s)".format(count)
    if attached is not None and attached != count:
        reason += ", although {0} counts {1} attached".format(what, attached)
    if pci_gpus is not None and pci_gpus > count:
        reason += ", although {0} are on the PCI bus".format(pci_gpus)
    missing = not count and bool(pci_gpus or attached)
    result = _without(backend, "ok" if count else "unknown" if missing else "no_gpu", reason)
    for name in ("driver_version", "cuda_version", "gpus", "unavailable_fields"):
        result[name] = document[name]
    return result


def _without(backend, state, reason):
    return {
        "schema_version": SCHEMA_VERSION,
        "backend": backend,
        "driver_version": None,
        "cuda_version": None,
        "state": state,
        "reason": reason,
        "unavailable_fields": [],
        "gpus": [],
    }


def _first_line(smi):
    for text in (smi["stdout"], smi["stderr"]):
        for line in text.splitlines():
            if line.strip():
                return line.strip()
    return "no output"
