"""Running commands: one error type whose text is fit for a person, progress lines, and locks between processes."""
from __future__ import annotations

import contextlib
import fcntl
import subprocess
import sys
import time
from typing import Iterator

from . import names


class MachineError(Exception):
    """Something that the person who runs the tests can act on; the text says what was found and what is wanted."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run(arguments: list[str], *, check: bool = True, **options) -> subprocess.CompletedProcess:
    """Run quietly. A failure raises MachineError with the command and the end of what it printed."""
    done = subprocess.run(arguments, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False, **options)
    if check and done.returncode != 0:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-25:])
        raise MachineError(f"`{' '.join(arguments)}` ended with {done.returncode}:\n{tail}")
    return done


@contextlib.contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold a lock that all processes of this user share (an image is built once, not once a scenario)."""
    with open(names.cache_dir() / f"{name}.lock", "w", encoding="utf-8") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def until(condition, seconds: float, pause: float = 0.2) -> bool:
    """Call ``condition`` until it is true or the time is over; its last answer."""
    end = time.monotonic() + seconds
    while True:
        if condition():
            return True
        if time.monotonic() > end:
            return False
        time.sleep(pause)
