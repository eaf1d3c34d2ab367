# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each kernel setting should become, who else sets it, and the text of the one file that holds them. Pure.

Texts and values in, decisions out; /proc/sys is the module's business. This file is private to the collection.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl_keys

STATES = ("ok", "applied", "shadowed", "clamped", "missing", "readonly")
GOOD_STATES = ("ok", "applied")

# Where settings come from, strongest folder first: a file hides those of the same name in later folders.
FOLDERS = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")
LAST_FILE = "/etc/sysctl.conf"

_NAME = re.compile(r"[a-z0-9_][A-Za-z0-9_./-]*\Z")


class SysctlError(ValueError):
    """A setting that cannot be meant; the message names it."""


def normal(value):
    """One spelling for a value: the kernel prints tabs, people write spaces.

    >>> normal("4096\\t131072 \\t6291456\\n")
    '4096 131072 6291456'
    """
    return " ".join(str(value).split())


def path(name, root="/proc/sys"):
    """net.ipv4.conf.eth0/1.x -> /proc/sys/net/ipv4/conf/eth0.1/x"""
    return posixpath.join(root, name.translate(str.maketrans("./", "/.")))


def canonical(name):
    """The dotted spelling of a key that may be written with slashes, as sysctl.d(5) reads it."""
    dot, slash = name.find("."), name.find("/")
    if slash >= 0 and (dot < 0 or slash < dot):
        return name.translate(str.maketrans("./", "/."))
    return name


def wanted(groups, settings, reserved_ports, memory_kib=0):
    """Rows of the switched-on groups, changed by the user's list -> list of Key in file order.

    settings: [{"name", "value", "state": present|absent}], later entries win. memory_kib: of this machine, for the values that
    are computed from it. SysctlError names what cannot be meant.
    """
    rows = {}
    for group in groups:
        if group not in _sysctl_keys.GROUPS:
            raise SysctlError("unknown group %s; known are %s" % (group, ", ".join(sorted(_sysctl_keys.GROUPS))))
        rows.update((row.name, _computed(row, memory_kib)) for row in _sysctl_keys.GROUPS[group])
    if reserved_ports:
        rows[_sysctl_keys.RESERVED_PORTS] = _sysctl_keys.Key(
            _sysctl_keys.RESERVED_PORTS, format_ports(reserved_ports), "ports", "namespace", None, None,
            _sysctl_keys.RESERVED_PORTS_REASON)
    given = set()
    for item in settings:
        name = canonical(str(item["name"]))
        if (item.get("state") or "present") == "absent":
            rows.pop(name, None)
            given.discard(name)
            continue
        rows[name] = _from_user(name, item.get("value"), rows.get(name))
        given.add(name)
    _one_of_each_pair(rows, given)
    return list(rows.values())


def _computed(row, memory_kib):
    compute = _sysctl_keys.COMPUTED.get(row.name)
    return row._replace(value=str(compute(memory_kib))) if compute else row


def _one_of_each_pair(rows, given):
    """The kernel keeps one key of a pair: the user's choice takes the other one of the group out."""
    for name in sorted(given):
        other = _sysctl_keys.PAIRS.get(name)
        if other in given:
            raise SysctlError("%s and %s are two ways to say one thing, the kernel keeps the last one; give one of them" % (name, other))
        rows.pop(other, None)


def _from_user(name, value, known):
    if not _NAME.match(name):
        raise SysctlError("%r is not the name of a kernel setting; wanted is one like net.core.somaxconn" % name)
    if name in _sysctl_keys.REFUSED:
        raise SysctlError("%s is not set by this role: %s" % (name, _sysctl_keys.REFUSED[name]))
    if isinstance(value, bool) or value is None or not normal(value) or not isinstance(value, (int, float, str)):
        raise SysctlError("%s: found %r, wanted is a number or a text; write 1 or 0 for on or off" % (name, value))
    if isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no", "on", "off"):
        raise SysctlError("%s: found %r, wanted is a number or a text; write 1 or 0 for on or off" % (name, value))
    if normal(value) == "0" and name.endswith("_bytes") and name in _sysctl_keys.PAIRS:
        raise SysctlError("%s: found 0, which the kernel refuses; set %s instead" % (name, _sysctl_keys.PAIRS[name]))
    base = known or _sysctl_keys.Key(name, None, "exact", "global", None, None, None)
    return base._replace(value=normal(value), mode="exact", article=None, reason="set in kernel_tuning_settings")


