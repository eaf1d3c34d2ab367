# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which resource limits this host's Docker can give a container.

A container that asks for more does not start at all. A daemon with CAP_SYS_RESOURCE may give anything, one without it (a
daemon in a container, a hardened unit) only what it has itself.
"""

from __future__ import annotations

import os

UNLIMITED = -1
_CAP_SYS_RESOURCE = 24
# A container's process is a child of containerd, which has limits of its own.
_DAEMONS = ("dockerd", "containerd")
# Docker's name: its line in /proc/PID/limits
_LINES = {
    "core": "Max core file size",
    "memlock": "Max locked memory",
    "nofile": "Max open files",
    "nproc": "Max processes",
    "rtprio": "Max realtime priority",
    "stack": "Max stack size",
}


def bounds(proc="/proc"):
    """{name: highest limit that a container can get}; a name that is absent has no bound."""
    found = {}
    for daemon in _DAEMONS:
        pid = _oldest(proc, daemon)
        if pid is None or _may_raise(_read(proc, pid, "status")):
            continue
        for name, value in hard_limits(_read(proc, pid, "limits")).items():
            found[name] = _lower(found.get(name, UNLIMITED), value)
    return {name: value for name, value in found.items() if value != UNLIMITED}


def clamp(ulimits, limits):
    """Docker's Ulimits and bounds() -> (Ulimits that can be given, a sentence for each that was lowered)."""
    granted, lowered = [], []
    for wanted in ulimits:
        bound = limits.get(wanted["Name"], UNLIMITED)
        one = dict(wanted, Soft=_lower(wanted["Soft"], bound), Hard=_lower(wanted["Hard"], bound))
        granted.append(one)
        if one != wanted:
            lowered.append("the limit %s is %d instead of %d: Docker may not give more" % (wanted["Name"], one["Hard"], wanted["Hard"]))
    return granted, lowered


def hard_limits(text):
    """Text of /proc/PID/limits -> {Docker's name: hard limit}, -1 for unlimited."""
    found = {}
    for line in text.splitlines():
        for name, title in _LINES.items():
            if line.startswith(title + "  "):
                word = line[len(title):].split()[1]
                found[name] = UNLIMITED if word == "unlimited" else int(word)
    return found


def _may_raise(status):
    """Text of /proc/PID/status -> whether the process may lift its own hard limits."""
    for line in status.splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_RESOURCE & 1)
    return True  # not readable: nothing is known against it


def _oldest(proc, name):
    """Number of the oldest process of this name; a host's own daemon is older than one in a container."""
    pids = sorted(int(entry) for entry in os.listdir(proc) if entry.isdigit())
    return next((pid for pid in pids if _read(proc, pid, "comm").strip() == name), None)


def _read(proc, pid, name):
    try:
        with open(os.path.join(proc, str(pid), name), encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def _lower(one, other):
    return max(one, other) if UNLIMITED in (one, other) else min(one, other)
