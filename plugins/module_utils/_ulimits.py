# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The limits that daemon.json gives to every container: as the user says them, as Docker has them, and no more than it can grant.

Pure. A default above what the daemon may grant keeps every container from starting, so it is lowered beforehand.
This file is private to the collection.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import ulimits

# Docker's name -> systemd's property
PROPERTIES = {name: "Limit" + name.upper() for name in ulimits.TITLES}


class UlimitError(ValueError):
    """A wanted limit that no kernel knows; the message names it."""


def unit_limits(text):
    """Output of `systemctl show -p LimitNOFILE,...` -> ulimits.hard_limits, for a daemon that does not run."""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: ulimits.number(fields[unit]) for name, unit in PROPERTIES.items() if fields.get(unit)}


def normalise(limits):
    """The user's limits -> daemon.json's default-ulimits. A number is both limits; {"soft", "hard"} in any case of letters.

    >>> normalise({"nofile": 65536})
    {'nofile': {'Name': 'nofile', 'Hard': 65536, 'Soft': 65536}}
    """
    result = {}
    for name, value in limits.items():
        if name not in PROPERTIES:
            raise UlimitError("default-ulimits: %s is no limit; known are %s" % (name, ", ".join(sorted(PROPERTIES))))
        if isinstance(value, dict):
            given = {key.lower(): item for key, item in value.items()}
            hard = given.get("hard", given.get("soft"))
            soft = given.get("soft", hard)
        else:
            hard = soft = value
        result[name] = {"Name": name, "Hard": _whole(name, hard), "Soft": _whole(name, soft)}
        if ulimits.lower(result[name]["Hard"], result[name]["Soft"]) != result[name]["Soft"]:
            raise UlimitError("default-ulimits: %s has the soft limit %s above the hard limit %s" % (name, soft, hard))
    return result


def _whole(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise UlimitError("default-ulimits: %s is %r, wanted is a whole number, -1 for unlimited" % (name, value))
    try:
        number = ulimits.UNLIMITED if value == "unlimited" else int(value)
    except ValueError:
        number = -2
    if number < ulimits.UNLIMITED:
        raise UlimitError("default-ulimits: %s is %r, wanted is a whole number, -1 for unlimited" % (name, value))
    return number


def clamp(limits, bounds):
    """default-ulimits and grantable() -> (default-ulimits that a container can get, [{"limit", "wanted", "granted"}])."""
    result, lowered = {}, []
    for name, value in limits.items():
        bound = bounds.get(name, ulimits.UNLIMITED)
        hard, soft = ulimits.lower(value["Hard"], bound), ulimits.lower(value["Soft"], bound)
        result[name] = {"Name": name, "Hard": hard, "Soft": soft}
        if (hard, soft) != (value["Hard"], value["Soft"]):
            lowered.append({"limit": name, "wanted": value["Hard"], "granted": hard})
    return result, lowered
