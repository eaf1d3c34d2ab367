# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the GPU facts against a real GPU: do both backends agree, are clocks and processes readable?

Reads, and never sets anything. Prints one JSON document; exit code 0 when every check passed, 1 when
one failed, 2 when this machine has no GPU to check. Needs Python from 3.9, and pynvml for half of it.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import sys
import time
from importlib import metadata
from xml.etree import ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "playbooks" / "collections"))

from ansible_collections.indiaai.inference.plugins.module_utils import (  # noqa: E402
    _gpu_facts,
    _gpu_probe,
    _nvidia_smi,
)

# What moves between two readings, and by how much it may. The rest is equal.
TOLERANCES = {
    "memory_used_mib": 64,
    "memory_free_mib": 64,
    "memory_unattributed_mib": 64,
    "utilization_percent": 100,
    "temperature_c": 5,
    "temperature_margin_c": 5,
    "memory_temperature_c": 5,
    "power_draw_w": 150,
    "sm_clock_mhz": 2000,
    # 3199 and 3201 are the same clock.
    "memory_clock_mhz": 2,
}
# What may be another one a moment later.
MOVING = ("clock_event_reasons",)


def differences(first, second, path=""):
    """Where two values of the same field differ by more than they may -> ["path: a, b", ...]."""
    name = path.rpartition(".")[2]
    if isinstance(first, dict) and isinstance(second, dict):
        return [text for key in sorted(set(first) | set(second))
                for text in differences(first.get(key), second.get(key), "{0}.{1}".format(path, key))]
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [text for number, pair in enumerate(zip(first, second)) for text in differences(*pair, "{0}[{1}]".format(path, number))]
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (first, second))
    if first == second or name in MOVING or (numbers and abs(first - second) <= TOLERANCES.get(name, 0)):
        return []
    return ["{0}: {1!r}, {2!r}".format(path, first, second)]


def comparable(facts, unsaid):
    """The facts without the fields that one of the backends cannot say."""
    result = json.loads(json.dumps({name: facts[name] for name in ("state", "driver_version", "cuda_version", "gpus")}))
    for gpu in result["gpus"]:
        gpu["broken_fields"] = [name for name in gpu["broken_fields"] if name not in unsaid]
        for name in unsaid & set(gpu):
            gpu.pop(name)
        for instance in gpu["mig_instances"] if _nvidia_smi.MIG_UUID in unsaid else []:
            for part in instance["compute_instances"]:
                part.pop("uuid")
    return result


def check_agreement(by_nvml, by_smi):
    unsaid = set(by_nvml["unavailable_fields"]) | set(by_smi["unavailable_fields"])
    found = differences(comparable(by_nvml, unsaid), comparable(by_smi, unsaid))
    return {"name": "both backends agree", "ok": not found, "differences": found, "not_compared": sorted(unsaid)}


def check_clocks(document):
    """Every GPU lists the clocks that a lock may choose from, and its highest clocks are among them."""
    rows, fine = [], True
    for gpu in ElementTree.fromstring(document[document.index("<nvidia_smi_log"):]).findall("gpu"):
        lists = {}
        for item in gpu.findall("supported_clocks/supported_mem_clock"):
            memory = int(item.findtext("value").split()[0])
            lists[memory] = [int(clock.text.split()[0]) for clock in item.findall("supported_graphics_clock")]
        highest = [int(text.split()[0]) if text[:1].isdigit() else None
                   for text in (gpu.findtext("max_clocks/mem_clock") or "", gpu.findtext("max_clocks/sm_clock") or "")]
        known = bool(lists) and all(lists.values())
        fine = fine and known and highest[0] in lists and highest[1] in lists[highest[0]]
        rows.append({
            "max_memory_mhz": highest[0],
            "max_sm_mhz": highest[1],
            "supported": [{"memory_mhz": memory, "sm_max_mhz": max(clocks, default=None), "sm_min_mhz": min(clocks, default=None),
                           "steps": len(clocks)} for memory, clocks in sorted(lists.items(), reverse=True)],
        })
    return {"name": "supported clocks are readable and hold the highest ones", "ok": fine, "gpus": rows}


def check_processes(facts):
    """Every listed process that still runs has a readable cgroup."""
    pids = _gpu_facts.pids(facts)
    unread = [pid for pid in pids if os.path.exists("/proc/{0}".format(pid)) and pid not in _gpu_probe.cgroups([pid])]
    return {"name": "the cgroup of every GPU process is readable", "ok": not unread, "processes": len(pids), "unreadable": len(unread)}


