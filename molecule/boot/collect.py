"""Print as JSON what a guest has in force. Runs on the guest with nothing but Python's standard library."""
from __future__ import annotations

import glob
import json
import os
import subprocess


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return " ".join(handle.read().split())
    except OSError:  # write-only, or not answerable
        return None


def words(*argv):
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()


def settings():
    """{name: value} of all of /proc/sys."""
    found = {}
    for folder, _folders, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, "/proc/sys").translate(str.maketrans("/.", "./"))
            found[key] = read(path)
    return found


def queues():
    """{path: value}; masks as numbers, since the kernel may print leading zeros."""
    found = {path: read(path) for path in glob.glob("/sys/class/net/eth*/queues/rx-*/rps_flow_cnt")}
    for path in glob.glob("/sys/class/net/eth*/queues/rx-*/rps_cpus"):
        found[path] = int(read(path).replace(",", ""), 16)
    return found


def qdiscs():
    """{interface: kind} of what paces each card."""
    shown = json.loads(words("tc", "-j", "qdisc", "show"))
    return {item["dev"]: item["kind"] for item in shown if item["dev"].startswith("eth") and item.get("root")}


def unit(name):
    """When it began to start and was done, in seconds since the boot, and how it ended."""
    shown = dict(line.split("=", 1) for line in words("systemctl", "show", name).splitlines() if "=" in line)
    return {"exists": shown["LoadState"] == "loaded", "result": shown["Result"], "restarts": int(shown.get("NRestarts", 0)),
            "began": int(shown["InactiveExitTimestampMonotonic"]) / 1e6, "done": int(shown["ActiveEnterTimestampMonotonic"]) / 1e6}


def gpus():
    """The stub GPUs, what they are told to do wrong, and the units around them; None on a guest without."""
    if not os.path.exists("/run/stub-gpu/state"):
        return None
    count = int(words("stub-gpu-ctl", "get", "count"))
    keys = ("sm_lock", "mem_lock", "power_limit_mw", "persistence")
    return {"fault": words("stub-gpu-ctl", "get", "fault"),
            "gpus": [{key: words("stub-gpu-ctl", "get", "gpu.%d.%s" % (number, key)) for key in keys} for number in range(count)],
            "units": {name: unit(name) for name in ("stub-gpu.service", "gpu-init.service", "docker.service")}}


print(json.dumps({
    "gpu": gpus(),
    "boot_id": read("/proc/sys/kernel/random/boot_id"),
    "settings": settings(),
    "modules": sorted(os.path.basename(path) for path in glob.glob("/sys/module/*")),
    "huge_pages": {name: read("/sys/kernel/mm/transparent_hugepage/" + name) for name in ("enabled", "defrag")},
    "queues": queues(),
    "qdiscs": qdiscs(),
    "nodes": sorted(os.path.basename(path) for path in glob.glob("/sys/devices/system/node/node*")),
    "processors": os.cpu_count(),
    "recovered": "recovery complete" in words("dmesg"),
    "failed_units": words("systemctl", "--failed", "--no-legend", "--plain"),
}))
