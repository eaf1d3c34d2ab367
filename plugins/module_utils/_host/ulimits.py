# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resource limits: how the kernel tells them, and which of them this host's Docker can give a container.

A container that asks for more does not start at all. A daemon with CAP_SYS_RESOURCE may give anything, one without it (a
daemon in a container, a hardened unit) only what it has itself.
"""

from __future__ import annotations

import os

UNLIMITED = -1
CAP_SYS_RESOURCE = 24
# A container's process is a child of containerd, which has limits of its own.
_DAEMONS = ("dockerd", "containerd")
# Docker's name -> its line in /proc/PID/limits
TITLES = {
    "core": "Max core file size",
    "cpu": "Max cpu time",
    "data": "Max data size",
    "fsize": "Max file size",
    "locks": "Max file locks",
    "memlock": "Max locked memory",
    "msgqueue": "Max msgqueue size",
    "nice": "Max nice priority",
    "nofile": "Max open files",
    "nproc": "Max processes",
    "rss": "Max resident set",
    "rtprio": "Max realtime priority",
    "rttime": "Max realtime timeout",
    "sigpending": "Max pending signals",
    "stack": "Max stack size",
}


def number(word):
    """A limit as /proc and systemd write it -> int, -1 for unlimited."""
    return UNLIMITED if word in ("unlimited", "infinity", "18446744073709551615") else int(word)


def lower(one, other):
    """The lower of two limits."""
    return max(one, other) if UNLIMITED in (one, other) else min(one, other)


def hard_limits(text):
    """Text of /proc/PID/limits -> {Docker's name: hard limit}, -1 for unlimited; locked memory and sizes are in bytes."""
    found = {}
    for line in text.splitlines():
        for name, title in TITLES.items():
            if line.startswith(title + "  "):
                found[name] = number(line[len(title):].split()[1])
    return found


def may_raise(status, field="CapEff"):
    """Text of /proc/PID/status -> whether the process may lift its own hard limits."""
    for line in status.splitlines():
        if line.startswith(field + ":"):
            return bool(int(line.split()[1], 16) >> CAP_SYS_RESOURCE & 1)
    return False


def grantable(processes, nr_open):
    """What a container can get -> {name: highest hard limit}; absent and -1 mean no bound.

    processes: [{"limits": hard_limits(...), "raises": bool}], those on the way from the daemon to the container: dockerd and
    containerd. nr_open: the kernel's own bound of open files, which nobody may lift; None when it is not known.
    """
    found = {}
    for process in processes:
        if not process["raises"]:
            for name, value in process["limits"].items():
                found[name] = lower(found.get(name, UNLIMITED), value)
    if nr_open is not None:
        found["nofile"] = lower(found.get("nofile", UNLIMITED), nr_open)
    return found


def clamp(ulimits, bounds):
    """Docker's Ulimits and grantable() -> (Ulimits that can be given, a sentence for each that was lowered)."""
    granted, lowered = [], []
    for wanted in ulimits:
        bound = bounds.get(wanted["Name"], UNLIMITED)
        one = dict(wanted, Soft=lower(wanted["Soft"], bound), Hard=lower(wanted["Hard"], bound))
        granted.append(one)
        if one != wanted:
            lowered.append("the limit %s is %d instead of %d: Docker may not give more" % (wanted["Name"], one["Hard"], wanted["Hard"]))
    return granted, lowered


def bounds(proc="/proc"):
    """grantable() of the daemons that run here; one that cannot be looked at bounds nothing."""
    processes = []
    for daemon in _DAEMONS:
        pid = _oldest(proc, daemon)
        status = _read(proc, pid, "status") if pid is not None else ""
        if status:
            processes.append({"limits": hard_limits(_read(proc, pid, "limits")), "raises": may_raise(status)})
    return grantable(processes, None)


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
