# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One real gateway process in front of a scripted engine, reached over its unix socket and over TCP."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_engine import FakeEngine, well_behaved
from indiaai_gateway import keyformat
from indiaai_gateway.storage import SqliteKeyStore, SqliteUsageStore

ENGINE_KEY = "engine-secret-0123456789"


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> dict[str, Any]:
        """The error object; asserts E1: exactly the four members, ``code`` a string."""
        assert self.headers["content-type"].startswith("application/json")
        found = self.json()["error"]
        assert set(found) == {"message", "type", "param", "code"}
        assert isinstance(found["code"], str) and isinstance(found["message"], str)
        return found


class GatewayProcess:
    """``python -m indiaai_gateway serve`` with its folder, its client and its command line."""

    def __init__(self, folder: Path, engine_port: int, **overrides: Any) -> None:
        self.folder = folder
        self.engine_port = engine_port
        folder.mkdir(parents=True, exist_ok=True)
        self.state = folder / "state"
        self.state.mkdir(exist_ok=True)
        self.socket = str(folder / "gateway.sock")
        self.config_path = folder / "gateway.json"
        self.log_path = folder / "log"
        (folder / "engine.key").write_text(ENGINE_KEY + "\n")
        self.config: dict[str, Any] = {
            "schema_version": 1,
            "listen": {"unix_socket": self.socket, "host": "127.0.0.1", "port": 0},
            "state_dir": str(self.state),
            "models": [
                self.model("demo"),
                self.model("named", aliases=["nick"], upstream_model="demo"),
                self.model("other"),
            ],
            "timeouts": {"first_byte_seconds": 5, "idle_seconds": 2},
            "drain_seconds": 3,
            **overrides,
        }
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.keys: dict[str, str] = {}

    def model(self, name: str, **more: Any) -> dict[str, Any]:
        return {"name": name, "url": f"http://127.0.0.1:{self.engine_port}",
                "key_file": str(self.folder / "engine.key"), **more}

    # --- process ---

    def write_config(self) -> None:
        temporary = self.config_path.with_suffix(".new")
        temporary.write_text(json.dumps(self.config))
        temporary.rename(self.config_path)

    def start(self) -> GatewayProcess:
        self.write_config()
        self.log_path.write_text("")
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "indiaai_gateway", "--config", str(self.config_path), "serve"],
                stdout=log, stderr=log,
            )
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            serving = [line for line in self.log() if line.get("event") == "serving"]
            if serving:
                address = next(item for item in serving[-1]["listen"] if not item.startswith("unix:"))
                self.port = int(address.rpartition(":")[2])
                return self
            assert self.process.poll() is None, self.log_path.read_text()
            time.sleep(0.02)
        raise AssertionError("gateway did not start: " + self.log_path.read_text())

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self, timeout: float = 15) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def log(self) -> list[dict[str, Any]]:
        lines = []
        for line in self.log_path.read_text().splitlines():
            with contextlib.suppress(ValueError):
                lines.append(json.loads(line))
        return lines

    def cli(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "indiaai_gateway", "--config", str(self.config_path), *arguments],
            capture_output=True, text=True, check=check,
        )

    def key(self, name: str = "default", models: tuple[str, ...] = ("*",)) -> str:
        """The secret of a key of this name, made at first use and known to the running gateway on return."""
        if name not in self.keys:
            secret = keyformat.generate()
            store = SqliteKeyStore(self.state / "keys.db")
            store.create(name, keyformat.digest(secret), *keyformat.display(secret), models, True, None)
            store.close()
            self.keys[name] = secret
            if self.process is not None:
                until(lambda: self.request("GET", "/v1/models", key=secret).status == 200, 3)
        return self.keys[name]

    def usage(self, request_id: str | None = None, wait: float = 3) -> list[dict[str, Any]]:
        """Rows of the database; with an id, waits for the row of that request."""
        store = SqliteUsageStore(self.state / "usage.db")
        deadline = time.monotonic() + wait
        try:
            while True:
                rows = [row._asdict() for row in store.read(0, 1_000_000)]
                found = [row for row in rows if request_id is None or row["request_id"] == request_id]
                if found or time.monotonic() > deadline:
                    return found
                time.sleep(0.02)
        finally:
            store.close()

    def row(self, answer: Answer) -> dict[str, Any]:
        rows = self.usage(answer.headers["x-request-id"])
        assert len(rows) == 1, rows
        return rows[0]

    # --- client ---

    def connect(self, tcp: bool = False, timeout: float = 10) -> http.client.HTTPConnection:
        if tcp:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        return _UnixConnection(self.socket, timeout)

    def open(
        self, method: str, path: str, document: Any = None, *, key: str | None = "", headers: dict[str, str] | None = None,
        tcp: bool = False, timeout: float = 10,
    ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        """Send a request and return with the response's head read. ``key``: "" = the default key, None = none."""
        connection = self.connect(tcp, timeout)
        sent = dict(headers or {})
        if key == "":
            key = self.key()
        if key is not None:
            sent.setdefault("Authorization", f"Bearer {key}")
        body = document if isinstance(document, (bytes, type(None))) else json.dumps(document).encode()
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        connection.request(method, path, body, sent)
        return connection, connection.getresponse()

    def request(self, method: str, path: str, document: Any = None, **options: Any) -> Answer:
        connection, response = self.open(method, path, document, **options)
        try:
            data = response.read()
        finally:
            connection.close()
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)

    def chat(self, *, stream: bool = False, model: str = "demo", path: str = "/v1/chat/completions", body: dict[str, Any] | None = None,
             **options: Any) -> Answer:
        document: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "hi"}], **(body or {})}
        if stream:
            document["stream"] = True
        return self.request("POST", path, document, **options)

    def ready(self) -> dict[str, Any]:
        return self.request("GET", "/ready", key=None).json()


def until(condition: Any, seconds: float, what: str = "condition") -> float:
    """Wait for the condition; returns how long it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"{what} not met within {seconds} s"
        time.sleep(0.01)
    return time.monotonic() - began


@pytest.fixture(scope="session")
def _engine() -> FakeEngine:
    return FakeEngine().start()  # its thread ends with the process


@pytest.fixture
def engine(_engine: FakeEngine) -> FakeEngine:
    _engine.use(well_behaved)
    return _engine


@pytest.fixture(scope="session")
def _gateway(_engine: FakeEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    _engine.use(well_behaved)
    gateway = GatewayProcess(tmp_path_factory.mktemp("gateway"), _engine.port).start()
    yield gateway
    assert gateway.stop() == 0


@pytest.fixture
def gateway(_gateway: GatewayProcess, engine: FakeEngine) -> Iterator[GatewayProcess]:
    """The shared process; a test must leave it as it found it."""
    _gateway.key()
    yield _gateway
    until(lambda: _gateway.ready()["in_flight"] == 0, 5, "in-flight gauge back to 0 (C5)")
    unexpected = [line for line in _gateway.log() if line.get("event") == "unexpected error"]
    assert not unexpected, unexpected


@pytest.fixture
def own_gateway(engine: FakeEngine, tmp_path: Path) -> Iterator[Any]:
    """Makes gateways that a test may stop, kill or break."""
    made: list[GatewayProcess] = []

    def make(**overrides: Any) -> GatewayProcess:
        gateway = GatewayProcess(tmp_path / f"gateway{len(made)}", engine.port, **overrides)
        made.append(gateway)
        return gateway.start()

    yield make
    for gateway in made:
        if gateway.process is not None and gateway.process.poll() is None:
            gateway.kill()


def in_background(function: Any) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def rss_bytes(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