def check_values(facts):
    """No GPU is without the values that the plan and the clocks depend on."""
    needed = ("uuid", "name", "pci_bus_id", "memory_total_mib", "memory_used_mib", "sm_clock_max_mhz", "memory_clock_max_mhz",
              "power_limit_w", "persistence_mode")
    missing = ["gpu {0}: {1}".format(gpu["index"], name) for gpu in facts["gpus"] for name in needed if gpu[name] is None]
    broken = ["gpu {0}: {1}".format(gpu["index"], name) for gpu in facts["gpus"] for name in gpu["broken_fields"]]
    return {"name": "no needed value is missing and none is broken", "ok": not missing and not broken, "missing": missing,
            "broken": broken}


class Names:
    """Replaces identifiers: the same one by the same word."""

    def __init__(self):
        self.known = {}

    def of(self, kind, value, form):
        if value is None:
            return None
        return self.known.setdefault((kind, value), form.format(1 + sum(1 for key in self.known if key[0] == kind)))


def anonymous(facts, names):
    """The facts with every UUID, address, process, container and unit replaced."""
    result = json.loads(json.dumps(facts))
    for gpu in result["gpus"]:
        gpu["uuid"] = names.of("gpu", gpu["uuid"], "GPU-00000000-0000-0000-0000-{0:012x}")
        gpu["pci_bus_id"] = names.of("bus", gpu["pci_bus_id"], "00000000:{0:02x}:00.0")
        for instance in gpu["mig_instances"]:
            for part in instance["compute_instances"]:
                part["uuid"] = names.of("mig", part["uuid"], "MIG-00000000-0000-0000-0000-{0:012x}")
        for process in gpu["processes"]:
            process["pid"] = int(names.of("pid", process["pid"], "{0}"))
            process["name"] = names.of("name", process["name"], "process-{0}")
            process["container"] = names.of("container", process["container"], "container-{0}")
            process["unit"] = names.of("unit", process["unit"], "unit-{0}.service")
    return result


def with_owners(facts):
    """Containers by id only: the check asks no daemon."""
    return _gpu_facts.with_owners(facts, _gpu_facts.owners(_gpu_probe.cgroups(_gpu_facts.pids(facts)), []))


def binding_version():
    try:
        return metadata.version("nvidia-ml-py")
    except metadata.PackageNotFoundError:
        return "unknown"


def timed(function, *args):
    started = time.monotonic()
    return function(*args), round(time.monotonic() - started, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replace-identifiers", action="store_true",
                        help="replace UUIDs, bus addresses, pids and the names of processes, containers and units")
    parser.add_argument("--timeout", type=int, default=60, help="seconds for each backend (default: %(default)s)")
    options = parser.parse_args()
    pci_gpus, kernel_driver = _gpu_probe.count_pci_gpus(), _gpu_probe.kernel_driver()
    answer, nvml_seconds = timed(_gpu_probe.run_nvml, options.timeout)
    smi, smi_seconds = timed(_gpu_probe.run_nvidia_smi, shutil.which("nvidia-smi"), options.timeout)
    by_smi = with_owners(_gpu_facts.facts(smi, pci_gpus, kernel_driver))
    by_nvml = with_owners(_gpu_facts.nvml_facts(answer, pci_gpus, kernel_driver)) if answer["found"] else None
    best = by_nvml if by_nvml is not None and by_nvml["gpus"] else by_smi
    checks = [check_values(best), check_processes(best)]
    if by_smi["gpus"]:
        checks.append(check_clocks(smi["stdout"]))
    if by_nvml is None or by_smi["backend"] == "none":
        checks.append({"name": "both backends agree", "ok": None, "reason": "only one backend is installed"})
    else:
        checks.append(check_agreement(by_nvml, by_smi))
    names = Names()
    if options.replace_identifiers:
        by_smi = anonymous(by_smi, names)
        by_nvml = anonymous(by_nvml, names) if by_nvml is not None else None
        for check in checks:
            for key in ("differences", "missing"):
                if key in check:
                    check[key] = [text.partition(":")[0] for text in check[key]]
    document = {
        "read_at": time.strftime("%Y-%m-%d", time.gmtime()),
        "pynvml": binding_version() if answer["found"] else None,
        "seconds": {"nvml": nvml_seconds, "nvidia_smi": smi_seconds},
        "checks": checks,
        "nvml": by_nvml,
        "nvidia_smi": by_smi,
    }
    json.dump(document, sys.stdout, indent=2)
    print()
    if best["state"] == "no_gpu":
        return 2
    return 1 if best["state"] != "ok" or any(check["ok"] is False for check in checks) else 0


if __name__ == "__main__":
    sys.exit(main())
