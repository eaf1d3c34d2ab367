# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the NVIDIA kernel module: the file that sets them, and whether the loaded module has them. Pure."""

from __future__ import annotations

import re

PREFIX = "NVreg_"
HEADER = """# Options of the NVIDIA kernel module (Ansible, indiaai.inference.gpu_driver_options).
# Changes here are overwritten; use gpu_clocks_driver_options in the inventory.
"""

_NAME = re.compile(r"NVreg_[A-Za-z0-9]+\Z")
_LINE = re.compile(r"^\s*options\s+nvidia\s+(.*)$", re.MULTILINE)

_ZEROING = "InitializeSystemMemoryAllocations"


def check(options):
    """Problems of {name: value} -> [text]."""
    problems = []
    for name, value in sorted(options.items()):
        if not _NAME.match(name):
            problems.append("%s: wanted a name such as NVreg_EnableStreamMemOPs" % name)
        elif isinstance(value, bool):
            problems.append("%s: found %s, wanted a number or a text; write 1 or 0" % (name, str(value).lower()))
        elif not isinstance(value, (int, str)) or re.search(r"[\s\"#]", str(value)) or value == "":
            problems.append("%s: found %r, wanted a number or a text without blanks" % (name, value))
    return problems


def warnings(options):
    """What a person has to know about the choice -> [text]."""
    if str(options.get(PREFIX + _ZEROING, "1")) == "0":
        return ["%s%s is 0: memory of the host is handed to programs with what was in it before. That is for hosts with a single, "
                "trusted user" % (PREFIX, _ZEROING)]
    return []


def text(options):
    """Content of the file, None without options."""
    if not options:
        return None
    return HEADER + "options nvidia %s\n" % " ".join("%s=%s" % (name, value) for name, value in sorted(options.items()))


def params(content):
    """/proc/driver/nvidia/params -> {name without prefix: value as text}."""
    found = {}
    for line in content.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found[name.strip()] = value.strip().strip('"')
    return found


def _same(wanted, running):
    try:
        return int(str(wanted), 0) % 2 ** 32 == int(running, 0) % 2 ** 32  # the driver prints -1 as 4294967295
    except ValueError:
        return str(wanted) == running


def compare(options, running):
    """Each option against the loaded module -> [{"name", "wanted", "running", "state"}].

    running: params(), None when the module is not loaded. state: ok, reboot_required (loaded with another value), not_loaded
    (it takes the value when it is loaded), unknown (this driver has no such option).
    """
    rows = []
    for name, wanted in sorted(options.items()):
        value = None if running is None else running.get(name[len(PREFIX):])
        if running is None:
            state = "not_loaded"
        elif value is None:
            state = "unknown"
        else:
            state = "ok" if _same(wanted, value) else "reboot_required"
        rows.append({"name": name, "wanted": str(wanted), "running": value, "state": state})
    return rows


def dropped(before, options):
    """Names that the file set and does not set any more: they hold until the next boot."""
    names = {part.partition("=")[0] for line in _LINE.findall(before or "") for part in line.split()}
    return sorted(names - set(options))


def set_elsewhere(options, files):
    """Options that another file of modprobe.d sets too -> [(path, name)]. files: [(path, text)]."""
    found = []
    for path, content in files:
        names = {part.partition("=")[0] for line in _LINE.findall(content) for part in line.split()}
        found += [(path, name) for name in sorted(names & set(options))]
    return found
