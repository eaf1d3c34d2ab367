# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state file of the stub GPUs: lines "KEY VALUE". "gpu.N.KEY" is one GPU's, "KEY" is every GPU's.

A change makes a new file under the old name while a lock beside it is held, as the library does.
"""
from __future__ import annotations

import fcntl
import os

# What a GPU forgets at a reboot, because a setter of NVML made it.
VOLATILE = ("sm_lock", "mem_lock", "power_limit_mw", "persistence")


class StateError(Exception):
    """There is no state, or it cannot be changed; the text says which file."""


def path() -> str:
    return os.environ.get("STUB_GPU_STATE") or "/run/stub-gpu/state"


def saved_path() -> str:
    """Where the state outlives a reboot of the server; nothing is saved where this folder does not exist."""
    return os.environ.get("STUB_GPU_SAVED") or "/var/lib/stub-gpu/state"


def parse(text: str) -> dict:
    pairs = (line.partition(" ")[::2] for line in text.splitlines() if line and not line.startswith("#"))
    return dict(pairs)


def render(values: dict) -> str:
    return "".join(f"{key} {value}\n" for key, value in values.items())


def read(file: str = "") -> dict:
    try:
        with open(file or path(), encoding="utf-8") as stream:
            return parse(stream.read())
    except OSError as error:
        raise StateError(f"no state of stub GPUs: {error}") from error


def change(edit) -> dict:
    """Call ``edit(values)`` on the state and write what it left there. The values afterwards."""
    os.makedirs(os.path.dirname(path()), exist_ok=True)
    with open(path() + ".lock", "a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        values = read() if os.path.exists(path()) else {}
        edit(values)
        _write(path(), render(values))
        if os.path.isdir(os.path.dirname(saved_path())):
            _write(saved_path(), render(without_volatile(values)))
    return values


def _write(file: str, text: str) -> None:
    new = f"{file}.{os.getpid()}"
    with open(new, "w", encoding="utf-8") as stream:
        stream.write(text)
        os.fchmod(stream.fileno(), 0o644)
    os.rename(new, file)


def without_volatile(values: dict) -> dict:
    """What is left after a reboot: a GPU's own volatile keys go, those of all GPUs are what a GPU starts with."""
    return {key: value for key, value in values.items()
            if not (key.startswith("gpu.") and key.split(".", 2)[2] in VOLATILE)}


def lookup(values: dict, gpu: int, key: str) -> str:
    return values.get(f"gpu.{gpu}.{key}", values.get(key, ""))
