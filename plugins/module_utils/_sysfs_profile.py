# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Transparent huge pages and CPU governor: where they are, what is wanted, and what writes them again at boot. Pure.

This file is private to the collection.
"""

from __future__ import annotations

import collections

from ansible_collections.indiaai.inference.plugins.module_utils._host import paths, sysfs, units

# systemd-tmpfiles obeys the first line for a path, so ours is read before everybody's.
PATH = "/etc/tmpfiles.d/00-indiaai-inference-kernel.conf"
UNIT_NAME = "inference-cpu-governor.service"

# offers: file beside it that lists the possible values, where the value's own file does not
Row = collections.namedtuple("Row", "name pattern value offers absent")

_THP = "/sys/kernel/mm/transparent_hugepage/"
_NO_THP = "this kernel has no transparent huge pages"
_ROWS = (
    ("transparent_hugepage", _THP + "enabled", None, _NO_THP),
    ("transparent_hugepage_defrag", _THP + "defrag", None, _NO_THP),
    ("governor", "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", "scaling_available_governors",
     "this machine does not let the system choose its clock (no cpufreq: a virtual machine, or the firmware decides)"),
)

_UNIT = """# {notice}
[Unit]
Description=CPU governor
Documentation=https://github.com/indiaai/inference
After=systemd-modules-load.service systemd-udev-trigger.service

[Service]
Type=oneshot
ExecStart=/usr/bin/systemd-tmpfiles --create --prefix=/sys/devices/system/cpu {path}

[Install]
WantedBy=multi-user.target
"""


def wanted(options):
    """Rows to bring about from the module's options; "keep" leaves one out."""
    return [Row(name, pattern, options[name], offers, absent) for name, pattern, offers, absent in _ROWS if options[name] != "keep"]


def joined(texts):
    """One text for the values of several files: each value once."""
    values = sorted({sysfs.chosen(text) for text in texts if text is not None})
    return " ".join(values) or None


def judge(row, texts, offered, theirs, writable):
    """(state, message) of a row; (None, None): to be written.

    texts: content of its files, offered: of the file that lists the possible values, theirs: what an active tuned sets.
    """
    if not texts or all(text is None for text in texts):
        return "missing", row.absent
    if theirs and theirs != row.value:
        return "shadowed", "the active tuned sets it to %s; it is left to tuned" % theirs
    if joined(texts) == row.value:
        return "ok", None
    possible = (offered or "").split() or sysfs.choices(texts[0] or "")
    if possible and row.value not in possible:
        return "missing", "there is no %s here, only %s" % (row.value, ", ".join(possible))
    if not writable:
        return "readonly", "cannot be written here (a container sees the host's value)"
    return None, None


def files(rows):
    """{path: text, None: not wanted} of what writes these rows again at boot."""
    lines = ["w %s - - - - %s\n" % (row.pattern, row.value) for row in rows]
    governor = any(row.name == "governor" for row in rows)
    return {
        PATH: "# %s\n%s" % (units.NOTICE, "".join(lines)) if lines else None,
        "%s/%s" % (paths.SYSTEMD_UNITS, UNIT_NAME): _UNIT.format(notice=units.NOTICE, path=PATH) if governor else None,
    }
