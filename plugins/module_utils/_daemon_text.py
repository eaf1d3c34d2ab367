# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of daemon.json: read strictly, changed only where a value changes.

Pure. What is not ours is not even reformatted: foreign keys keep their bytes, their order and the lines around them.
This file is private to the collection.
"""

from __future__ import annotations

import json
import re

from ansible_collections.indiaai.inference.plugins.module_utils._daemon_keys import same

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


class DaemonConfigError(ValueError):
    """The file cannot be used as it is; the message says where, what was found and what to do."""


def decode(data, path):
    """Bytes of the file -> text. DaemonConfigError when they are no UTF-8."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as exc:
        raise DaemonConfigError(
            "{0} is not valid JSON: byte {1} is no UTF-8. Nothing was written and Docker was left as it runs. Repair the file "
            "and run again.".format(path, exc.start)) from exc


def parse(text, path="/etc/docker/daemon.json"):
    """Text of daemon.json -> dict with the order of the file kept.

    A missing file is passed as None and, like an empty one, means no settings. Anything that is not exactly one JSON
    object raises DaemonConfigError with line and column.
    """
    if text is None or not text.strip():
        return {}
    duplicates, constants = [], []

    def pairs(items):
        seen = {}
        for key, value in items:
            if key in seen:
                duplicates.append(key)
            seen[key] = value
        return seen

    try:
        data = json.loads(text, object_pairs_hook=pairs, parse_constant=constants.append)
    except json.JSONDecodeError as exc:
        hint = "a second JSON document follows the first one" if exc.msg == "Extra data" else exc.msg
        raise DaemonConfigError(
            "{0} is not valid JSON: line {1}, column {2}: {3}. Nothing was written and Docker was left as it runs. "
            "Repair the file (or move it away to start without settings) and run again.".format(
                path, exc.lineno, exc.colno, hint)) from exc
    except RecursionError as exc:
        raise DaemonConfigError("{0} is nested too deeply. Nothing was written. Repair the file and run again.".format(path)) from exc
    if constants:
        raise DaemonConfigError(
            "{0} is not valid JSON: {1} is no value that JSON has. Nothing was written. Repair the file and run again.".format(
                path, constants[0]))
    if not isinstance(data, dict):
        raise DaemonConfigError(
            "{0} holds a JSON {1}, wanted is one object {{...}}. Nothing was written. Repair the file and run again."
            .format(path, type(data).__name__))
    if duplicates:
        raise DaemonConfigError(
            "{0} names {1} more than once; which one counts cannot be kept in a rewrite. Nothing was written. "
            "Leave one of them and run again.".format(path, ", ".join(sorted(set(duplicates)))))
    return data


def render(config):
    """Text of a new file, four spaces as nvidia-ctk and Docker's own examples write it."""
    return json.dumps(config, indent=4, ensure_ascii=False) + "\n"


def rewrite(text, wanted):
    """Text of the file with the values of `wanted`, which has all keys of the text and perhaps more.

    >>> rewrite('{"debug":  false, "x": 1.50}', {"debug": True, "x": 1.5, "live-restore": True})
    '{"debug":  true, "x": 1.50, "live-restore": true}'
    """
    if not parse(text):
        return render(wanted)
    result = text
    # Last place first: the places before it stay where they are.
    for start, end, new in sorted(_edits(text, _SPACE.match(text).end(), wanted, 1), reverse=True):
        result = result[:start] + new + result[end:]
    # A value that went, for one, is not expressed by edits.
    return result if same(parse(result), wanted) else render(wanted)


def _edits(text, start, wanted, depth):
    """Changes of the object that begins at start -> [(from, to, new text)]."""
    members = _members(text, start)
    gap = text[start + 1:members[0][1]]
    lead = gap[gap.rindex("\n") + 1:] if "\n" in gap else None
    edits = []
    for key, ignored, value_start, value_end in members:
        value = _DECODER.raw_decode(text, value_start)[0]
        if key not in wanted or same(value, wanted[key]):
            continue
        if value and isinstance(value, dict) and isinstance(wanted[key], dict):
            edits += _edits(text, value_start, wanted[key], depth + 1)
        else:
            edits.append((value_start, value_end, _value(wanted[key], lead, depth)))
    known = {member[0] for member in members}
    added = [
        (", " if lead is None else ",\n" + lead) + json.dumps(key, ensure_ascii=False) + ": " + _value(value, lead, depth)
        for key, value in wanted.items() if key not in known
    ]
    if added:
        end = members[-1][3]
        edits.append((end, end, "".join(added)))
    return edits


def _value(value, lead, depth):
    """A new value, indented as the text around it; lead: what its line begins with, None in an object of one line."""
    if lead is None:
        return json.dumps(value, ensure_ascii=False)
    unit = lead[:len(lead) // depth] or "    "
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", "\n" + lead)


def _members(text, start):
    """[(key, start of the key, start of its value, end of its value)] of the object at start; the text is valid JSON."""
    found = []
    position = _SPACE.match(text, start + 1).end()
    while text[position] != "}":
        key, after_key = _DECODER.raw_decode(text, position)
        value_start = _SPACE.match(text, _SPACE.match(text, after_key).end() + 1).end()
        value_end = _DECODER.raw_decode(text, value_start)[1]
        found.append((key, position, value_start, value_end))
        position = _SPACE.match(text, value_end).end()
        if text[position] == ",":
            position = _SPACE.match(text, position + 1).end()
    return found