def memory_kib(meminfo):
    """Text of /proc/meminfo -> memory of the machine in KiB, 0 when it does not say."""
    return meminfo_numbers(meminfo).get("MemTotal", 0)


def meminfo_numbers(text):
    """Text of /proc/meminfo -> {name: number}; sizes are in KiB."""
    numbers = {}
    for line in text.splitlines():
        name, dummy, rest = line.partition(":")
        words = rest.split()
        if words and words[0].isdigit():
            numbers[name.strip()] = int(words[0])
    return numbers


def hugepages(meminfo):
    """Explicit huge pages from /proc/meminfo -> {"total", "free", "page_kib", "reserved_mib", "unused_mib"}.

    What is reserved is missing from the memory of everybody who does not ask for huge pages.
    """
    numbers = meminfo_numbers(meminfo)
    total, free, size = (numbers.get(name, 0) for name in ("HugePages_Total", "HugePages_Free", "Hugepagesize"))
    return {"total": total, "free": free, "page_kib": size, "reserved_mib": total * size // 1024, "unused_mib": free * size // 1024}


def parse_ports(text):
    """"1000,2000-2002" -> {1000, 2000, 2001, 2002}; SysctlError for anything else."""
    ports = set()
    for part in normal(text).replace(" ", ",").split(","):
        if not part:
            continue
        first, dummy, last = part.partition("-")
        if not first.isdigit() or (last and not last.isdigit()):
            raise SysctlError("%r is not a list of ports" % text)
        ports.update(range(int(first), int(last or first) + 1))
    return ports


def format_ports(ports):
    """The kernel's own spelling of a set of ports: sorted, neighbours joined.

    >>> format_ports([30001, 9000, 30000])
    '9000,30000-30001'
    """
    parts = []
    for port in sorted(set(int(port) for port in ports)):
        if parts and port == parts[-1][1] + 1:
            parts[-1][1] = port
        else:
            parts.append([port, port])
    return ",".join(str(a) if a == b else "%d-%d" % (a, b) for a, b in parts)


def target(row, current):
    """The value to write, given what is there (None: unknown). Never lower for the at_least modes."""
    value = normal(row.value)
    if current is None:
        return value
    if row.mode == "at_least":
        return str(max(int(value), int(normal(current))))
    if row.mode == "at_least_fields":
        here = [int(part) for part in normal(current).split()]
        want = [int(part) for part in value.split()]
        return " ".join(str(max(pair)) for pair in zip(want, here)) if len(here) == len(want) else value
    if row.mode == "ports":
        return format_ports(parse_ports(current) | parse_ports(value))
    return value


def satisfied(row, current):
    """Whether what is there is what is wanted."""
    return current is not None and normal(current) == target(row, current)


def settled(row, wanted, own, others):
    """The value that our file keeps for a setting that holds -> text.

    What the kernel adds by itself at each boot is not chased, else the second run would change the file. A higher value that
    another file wants is.

    own: the value in our file, None when it has none. others: values in all other files.
    """
    if row.mode != "at_least" or row.name not in _sysctl_keys.RAISED_BY_KERNEL or not (own or "").isdigit():
        return wanted
    if int(own) < int(row.value) or any(value.isdigit() and int(value) > int(own) for value in others):
        return wanted
    return own


def parse_conf(text):
    """Lines of a sysctl.d file -> [(canonical key or glob, value)] in order; comments, `-` prefixes and junk left out."""
    result = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;" or "=" not in line:
            continue
        name, dummy, value = line.partition("=")
        name = name.strip()
        if name.startswith("-"):
            name = name[1:].strip()
        if name:
            result.append((canonical(name), normal(value)))
    return result


def reading_order(paths):
    """Paths of sysctl.d files -> the files that count, in the order in which they are read.

    The same name in a stronger folder hides the others; /etc/sysctl.conf comes last, as `sysctl --system` reads it.
    """
    chosen = {}
    for name in paths:
        folder, base = posixpath.split(name)
        if name == LAST_FILE or folder not in FOLDERS or not base.endswith(".conf"):
            continue
        rank = FOLDERS.index(folder)
        if base not in chosen or rank < chosen[base][0]:
            chosen[base] = (rank, name)
    ordered = [chosen[base][1] for base in sorted(chosen)]
    return ordered + ([LAST_FILE] if LAST_FILE in paths else [])


def shadows(row, value, later):
    """Who sets the key after our file, to something else -> (file, value) or None.

    later: [(path, text)] read after ours. A definition that satisfies the row (a higher ceiling) shadows nothing; the other
    key of a pair, set to something, makes ours 0.
    """
    found = None
    pair = _sysctl_keys.PAIRS.get(row.name)
    for name, text in later:
        for key, other in parse_conf(text):
            if key == row.name or (any(mark in key for mark in "*?[") and fnmatch.fnmatchcase(row.name, key)):
                found = (name, other)
            elif key == pair and other != "0":
                found = (name, "0 (by %s = %s)" % (key, other))
    if found is None or found[1] == value:
        return None
    try:
        return None if row.mode != "exact" and satisfied(row, found[1]) else found
    except ValueError:
        return found


_MADE = "# the kernel makes %s of it"
_REFUSED = "refused by the kernel"


def made_note(value):
    """What stands above a line whose value the kernel changes."""
    return _MADE[2:] % value


def refused_note():
    """What stands before a line that the kernel refuses."""
    return _REFUSED


def remembered(text):
    """Text of our file -> {key: (value written, what the kernel made of it; None: refused)} of what did not come out as wanted."""
    result, made = {}, None
    for line in text.splitlines():
        match = re.match(re.escape(_MADE).replace("%s", "(.*)") + r"\Z", line)
        if match:
            made = match.group(1)
            continue
        if line.startswith("# %s: " % _REFUSED):
            for name, value in parse_conf(line.partition(": ")[2]):
                result[name] = (value, None)
        elif made is not None:
            for name, value in parse_conf(line):
                result[name] = (value, made)
        made = None
    return result


def render(items, header):
    """Text of our file. items: [(Key, value or None, note or None)].

    The note stands above a value; without a value the key stands in a comment after its note, so that no boot can fail on it.
    """
    lines = ["# " + line if line else "#" for line in header.splitlines()]
    for row, value, note in items:
        lines.append("")
        if row.reason:
            lines.append("# " + row.reason)
        if value is None:
            lines.append("# %s: %s = %s" % (note, row.name, normal(row.value)))
        else:
            if note:
                lines.append("# " + note)
            lines.append("%s = %s" % (row.name, value))
    return "\n".join(lines) + "\n"


# What a container on a bridge network has of a setting, by scope; one on the host's network has all of them.
_REACH = (
    ("global", "one value for the machine, containers included"),
    ("follows", "containers see the host's value and cannot change it"),
    ("inherited", "a container takes the host's value when it is made; one that runs keeps what it has"),
    ("namespace", "containers on bridge networks keep the kernel's default; set it with the container's own sysctls"),
)


def containers(rows):
    """Which settings reach containers -> [{"scope", "meaning", "settings": [name]}] of the scopes that occur."""
    result = []
    for scope, meaning in _REACH:
        names = [row.name for row in rows if row.scope == scope]
        if names:
            result.append({"scope": scope, "meaning": meaning, "settings": names})
    return result


def summary(keys):
    """[{"name", "state"}] -> {"ok": n, ...}, only the states that occur."""
    counts = {}
    for item in keys:
        counts[item["state"]] = counts.get(item["state"], 0) + 1
    return counts
