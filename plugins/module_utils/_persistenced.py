# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drop-in that has nvidia-persistenced keep the driver loaded, whoever packaged its unit. Pure.

Ubuntu's unit starts the daemon with --no-persistence-mode, cannot be enabled and is stopped when nothing needs it; Debian's and
NVIDIA's own have the mode on. The user that the distribution runs the daemon as stays.
"""

from __future__ import annotations

_OFF, _ON = "--no-persistence-mode", "--persistence-mode"


def command(texts):
    """ExecStart that holds over unit file and drop-ins, given in the order in which systemd reads them; None without one."""
    found = None
    for text in texts:
        section = None
        for line in _lines(text):
            if line.startswith("["):
                section = line
            elif section == "[Service]" and line.partition("=")[0].strip() == "ExecStart":
                found = line.partition("=")[2].strip() or None
    return found


def _lines(text):
    """Lines without comments, continued ones joined."""
    joined = ""
    for line in text.splitlines():
        if line.lstrip().startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            joined += line[:-1] + " "
            continue
        yield (joined + line).strip()
        joined = ""


def persistent(start):
    """The command with persistence mode on; unchanged where it is not switched off."""
    words = start.split()
    if _OFF not in words:
        return start
    kept = [word for word in words if word not in (_OFF, _ON)]
    return " ".join(kept + [_ON])


def drop_in(start, stop_seconds, notice):
    """Text of the drop-in. start: command() of everything but this drop-in."""
    lines = [
        "# %s" % notice,
        "[Unit]",
        "# Nothing else may need the daemon; it is wanted for itself.",
        "StopWhenUnneeded=no",
        "",
        "[Service]",
        "# Without device nodes the daemon gives up; at boot nobody may have made them yet.",
        "ExecStartPre=-/usr/bin/nvidia-modprobe -u -c=0",
        "# Its stop has been seen to hang a reboot.",
        "TimeoutStopSec=%d" % stop_seconds,
    ]
    if start and persistent(start) != start:
        lines += ["# The empty one takes the distribution's command away; a second one would be an error.", "ExecStart=",
                  "ExecStart=%s" % persistent(start)]
    return "\n".join(lines) + "\n"
