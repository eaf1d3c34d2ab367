# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the state changes outside its file: device nodes, and whether the library is there.

A node is a copy of /dev/null under a GPU's name: programs look whether it exists, nothing is ever read from it. (Real
numbers would do as well, but a container may open only what the machine below it allows.)
"""
from __future__ import annotations

import os
import stat

_NULL = os.makedev(1, 3)
_CONTROL = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools")
_ASIDE = ".aside"


def names(count: int) -> list:
    return list(_CONTROL) + [f"nvidia{gpu}" for gpu in range(count)]


def make(folder: str, name: str) -> None:
    path = os.path.join(folder, name)
    if os.path.exists(path):
        return
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, _NULL)
        os.chmod(path, 0o666)
    except PermissionError:
        with open(path, "a", encoding="utf-8"):
            pass


def follow(values: dict) -> None:
    """Make nodes and library as the state says. Nothing happens without the keys "devices" and "library"."""
    faults = [word.partition(":")[0] for word in values.get("fault", "").split()]
    if values.get("devices"):
        _nodes(values["devices"], [] if "nodriver" in faults else names(int(values["count"])))
    if values.get("library"):
        _put_aside(values["library"], "nolib" in faults)


def _nodes(folder: str, wanted: list) -> None:
    for name in wanted:
        make(folder, name)
    for name in set(names(8)) - set(wanted):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            os.unlink(path)


def _put_aside(library: str, away: bool) -> None:
    source, target = (library, library + _ASIDE) if away else (library + _ASIDE, library)
    if os.path.exists(source):
        os.rename(source, target)
