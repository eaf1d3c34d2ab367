# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what was probed on a host to the facts `indiaai_gpu`. Pure.

The shape of the result is docs/contracts/gpu_facts.schema.json. "No GPU", "a GPU without
a driver" and "a GPU that does not answer" are three states; none of them is ever
reported as another.
"""

from __future__ import annotations

import re

from ansible_collections.indiaai.inference.plugins.module_utils import _nvidia_smi

SCHEMA_VERSION = 1
MANAGED_LABEL = "indiaai.inference.managed"

# nvidia-smi's own exit codes.
RC_NO_DRIVER = 9
RC_NO_LIBRARY = 12

_CONTAINER = re.compile(r"(?:docker[-/]|libpod-|cri-containerd-)([0-9a-f]{64})")
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


def facts(smi, pci_gpus, driver_loaded):
    """Everything but the processes' owners.

    smi: {"found": bool, "rc": int|None, "stdout": str, "stderr": str, "timed_out": bool, "timeout": s}
    pci_gpus: number of NVIDIA GPUs on the bus, or None when the bus cannot be read.
    driver_loaded: whether /proc/driver/nvidia/version exists.
    """
    if smi["found"] and smi["timed_out"]:
        return _without(
            "nvidia-smi",
            "unknown",
            "nvidia-smi did not answer within {0} s and was killed; the driver may be stuck".format(smi["timeout"]),
        )
    if smi["found"] and smi["rc"] == 0:
        return _parsed(smi)
    said = _first_line(smi)
    if pci_gpus == 0 and (not smi["found"] or smi["rc"] in (RC_NO_DRIVER, RC_NO_LIBRARY, 6)):
        return _without("none", "no_gpu", "no NVIDIA GPU on the PCI bus")
    if not smi["found"]:
        return _no_program(pci_gpus, driver_loaded)
    if smi["rc"] == RC_NO_LIBRARY:
        return _without(
            "none", "library_missing", "nvidia-smi cannot find the driver's library libnvidia-ml.so: {0}".format(said)
        )
    if smi["rc"] == RC_NO_DRIVER:
        return _without("none", "driver_missing", "the NVIDIA driver is not loaded: {0}".format(said))
    return _without("nvidia-smi", "unknown", "nvidia-smi failed with exit code {0}: {1}".format(smi["rc"], said))


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


def _no_program(pci_gpus, driver_loaded):
    if driver_loaded:
        return _without(
            "none", "library_missing", "the NVIDIA driver is loaded, but nvidia-smi is not installed"
        )
    if pci_gpus is None:
        return _without("none", "unknown", "nvidia-smi is not installed and the PCI bus cannot be read")
    return _without(
        "none", "driver_missing", "{0} NVIDIA GPU(s) on the PCI bus, but no driver is installed".format(pci_gpus)
    )


def _parsed(smi):
    try:
        parsed = _nvidia_smi.parse(smi["stdout"])
    except _nvidia_smi.ParseError as exc:
        return _without("nvidia-smi", "unknown", "the output of nvidia-smi cannot be read: {0}".format(exc))
    count, attached = len(parsed["gpus"]), parsed["attached_gpus"]
    reason = "{0} GPU(s)".format(count)
    if attached is not None and attached != count:
        reason += ", although nvidia-smi counts {0} attached".format(attached)
    result = _without("nvidia-smi", "ok" if count else "no_gpu", reason)
    result["driver_version"] = parsed["driver_version"]
    result["cuda_version"] = parsed["cuda_version"]
    result["gpus"] = parsed["gpus"]
    return result


def _without(backend, state, reason):
    return {
        "schema_version": SCHEMA_VERSION,
        "backend": backend,
        "driver_version": None,
        "cuda_version": None,
        "state": state,
        "reason": reason,
        "gpus": [],
    }


def _first_line(smi):
    for text in (smi["stdout"], smi["stderr"]):
        for line in text.splitlines():
            if line.strip():
                return line.strip()
    return "no output"
