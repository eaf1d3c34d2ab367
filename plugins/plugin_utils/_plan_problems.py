# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with an inventory, and how it is told to the person who wrote it.

A check never raises at the first fault: it returns `Problem`s, and the plan raises
one `PlanError` that lists them all, so an inventory is repaired in one go.
"""

from __future__ import annotations

import yaml


class Problem:
    """One fault: what was found, what is wanted, which variable to change.

    `entry` is the `inference_replaces` entry (dict) that would allow the plan to go
    on, for faults that come from somebody else's engine.
    """

    def __init__(self, found, wanted, change, entry=None):
        self.found = found
        self.wanted = wanted
        self.change = change
        self.entry = entry

    def __repr__(self):
        return "Problem(found={0!r}, wanted={1!r}, change={2!r})".format(self.found, self.wanted, self.change)

    def lines(self, number):
        label = "{0:>3}. ".format(number)
        return [
            "{0}found:  {1}".format(label, self.found),
            "     wanted: {0}".format(self.wanted),
            "     change: {0}".format(self.change),
        ]


class PlanError(Exception):
    """All problems of one plan. `str()` is the whole message."""

    def __init__(self, problems, replaces=None):
        self.problems = list(problems)
        self.replaces = list(replaces or [])
        super().__init__(render(self.problems, self.replaces))


def render(problems, replaces):
    """problems, the user's present `inference_replaces` -> the text of the error."""
    count = len(problems)
    lines = [
        "The serving plan has {0} {1}; nothing was changed on this host.".format(
            count, "problem" if count == 1 else "problems"
        )
    ]
    for number, problem in enumerate(problems, start=1):
        lines.extend(problem.lines(number))
    paste = replaces_block(problems, replaces)
    if paste:
        lines.extend(["", "To let this plan take over, put this in the inventory:", "", paste])
    return "\n".join(lines)


def replaces_block(problems, replaces):
    """The complete `inference_replaces` to paste: what is named already plus what is missing.

    Complete, because a second key of the same name would silently hide the first one.
    """
    missing = []
    for problem in problems:
        if problem.entry is not None and problem.entry not in missing:
            missing.append(problem.entry)
    if not missing:
        return ""
    value = {"inference_replaces": list(replaces) + missing, "inference_cutover": True}
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False, width=1000).rstrip()
