# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state changes outside its file: device nodes, whether the library is there, and the CDI specification.

Each is done only where a key names the place (a server has them, a test on the control machine has not). A node is a copy
of /dev/null under a GPU's name: programs look whether it exists, nothing is read from it. With a GPU's own numbers
nothing could open it in a container, which may use only the devices that the machine below it allows.
"""
from __future__ import annotations

import json
import os
import stat

from . import state

KEYS = ("devices", "library", "cdi")
CONTROL = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
PROGRAMS = "/usr/local/lib/stub-gpu"
SMI = "/usr/bin/nvidia-smi"
_NULL = os.makedev(1, 3)
_ASIDE = ".aside"


def names(count: int) -> list:
    return list(CONTROL) + [f"nvidia{gpu}" for gpu in range(count)]


def follow(values: dict) -> None:
    """Make everything outside as the state says."""
    faults = [word.partition(":")[0] for word in values.get("fault", "").split()]
    if values.get("devices"):
        _nodes(values["devices"], [] if "nodriver" in faults else names(int(values["count"])))
    if values.get("library"):
        _put_aside(values["library"], "nolib" in faults)
    if values.get("cdi"):
        os.makedirs(os.path.dirname(values["cdi"]), exist_ok=True)
        with open(values["cdi"], "w", encoding="utf-8") as stream:
            stream.write(json.dumps(cdi(values), indent=2) + "\n")  # JSON is YAML


def _nodes(folder: str, wanted: list) -> None:
    for name in wanted:
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            os.mknod(path, 0o666 | stat.S_IFCHR, _NULL)
            os.chmod(path, 0o666)
    for name in set(names(8)) - set(wanted):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.unlink(path)


def _put_aside(library: str, away: bool) -> None:
    source, target = (library, library + _ASIDE) if away else (library + _ASIDE, library)
    if os.path.exists(source):
        os.rename(source, target)


def mounts(values: dict) -> list:
    """What a container needs of the server's files; the state is a folder, because its file is replaced at each change."""
    return [values["library"], SMI, PROGRAMS, os.path.dirname(state.path())]


def cdi(values: dict) -> dict:
    """The CDI specification: nvidia.com/gpu=all, =INDEX and =UUID."""
    nodes = {gpu: {"path": f"/dev/nvidia{gpu}"} for gpu in range(int(values["count"]))}
    devices = [{"name": "all", "containerEdits": {"deviceNodes": list(nodes.values())}}]
    for gpu, node in nodes.items():
        for name in (str(gpu), values[f"gpu.{gpu}.uuid"]):
            devices.append({"name": name, "containerEdits": {"deviceNodes": [node]}})
    edits = {
        "deviceNodes": [{"path": f"/dev/{name}"} for name in CONTROL],
        "mounts": [{"hostPath": path, "containerPath": path, "options": ["ro", "nosuid", "nodev", "rbind"]} for path in mounts(values)],
    }
    return {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices, "containerEdits": edits}
