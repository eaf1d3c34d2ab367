# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine said before it failed, short enough to print. Pure."""

from __future__ import annotations

import re

READ_LINES = 1000  # vLLM ends with three tracebacks of 30 to 60 lines, and only the first one names the cause
_PREFIX = re.compile(r"^(?:\(\w+ pid=\d+\) )?(?:[A-Z]+ \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+\] )?")
_TRACEBACK = "Traceback (most recent call last):"


def telling(lines, limit):
    """The last `limit` lines that are not the frames of a Python traceback, none of them twice.

    A traceback's own last line, the error, stays; an error that is raised again further up stays once, where it was said first.
    """
    kept, said, inside = [], set(), False
    for line in lines:
        text = _PREFIX.sub("", line)
        if text.rstrip().endswith(_TRACEBACK):
            inside = True
            text = text.rstrip()[: -len(_TRACEBACK)]
        elif inside and (text.startswith(" ") or not text.strip()):
            continue
        else:
            inside = False
        if text.strip() and text not in said:
            said.add(text)
            kept.append(line.rstrip())
    return kept[-limit:]
