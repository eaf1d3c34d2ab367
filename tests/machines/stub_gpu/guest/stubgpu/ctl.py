# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""stub-gpu-ctl: change what the stub GPUs are, from the server's shell.

    stub-gpu-ctl get [KEY]                  the whole state, or one key (gpu.N.KEY also finds what all GPUs share)
    stub-gpu-ctl set KEY VALUE              `set gpu.1.fault lost`, `set fault late:60`, `set gpu.0.busy 1`, `set fault ""`
    stub-gpu-ctl reset [PROFILE [COUNT]]    well, unlocked and idle GPUs; h200, h100, a100 or l40s, 1 to 8 of them
    stub-gpu-ctl reboot                     what a reboot does to GPUs: locks and limits are gone, "late" counts anew
    stub-gpu-ctl boot                       at the start of the server: the saved state, as after a reboot
"""
from __future__ import annotations

import os
import re
import sys
import time

from . import devices, faults, profiles, state

_KEY = re.compile(r"^(gpu\.[0-7]\.)?[a-z][a-z0-9_]*$")


class UsageError(Exception):
    """The command line makes no sense."""


def _get(values: dict, key: str) -> str:
    if key in values:
        return values[key]
    if not key.startswith("gpu."):
        raise UsageError(f"no key {key!r} in the state")
    number, name = key[4:].split(".", 1)
    return state.lookup(values, int(number), name)


def _set(key: str, value: str) -> None:
    if not _KEY.match(key) or "\n" in value:
        raise UsageError(f"not a key: {key!r}")
    wrong = faults.problem(key, value) if key.split(".")[-1] == "fault" else ""
    if wrong:
        raise UsageError(wrong)

    def edit(values: dict) -> None:
        known = key.split(".")[-1]
        if not values:
            raise state.StateError("no state of stub GPUs: `stub-gpu-ctl reset` makes one")
        if not any(name.split(".")[-1] == known for name in values) and known not in state.VOLATILE + profiles.OPTIONAL:
            raise UsageError(f"no stub GPU reads a key {known!r}")
        values[key] = value

    devices.follow(state.change(edit))


def _reset(profile: str = "", count: str = "") -> None:
    def edit(values: dict) -> None:
        wanted = profile or values.get("profile", "h200")
        number = count or values.get("count", "8")
        if wanted not in profiles.NAMES:
            raise UsageError(f"no profile {wanted!r}; there are: {', '.join(profiles.NAMES)}")
        if not number.isdigit() or not 1 <= int(number) <= profiles.MAX_GPUS:
            raise UsageError(f"not a number of GPUs from 1 to {profiles.MAX_GPUS}: {number!r}")
        kept = {key: values[key] for key in devices.KEYS + ("root_only",) if key in values}
        values.clear()
        values.update(profiles.fresh(wanted, int(number), int(time.time())), **kept)

    devices.follow(state.change(edit))


def _reboot() -> None:
    def edit(values: dict) -> None:
        left = state.without_volatile(values)
        values.clear()
        values.update(left, started=str(int(time.time())))

    devices.follow(state.change(edit))


def _boot() -> None:
    saved = state.read(state.saved_path())

    def edit(values: dict) -> None:
        values.clear()
        values.update(saved)

    state.change(edit)
    _reboot()


def run(words: list) -> None:
    """One command; UsageError or StateError says what is wrong with it."""
    command, rest = (words[0], words[1:]) if words else ("help", [])
    allowed = {"get": (0, 1), "set": (2, 2), "reset": (0, 2), "reboot": (0, 0), "boot": (0, 0)}
    if command in ("help", "-h", "--help"):
        print(__doc__)
        return
    if command not in allowed or not allowed[command][0] <= len(rest) <= allowed[command][1]:
        raise UsageError("\n" + __doc__)
    if command == "get":
        values = state.read()
        print(_get(values, rest[0]) if rest else state.render(values), end="\n" if rest else "")
    else:
        {"set": _set, "reset": _reset, "reboot": _reboot, "boot": _boot}[command](*rest)


def main() -> int:
    try:
        run(sys.argv[1:])
    except (UsageError, state.StateError, OSError) as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0
