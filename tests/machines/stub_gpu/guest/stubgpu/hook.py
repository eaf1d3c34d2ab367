# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""nvidia-container-runtime-hook of the stub GPU: gives a container that Docker's GPU request started its GPUs.

Docker registers its device driver "nvidia" when it finds a program of this name on its PATH, sets NVIDIA_VISIBLE_DEVICES in the
container and calls the program before the container's first process, with the container's state on standard input. The
real one mounts the driver's files and nodes into the container's file system; so does this one, with the stub's.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys

from . import devices, nvml, state

# Runs in the container's mount namespace, which still has the server's root. $1: the container's root; then words
# "file PATH", "folder PATH" and "node PATH".
_SCRIPT = r"""
set -eu
root=$1; shift
while [ $# -gt 0 ]; do
  kind=$1 path=$2; shift 2
  mkdir -p "$root${path%/*}"
  case $kind in
    node) [ -e "$root$path" ] || mknod -m 666 "$root$path" c 1 3; continue ;;
    file) [ -e "$root$path" ] || : > "$root$path" ;;
    folder) mkdir -p "$root$path" ;;
  esac
  mount --bind "$path" "$root$path"
  mount -o remount,bind,ro,nosuid "$root$path"
done
"""


class HookError(Exception):
    """The container cannot have what it asks for."""


def wanted(environment: list) -> str:
    """NVIDIA_VISIBLE_DEVICES of a container's environment; "" when it asks for nothing."""
    pairs = dict(pair.partition("=")[::2] for pair in environment)
    value = pairs.get("NVIDIA_VISIBLE_DEVICES", "")
    return "" if value in ("none", "void") else value


def choose(names: str, values: dict) -> list:
    """"all", indices and UUIDs -> numbers of the GPUs; HookError for one that there is not."""
    count = int(values["count"])
    if names == "all":
        return list(range(count))
    known = {values[f"gpu.{gpu}.uuid"]: gpu for gpu in range(count)}
    known.update({str(gpu): gpu for gpu in range(count)})
    found = []
    for name in names.split(","):
        if name not in known:
            raise HookError(f"device error: {name}: unknown device")
        found.append(known[name])
    return sorted(set(found))


def arguments(gpus: list, values: dict) -> list:
    """The words of the script for these GPUs."""
    words = []
    for path in devices.mounts(values):
        words += ["folder" if os.path.isdir(path) else "file", path]
    for name in devices.CONTROL + tuple(f"nvidia{gpu}" for gpu in gpus):
        words += ["node", f"/dev/{name}"]
    return words


def _prestart() -> None:
    container = json.load(sys.stdin)
    with open(os.path.join(container["bundle"], "config.json"), encoding="utf-8") as stream:
        config = json.load(stream)
    names = wanted(config["process"].get("env") or [])
    if not names:
        return
    try:
        nvml.Nvml()
        values = state.read()
    except (nvml.Failed, nvml.NoLibrary, state.StateError) as error:
        raise HookError(f"initialization error: nvml error: {str(error).lower()}") from error
    root = os.path.join(container["bundle"], config["root"]["path"])
    command = ["nsenter", f"--mount=/proc/{container['pid']}/ns/mnt", "sh", "-c", _SCRIPT, "sh", root]
    done = subprocess.run(command + arguments(choose(names, values), values), text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise HookError(f"mount error: {done.stderr.strip()}")


def main() -> int:
    if sys.argv[1:] != ["prestart"]:
        return 0  # poststart, poststop: nothing to do
    try:
        _prestart()
    except HookError as error:
        print(f"nvidia-container-cli: {error}", file=sys.stderr)
        return 1
    return 0
