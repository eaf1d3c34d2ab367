# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which running containers have a GPU, how they got it, and which of them lose it when systemd reloads its units.

The legacy hook adds the devices behind the back of whoever made the control group. With systemd as that one, the next
`systemctl daemon-reload` (a package's, unattended upgrades', our own) writes its own device list again, and programs inside say
"Failed to initialize NVML: Unknown Error". Such a container stays broken until it is made anew.

Pure. This file is private to the collection.
"""

from __future__ import annotations

import re

from ansible_collections.indiaai.inference.plugins.module_utils import _docker_packages

_LOST = ("Failed to initialize NVML: Unknown Error", "Failed to initialize NVML: Insufficient Permissions")
# nvidia-container-runtime describes the devices to runc itself from here on.
_JIT_CDI = (1, 18)
_DEVICE = re.compile(r"/dev/nvidia(\d+|ctl|-uvm)\Z")


def how(container, default_runtime=None):
    """Result of inspect -> "cdi", "devices", "hook" (--gpus), "runtime" (the runtime nvidia), None for no GPU."""
    host = container.get("HostConfig") or {}
    requests = host.get("DeviceRequests") or []
    if any(item.get("Driver") == "cdi" and _gpu_ids(item) for item in requests):
        return "cdi"
    named = {match.group(1) for match in (_DEVICE.match(item.get("PathOnHost") or "") for item in host.get("Devices") or []) if match}
    if {"ctl", "-uvm"} <= named and any(name.isdigit() for name in named):
        return "devices"
    if any(item.get("Driver") in ("", "nvidia", None) and _asks_for_gpu(item) for item in requests):
        return "hook"
    runtime = host.get("Runtime") or default_runtime
    visible = dict(item.split("=", 1) for item in (container.get("Config") or {}).get("Env") or [] if "=" in item).get(
        "NVIDIA_VISIBLE_DEVICES")
    if runtime == "nvidia" and visible not in (None, "", "void", "none"):
        return "runtime"
    return None


def _gpu_ids(request):
    return any(str(name).startswith("nvidia.com/") for name in request.get("DeviceIDs") or [])


def _asks_for_gpu(request):
    return any("gpu" in group for group in request.get("Capabilities") or [])


def risk(way, cgroup_driver, docker_version, toolkit_version, cdi_hook):
    """Why a container loses its GPUs with a reload of systemd's units, None when it keeps them.

    cdi_hook: whether nvidia-cdi-hook is installed; with it Docker 29 and newer answer --gpus by CDI.
    """
    if way in (None, "cdi", "devices") or cgroup_driver != "systemd":
        return None
    if way == "hook":
        if cdi_hook and _docker_packages.numbers(docker_version) >= (29, 0):
            return None
        return "its GPUs were added by the legacy hook, unknown to systemd"
    if _docker_packages.numbers(toolkit_version) >= _JIT_CDI:
        return None
    return "its GPUs were added by a runtime older than 1.18, unknown to systemd"


def lost(code, output):
    """Result of `nvidia-smi -L` in a container -> True (it lost its GPUs), False (it sees them), None (not to be told)."""
    if any(text in output for text in _LOST):
        return True
    return False if code == 0 and "GPU " in output else None


def listing(containers, info, toolkit_version, cdi_hook, probe=None):
    """[{"name", "id", "how", "at_risk", "sees_gpu", "recreate", "reason"}] of the running containers with a GPU, by name.

    containers: results of inspect. info: of GET /info. probe: function(container) -> (exit status, output), not called without.
    recreate: it has lost its GPUs already.
    """
    result = []
    for container in containers:
        way = how(container, info.get("DefaultRuntime"))
        if way is None:
            continue
        reason = risk(way, info.get("CgroupDriver"), info.get("ServerVersion"), toolkit_version, cdi_hook)
        gone = lost(*probe(container)) if probe else None
        if gone:
            reason = "nvidia-smi in it says that its GPUs are gone"
        result.append({
            "name": (container.get("Name") or "").lstrip("/"), "id": container["Id"], "how": way, "at_risk": bool(reason) and not gone,
            "sees_gpu": None if gone is None else not gone, "recreate": bool(gone), "reason": reason,
        })
    return sorted(result, key=lambda item: item["name"])
