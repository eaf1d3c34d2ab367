# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stub GPUs for a test on this machine: a state of its own, and the environment that leads programs to it."""
from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
from unittest import mock

from . import build
from .guest.stubgpu import ctl, state

BIN = build.HERE / "guest" / "bin"


class StubGpu:
    """``with StubGpu("h200", 8) as gpu: gpu.set("gpu.1.fault", "lost"); subprocess.run(..., env=gpu.environment())``

    The library must be loaded by a process that was started with this environment: the loader reads it at the start.
    """

    def __init__(self, profile: str = "h200", count: int = 8):
        self._folder = tempfile.TemporaryDirectory(prefix="stub-gpu-")  # pylint: disable=consider-using-with
        self.folder = pathlib.Path(self._folder.name)
        self.state_file = self.folder / "state"
        self._library = build.ensure()
        self.control("reset", profile, str(count))
        self.set("root_only", "0")  # these GPUs belong to whoever runs the tests

    def __enter__(self) -> StubGpu:
        return self

    def __exit__(self, *unused) -> None:
        self._folder.cleanup()

    def environment(self, library: bool = True) -> dict:
        """os.environ with the stub's state, its programs first on PATH, and its library or none that can be loaded."""
        added = {"STUB_GPU_STATE": str(self.state_file), "STUB_GPU_SAVED": str(self.folder / "nowhere" / "state"),
                 "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', os.defpath)}", "PYTHONDONTWRITEBYTECODE": "1"}
        added["LD_LIBRARY_PATH"] = str(self._library if library else self._no_library())
        return {**os.environ, **added}

    def _no_library(self) -> pathlib.Path:
        """A folder that hides this machine's own library behind a file that is none."""
        folder = self.folder / "no-library"
        folder.mkdir(exist_ok=True)
        (folder / build.SONAME).touch()
        return folder

    def control(self, *words: str) -> None:
        """What stub-gpu-ctl does; its errors are raised."""
        with self._here():
            ctl.run(list(words))

    def _here(self):
        return mock.patch.dict(os.environ, self.environment())

    def set(self, key: str, value: str) -> None:
        self.control("set", key, value)

    def state(self) -> dict:
        return state.read(str(self.state_file))

    def edit(self, values: dict) -> None:
        """Put keys into the state as they are, without what stub-gpu-ctl checks and does beside."""
        with self._here():
            state.change(lambda found: found.update(values))

    def smi(self, *words: str, library: bool = True, timeout: float = 30) -> subprocess.CompletedProcess:
        """Run nvidia-smi."""
        return self.run([str(BIN / "nvidia-smi"), *words], library=library, timeout=timeout)

    def python(self, program: str, *words: str) -> str:
        """Run a program with this Python and its packages (pynvml); what it printed. An error in it is raised."""
        return self.run([sys.executable, "-c", program, *words], check=True).stdout

    def run(self, command: list[str], *, library: bool = True, check: bool = False,
            timeout: float = 30) -> subprocess.CompletedProcess:
        done = subprocess.run(command, env=self.environment(library), text=True, capture_output=True, check=False, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done
