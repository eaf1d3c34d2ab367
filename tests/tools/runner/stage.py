"""What a stage is, and how its commands run: everything they print goes to the stage's log."""
from __future__ import annotations

import dataclasses
import os
import pathlib
import signal
import subprocess
import threading
import time
from typing import Callable, TextIO

from . import environment, places


class StageFailed(Exception):
    """A command of a stage failed; the text says which. What it printed is in the log."""


class StageSkipped(Exception):
    """The stage has nothing to do on this machine; the text says why."""


@dataclasses.dataclass
class Stage:
    """One line of the final table."""

    name: str
    action: Callable[[Run], None]
    needs: str | None = None  # a path in the checkout without which the stage is 'absent'
    servers: bool = False  # needs Docker and the server images
    alone: bool = False  # nothing else runs meanwhile
    seconds: int = 1200  # ended and failed after this time
    second_core: bool = False  # runs on the other ansible-core

    def absent(self) -> bool:
        return self.needs is not None and not (places.ROOT / self.needs).exists()


@dataclasses.dataclass
class Run:
    """One running stage: its environment, its log and its deadline."""

    stage: Stage
    env: environment.Environment
    log: TextIO
    deadline: float
    stopping: threading.Event

    def command(self, *words: str, cwd: pathlib.Path = places.ROOT, variables: dict[str, str] | None = None,
                checkout: bool = True) -> None:
        """Run one command to its end; StageFailed when it fails, is late, or the whole run is being stopped."""
        self.log.write(f"\n$ {' '.join(words)}\n")
        self.log.flush()
        process = subprocess.Popen(words, cwd=cwd, env=self.env.variables(checkout) | (variables or {}),
                                   stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT, start_new_session=True)
        while process.poll() is None:
            if self.stopping.is_set() or time.monotonic() > self.deadline:
                _end(process)
                raise StageFailed("stopped" if self.stopping.is_set() else f"not done after {self.stage.seconds} s")
            try:
                process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                pass
        if process.returncode != 0:
            raise StageFailed(f"`{' '.join(words[:4])}` ended with {process.returncode}")


def _end(process: subprocess.Popen) -> None:
    """End a command and all that it started."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 5)):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=patience)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
