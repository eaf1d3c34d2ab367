# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an active tuned sets by itself at every boot, so that two programs do not pull at one setting.

The readers (read(path) -> text or None, run(argv) -> (rc, stdout, stderr)) are given; nothing of tuned is imported.
This file is private to the collection.
"""

from __future__ import annotations

import configparser

ACTIVE_PROFILE = "/etc/tuned/active_profile"
# Strongest first, as tuned looks for a profile; newer versions have a folder more.
FOLDERS = ("/etc/tuned/profiles", "/etc/tuned", "/usr/lib/tuned/profiles", "/usr/lib/tuned")

CHOICES = ("hand_over", "refuse")


def active(read, run):
    """Names of the active profiles, [] where tuned is not installed, not active, or off."""
    if all(read(folder + "/tuned-main.conf") is None for folder in ("/etc/tuned", "/usr/lib/tuned")) and read(ACTIVE_PROFILE) is None:
        return []
    rc, out = run(["systemctl", "show", "--property=ActiveState,UnitFileState", "tuned.service"])[:2]
    fields = dict(line.split("=", 1) for line in out.splitlines() if "=" in line) if rc == 0 else {}
    if fields.get("ActiveState") not in ("active", "activating", "reloading") and not fields.get("UnitFileState", "").startswith("enabled"):
        return []
    text = read(ACTIVE_PROFILE)
    if text is None:
        rc, out = run(["tuned-adm", "active"])[:2]
        text = out.partition(":")[2] if rc == 0 and out.startswith("Current active profile") else ""
    return text.split()


def _load(name, read):
    """Text of a profile, None when it is nowhere."""
    for folder in FOLDERS:
        text = read("%s/%s/tuned.conf" % (folder, name))
        if text is not None:
            return text
    return None


def settings(names, read):
    """What profiles set, those they include first -> {"sysctl": {key: value}, "thp": text or None, "governor": text or None}."""
    result = {"sysctl": {}, "thp": None, "governor": None}
    for name in names:
        _merge(name, read, result, set())
    return result


def _merge(name, read, result, seen):
    if name in seen:
        return
    seen.add(name)
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",), allow_no_value=True, inline_comment_prefixes=("#",))
    parser.optionxform = str
    try:
        parser.read_string(_load(name, read) or "")
    except configparser.Error:
        return
    if parser.has_section("main"):
        for parent in (parser.get("main", "include", fallback=None) or "").replace(",", " ").replace(";", " ").split():
            _merge(parent, read, result, seen)
    for section in parser.sections():
        values = {key: " ".join((value or "").strip("\"' ").split()) for key, value in parser.items(section)}
        kind = values.get("type", section)
        if values.get("enabled", "1").lower() in ("0", "false", "no"):
            continue
        if kind == "sysctl":
            result["sysctl"].update((key, value) for key, value in values.items() if "." in key and value)
        elif kind == "vm":
            result["thp"] = values.get("transparent_hugepages") or values.get("transparent_hugepage") or result["thp"]
        elif kind == "cpu":
            result["governor"] = values.get("governor") or result["governor"]


def agrees(value, ours, satisfied):
    """Whether a value of a profile ("10", or ">2048": raised to at least that) suits beside ours. satisfied(value) judges one."""
    if value.startswith(">"):
        value = value[1:].strip()
        if value.isdigit() and ours.isdigit():
            value = str(max(int(value), int(ours)))
    try:
        return satisfied(value)
    except ValueError:
        return False
