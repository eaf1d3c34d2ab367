# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Benchmark records on disk, and the rules that say when one is made.

PRIVATE to the collection. A folder holds ``before.json``, ``after.json`` (or any other
label) and ``history/``, which keeps every record that was ever made.
"""

from __future__ import annotations

import json
import os
import re
import tempfile

LABEL = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")
POLICIES = ("always", "changed", "missing", "never")

# There is one state before the change, and only one chance to measure it.
WRITE_ONCE = ("before",)


def decide(label: str, policy: str, exists: bool, stack_changed: bool) -> tuple:
    """Whether to measure: ``(bool, reason)``.

    A label that is written once is never measured again, whatever the policy says.
    """
    if policy == "never":
        return False, "measuring is switched off"
    if exists and label in WRITE_ONCE:
        return False, "the record '%s' exists and is never overwritten" % label
    if policy == "always":
        return True, "asked for"
    if not exists:
        return True, "no record '%s' yet" % label
    if policy == "changed" and stack_changed:
        return True, "something changed since the last record"
    return False, "the record '%s' exists%s" % (label, " and nothing changed" if policy == "changed" else "")


def load(folder: str, label: str) -> dict | None:
    """A stored record, or None where there is none; raises ValueError for a damaged one."""
    path = os.path.join(folder, label + ".json")
    try:
        with open(path, encoding="utf-8") as handle:
            record = json.load(handle)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as exc:
        raise ValueError("found %s unreadable (%s), wanted a benchmark record; move it away to measure again" % (path, exc))
    if not isinstance(record, dict) or "schema_version" not in record:
        raise ValueError("found %s without schema_version, wanted a benchmark record" % path)
    return record


def save(folder: str, record: dict) -> list:
    """Write a record under its label and into the history; returns the paths."""
    stamp = re.sub(r"[^0-9TZ]", "", record["created_at"])
    paths = [
        os.path.join(folder, "history", "%s-%s.json" % (stamp, record["label"])),
        os.path.join(folder, record["label"] + ".json"),
    ]
    for path in paths:
        os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
        write_atomically(path, json.dumps(record, indent=2, sort_keys=True) + "\n")
    return paths


def write_atomically(path: str, text: str, mode: int = 0o644) -> None:
    """Replace a file so that a reader sees the old or the new one, never a part."""
    descriptor, temporary = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=os.path.dirname(path))
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
