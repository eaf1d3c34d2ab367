# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""For tests: a stub on a free port of this machine, as a context manager.

    with StubEngine("--api-key", "k", script={"first_token_seconds": 0.1}) as stub:
        urllib.request.urlopen(stub.url + "/health")
        assert stub.requests()["counts"] == {"cancelled": 1}
"""
from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from typing import Any, Dict, Optional

START_SECONDS = 20


class StubEngine:
    """The stub as a child process. ``arguments`` are vLLM's; host and port are chosen here."""

    def __init__(self, *arguments: str, script: Optional[Dict] = None, environment: Optional[Dict[str, str]] = None,
                 model: str = "stub", python: str = sys.executable, wait: bool = True):
        self._arguments = list(arguments)
        self._script = script or {}
        self._environment = environment or {}
        self._python = python
        self._wait = wait
        self.model = model
        self.port = 0
        self.process: Optional[subprocess.Popen] = None

    @property
    def url(self) -> str:
        return "http://127.0.0.1:%d" % self.port

    def __enter__(self) -> "StubEngine":
        self._log = tempfile.TemporaryFile(mode="w+", encoding="utf-8")
        environment = {**os.environ, "STUB_SCRIPT": json.dumps(self._script), **self._environment}
        command = [self._python, str(pathlib.Path(__file__).resolve().parent), "--host", "127.0.0.1", "--port", "0",
                   "--served-model-name", self.model, *self._arguments]
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)
        if self._wait:
            self.wait_listening()
        return self

    def wait_listening(self) -> None:
        """Return when the port is open (which with ``load_seconds`` says nothing about /health)."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            for line in self.log().splitlines():
                if " listening on " in line:
                    self.port = int(line.rsplit(" ", 1)[1])
                    return
            time.sleep(0.01)  # a condition is polled, nothing is guessed
        raise RuntimeError("the stub did not start:\n" + self.log())

    def log(self) -> str:
        # pread: the child shares the file's position
        return os.pread(self._log.fileno(), 1 << 20, 0).decode("utf-8", "replace")

    def __exit__(self, *_exception: Any) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._log.close()

    def stop(self) -> int:
        """SIGTERM; the exit status."""
        self.process.terminate()
        return self.process.wait(START_SECONDS)

    # --- control

    def _call(self, method: str, path: str, body: Optional[Dict] = None) -> Dict:
        data = json.dumps(body).encode() if body is not None else None
        with urllib.request.urlopen(urllib.request.Request(self.url + path, data, method=method), timeout=10) as answer:
            return json.load(answer)

    def put_script(self, **values: Any) -> None:
        self._call("PUT", "/stub/script", values)

    def requests(self) -> Dict:
        """What the stub has seen: seen, running, waiting, counts by outcome, requests."""
        return self._call("GET", "/stub/requests")

    def forget(self) -> None:
        self._call("DELETE", "/stub/requests")

    def wait_for(self, condition, seconds: float = 10) -> Dict:
        """The report as soon as ``condition(report)`` holds; AssertionError with the last one when it does not in time."""
        end = time.monotonic() + seconds
        while True:
            report = self.requests()
            if condition(report):
                return report
            assert time.monotonic() < end, report
            time.sleep(0.02)  # a condition is polled, nothing is guessed
