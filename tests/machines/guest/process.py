"""qemu's processes: which runs where, never two at once on a machine, starting one and ending one."""
from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
from typing import Iterator

from servers.shell import MachineError, say, until

from . import image

WAIT_FOR_OTHER_SECONDS = 1200
GOING_SECONDS = 3  # of a qemu that was ended, until it has closed everything


def folder_of_guests() -> pathlib.Path:
    path = image.folder() / "guests"
    path.mkdir(exist_ok=True)
    return path


def folder_of(name: str) -> pathlib.Path:
    """Of one guest, which may not exist; everything in it goes with the guest, so no name may lead elsewhere."""
    if not re.fullmatch(r"\.?[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise MachineError(f"Found: '{name}'. Wanted: a name of letters, digits, dots and dashes.")
    return folder_of_guests() / name


def pid(folder: pathlib.Path) -> int | None:
    """Of the qemu that runs in this folder."""
    try:
        number = int((folder / "pid").read_text(encoding="utf-8"))
        here = pathlib.Path(f"/proc/{number}/cwd").resolve() == folder.resolve()
        words = pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return number if here and words.startswith(b"qemu-system-") else None


@contextlib.contextmanager
def only_guest() -> Iterator[int]:
    """Hold the lock that allows a guest. qemu inherits the descriptor, so the lock lasts as long as any qemu does."""
    with open(image.folder() / "running.lock", "w", encoding="utf-8") as handle:
        def take() -> bool:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

        if not until(take, GOING_SECONDS, pause=0.1):
            others = ", ".join(path.name for path in sorted(folder_of_guests().iterdir()) if pid(path)) or "one of another user"
            say(f"Waiting for another guest to go: {others}")
            if not until(take, WAIT_FOR_OTHER_SECONDS, pause=1):
                raise MachineError(
                    f"Found: guest {others}, still running after {WAIT_FOR_OTHER_SECONDS} s. Wanted: no other guest, for two of "
                    "them on one machine are too slow to test anything. `guest.py down NAME` removes one.")
        yield handle.fileno()


def start(folder: pathlib.Path, words: list[str], lock: int) -> None:
    """Start qemu in the guest's folder, in a session of its own, which outlives this program."""
    (folder / "pid").unlink(missing_ok=True)
    with open(folder / "qemu.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True, pass_fds=(lock,))
    until(lambda: process.poll() is not None or pid(folder) is not None, 20, pause=0.05)
    if process.poll() is not None or pid(folder) is None:
        raise MachineError(f"qemu did not start: {tail(folder / 'qemu.log')}\n  {' '.join(words)}")


def kill(folder: pathlib.Path) -> bool:
    """End qemu as a power cut ends a server. Whether there was one."""
    number = pid(folder)
    if number is None:
        return False
    os.kill(number, signal.SIGKILL)
    if not until(lambda: pid(folder) is None, 20, pause=0.05):
        raise MachineError(f"qemu (process {number}) did not end.")
    return True


def tail(path: pathlib.Path, lines: int = 15) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if path.exists() else ""


def remove(folder: pathlib.Path) -> None:
    """End the qemu of a guest and remove all that the guest is."""
    kill(folder)
    shutil.rmtree(folder, ignore_errors=True)
