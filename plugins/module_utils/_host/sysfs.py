# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One value in one file, as the kernel has them under /sys."""

from __future__ import annotations

import os
import re

_CHOSEN = re.compile(r"\[([^\]]+)\]")


def chosen(text):
    """The value in the kernel's text: of a choice ("always [madvise] never") the one in brackets, else the text itself."""
    found = _CHOSEN.search(text)
    return found.group(1) if found else " ".join(text.split())


def choices(text):
    """Everything that a choice offers, [] when the text is none."""
    return text.replace("[", "").replace("]", "").split() if _CHOSEN.search(text) else []


def text(path):
    """Content of a file, None when it is not there or does not answer."""
    try:
        with open(path, encoding="ascii", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def read(path):
    """Value of a file, None when it is not there or does not answer."""
    found = text(path)
    return None if found is None else chosen(found)


def write(path, value):
    """Write a value in one piece. OSError from the kernel; a missing file is not made."""
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
    try:
        os.write(fd, value.encode("ascii") + b"\n")
    finally:
        os.close(fd)
