# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which resource limits a container can get from this host's Docker.

Pure. A default above what the daemon may grant keeps every container from starting, so it is lowered beforehand.
This file is private to the collection.
"""

from __future__ import annotations

UNLIMITED = -1
CAP_SYS_RESOURCE = 24

# Docker's name -> its line in /proc/PID/limits, systemd's property
NAMES = {
    "core": ("Max core file size", "LimitCORE"),
    "cpu": ("Max cpu time", "LimitCPU"),
    "data": ("Max data size", "LimitDATA"),
    "fsize": ("Max file size", "LimitFSIZE"),
    "locks": ("Max file locks", "LimitLOCKS"),
    "memlock": ("Max locked memory", "LimitMEMLOCK"),
    "msgqueue": ("Max msgqueue size", "LimitMSGQUEUE"),
    "nice": ("Max nice priority", "LimitNICE"),
    "nofile": ("Max open files", "LimitNOFILE"),
    "nproc": ("Max processes", "LimitNPROC"),
    "rss": ("Max resident set", "LimitRSS"),
    "rtprio": ("Max realtime priority", "LimitRTPRIO"),
    "rttime": ("Max realtime timeout", "LimitRTTIME"),
    "sigpending": ("Max pending signals", "LimitSIGPENDING"),
    "stack": ("Max stack size", "LimitSTACK"),
}


class UlimitError(ValueError):
    """A wanted limit that no kernel knows; the message names it."""


def hard_limits(text):
    """Text of /proc/PID/limits -> {Docker's name: hard limit}, -1 for unlimited."""
    found = {}
    for line in text.splitlines():
        for name, (title, ignored) in NAMES.items():
            if line.startswith(title + "  "):
                found[name] = _number(line[len(title):].split()[1])
    return found


def unit_limits(text):
    """Output of `systemctl show -p LimitNOFILE,...` -> the same, for a daemon that does not run."""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: _number(fields[unit]) for name, (ignored, unit) in NAMES.items() if fields.get(unit)}


def _number(word):
    return UNLIMITED if word in ("unlimited", "infinity", "18446744073709551615") else int(word)


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
                found[name] = _lower(found.get(name, UNLIMITED), value)
    if nr_open is not None:
        found["nofile"] = _lower(found.get("nofile", UNLIMITED), nr_open)
    return found


def normalise(limits):
    """The user's limits -> daemon.json's default-ulimits. A number is both limits; {"soft", "hard"} in any case of letters.

    >>> normalise({"nofile": 65536})
    {'nofile': {'Name': 'nofile', 'Hard': 65536, 'Soft': 65536}}
    """
    result = {}
    for name, value in limits.items():
        if name not in NAMES:
            raise UlimitError("default-ulimits: %s is no limit; known are %s" % (name, ", ".join(sorted(NAMES))))
        if isinstance(value, dict):
            given = {key.lower(): item for key, item in value.items()}
            hard = given.get("hard", given.get("soft"))
            soft = given.get("soft", hard)
        else:
            hard = soft = value
        result[name] = {"Name": name, "Hard": _whole(name, hard), "Soft": _whole(name, soft)}
        if _lower(result[name]["Hard"], result[name]["Soft"]) != result[name]["Soft"]:
            raise UlimitError("default-ulimits: %s has the soft limit %s above the hard limit %s" % (name, soft, hard))
    return result


def _whole(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise UlimitError("default-ulimits: %s is %r, wanted is a whole number, -1 for unlimited" % (name, value))
    try:
        number = UNLIMITED if value == "unlimited" else int(value)
    except ValueError:
        number = -2
    if number < UNLIMITED:
        raise UlimitError("default-ulimits: %s is %r, wanted is a whole number, -1 for unlimited" % (name, value))
    return number


def clamp(limits, bounds):
    """default-ulimits and grantable() -> (default-ulimits that a container can get, [{"limit", "wanted", "granted"}])."""
    result, lowered = {}, []
    for name, value in limits.items():
        bound = bounds.get(name, UNLIMITED)
        hard, soft = _lower(value["Hard"], bound), _lower(value["Soft"], bound)
        result[name] = {"Name": name, "Hard": hard, "Soft": soft}
        if (hard, soft) != (value["Hard"], value["Soft"]):
            lowered.append({"limit": name, "wanted": value["Hard"], "granted": hard})
    return result, lowered


def _lower(one, other):
    if UNLIMITED in (one, other):
        return max(one, other)
    return min(one, other)
