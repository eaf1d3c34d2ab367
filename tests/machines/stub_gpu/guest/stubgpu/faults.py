# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What may stand in the keys "fault" (all GPUs, the driver) and "gpu.N.fault" (one GPU)."""
from __future__ import annotations

# Of the host: only in "fault".
HOST = {
    "nodriver": "the kernel module is not loaded",
    "nolib": "the library is not installed (its file is put aside)",
    "mismatch": "the library is of another version than the kernel module",
    "late": "late:N, no driver until N seconds after the start",
    "hang": "hang:N, opening the library takes N seconds (default 3600)",
}
# Of a GPU: in "gpu.N.fault", or in "fault" for all of them.
GPU = {
    "lost": "fell off the bus: only what the driver remembers is answered",
    "nohandle": "fell off the bus, and the driver does not even give a handle",
    "needs_reset": "answers nothing until it is reset",
    "err": "answers with Unknown Error",
    "noperm": "setters are refused, also to root",
    "nolmc": "cannot lock its memory clock",
    "nolgc": "cannot lock its SM clock",
    "mig": "is split into the MIG devices of the key mig_devices",
    "powercap": "powercap[:MHZ], under load and held below its clock by the power limit",
    "hwslowdown": "slowed down by its own heat sensor",
    "nvlinkdown": "nvlinkdown[:LINK], one link (3) is down",
    "fabric": "the fabric is still being set up",
}
WITH_NUMBER = ("late", "hang", "powercap", "nvlinkdown")


def problem(key: str, value: str) -> str:
    """What is wrong with a value of a fault key; "" when nothing is."""
    allowed = dict(GPU) if key.startswith("gpu.") else {**HOST, **GPU}
    for word in value.split():
        name, colon, number = word.partition(":")
        if name not in allowed:
            return f"unknown fault {name!r} for {key}; known: {', '.join(sorted(allowed))}"
        if colon and (name not in WITH_NUMBER or not number.isdigit()):
            return f"fault {name!r} does not take {number!r}"
        if name == "late" and not colon:
            return "fault 'late' needs a number of seconds: late:60"
    return ""
