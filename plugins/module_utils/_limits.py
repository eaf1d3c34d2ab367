# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Open files and locked memory of logins (limits.d) and of services (systemd's defaults). Pure.

A login for which pam_limits cannot set a limit is refused, so no limit may be above what this machine can grant; and like every
ceiling of ours a limit is raised and never lowered. None stands for unlimited; locked memory is in KiB.
This file is private to the collection.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import ulimits

ITEMS = ("nofile", "memlock")
_DOMAINS = ("*", "root")


class LimitError(ValueError):
    """A limit that cannot be meant; the message names it."""


def number(text):
    """A limit as people, systemd and /proc write it -> int, None for unlimited. LimitError."""
    word = str(text).strip().lower()
    if word in ("unlimited", "infinity", "-1", "18446744073709551615"):
        return None
    if isinstance(text, bool) or not word.isdigit():
        raise LimitError("found %r, wanted is a number or unlimited" % (text,))
    return int(word)


def higher(first, second):
    """The higher of two limits."""
    return None if first is None or second is None else max(first, second)


def lower(first, second):
    """The lower of two limits."""
    return first if second is None else second if first is None else min(first, second)


def hard_limits(text):
    """Text of /proc/1/limits -> {"nofile": hard limit, "memlock": in KiB}; what it does not say is missing."""
    found = {name: None if value == ulimits.UNLIMITED else value for name, value in ulimits.hard_limits(text).items() if name in ITEMS}
    if found.get("memlock"):
        found["memlock"] //= 1024
    return found


def grantable(hard, raised, nr_open):
    """The highest limits that a login or a service can be given here -> {"nofile", "memlock"}."""
    result = {"nofile": nr_open, "memlock": None}
    if not raised:
        for item in ITEMS:
            if item in hard:
                result[item] = lower(result[item], hard[item])
    return result


def written(texts):
    """Texts of limits.conf and of other files of limits.d, in reading order -> {item: highest hard limit that they give}.

    The last line for an account wins; the highest of * and root is taken.
    """
    last = {}
    for text in texts:
        for line in text.splitlines():
            words = line.partition("#")[0].split()
            if len(words) != 4 or words[0] not in _DOMAINS or words[1] not in ("hard", "-") or words[2] not in ITEMS:
                continue
            try:
                last[words[0], words[2]] = number(words[3])
            except LimitError:
                continue
    result = {}
    for (dummy, item), value in last.items():
        result[item] = higher(result[item], value) if item in result else value
    return result


def decide(wanted, present, ceiling):
    """{item: wanted}, {item: what others give}, {item: what can be granted} -> {item: {"value", "wanted", "clamped"}}."""
    result = {}
    for item in ITEMS:
        if item not in wanted:
            continue
        target = higher(wanted[item], present[item]) if item in present else wanted[item]
        value = lower(target, ceiling[item])
        result[item] = {"value": value, "wanted": wanted[item], "clamped": lower(wanted[item], value) != wanted[item]}
    return result


def text_of(value, unlimited="unlimited"):
    """A limit as text."""
    return unlimited if value is None else str(value)


def logins(limits, notice):
    """Text of our file in limits.d. The account root needs lines of its own: * does not mean it."""
    lines = ["# " + notice]
    for item in ITEMS:
        if item in limits:
            lines += ["%s - %s %s" % (domain, item, text_of(limits[item])) for domain in _DOMAINS]
    return "\n".join(lines) + "\n"


def services(limits, soft_nofile, notice):
    """Text of our drop-in for systemd's defaults.

    The soft limit of open files stays: programs that use select() break above 1024, the others raise it themselves.
    """
    lines = ["# " + notice, "[Manager]"]
    if "nofile" in limits:
        hard = text_of(limits["nofile"], "infinity")
        soft = text_of(lower(soft_nofile, limits["nofile"]), "infinity")
        lines.append("DefaultLimitNOFILE=%s:%s" % (soft, hard))
    if "memlock" in limits:
        lines.append("DefaultLimitMEMLOCK=%s" % ("infinity" if limits["memlock"] is None else "%dK" % limits["memlock"]))
    return "\n".join(lines) + "\n"


def manager(text):
    """Output of `systemctl show --property=DefaultLimit...` -> {"nofile", "memlock", "nofile_soft"} as loaded, sizes in KiB."""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    result = {}
    for name, key in (("nofile", "DefaultLimitNOFILE"), ("nofile_soft", "DefaultLimitNOFILESoft"), ("memlock", "DefaultLimitMEMLOCK")):
        if fields.get(key):
            value = number(fields[key])
            result[name] = value // 1024 if name == "memlock" and value is not None else value
    return result
