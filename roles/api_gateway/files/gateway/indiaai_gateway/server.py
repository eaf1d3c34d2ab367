# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process: sockets, signals, start and stop.

SIGTERM drains: readiness and new requests answer 503 at once, running requests finish for up to ``drain_seconds``, then
they are ended with an error event; queued usage rows are written; exit status 0. SIGHUP reloads the configuration.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import stat
import time
from pathlib import Path

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import __version__, log
from .app import Gateway
from .keyring import Keyring
from .settings import Loaded, Listen, load
from .storage import SqliteKeyStore, SqliteUsageStore
from .usage import UsageWriter

BACKLOG = 4096
SOCKET_MODE = 0o660
# nginx keeps idle connections to its upstreams for 60 s: ours must outlive that.
KEEP_ALIVE_SECONDS = 90


def serve(config_path: Path) -> int:
    """Run until told to stop. Raises ConfigError when there is no valid configuration to start with."""
    loaded = load(config_path)
    settings = loaded.settings
    log.configure(settings.log.level)
    os.umask(0o027)
    keyring = Keyring(SqliteKeyStore(settings.keys_path))
    keyring.start()
    writer = UsageWriter(SqliteUsageStore(settings.usage_path), settings.limits.usage_queue_rows, settings.log.requests)
    writer.start()
    gateway = Gateway(loaded, config_path, keyring, writer)
    try:
        with asyncio.Runner(loop_factory=_loop) as runner:
            runner.run(_main(gateway, settings.listen, loaded))
    finally:
        writer.stop()
        keyring.stop()
    log.info("stopped")
    return 0


def _loop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


def _config(gateway: Gateway, loaded: Loaded) -> uvicorn.Config:
    return uvicorn.Config(
        gateway,
        http=_protocol(loaded.settings.limits.max_header_bytes),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=5,
        backlog=BACKLOG,
    )


async def _main(gateway: Gateway, listen: Listen, loaded: Loaded) -> None:
    server = _Server(_config(gateway, loaded), gateway)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.begin_drain)
    loop.add_signal_handler(signal.SIGHUP, gateway.reload)
    await gateway.start()
    sockets, addresses = _open_sockets(listen)
    log.info(
        "serving", version=__version__, listen=addresses, models=[model.name for model in loaded.settings.models],
        digest=loaded.digest,
    )
    try:
        await server.serve(sockets=sockets)
    finally:
        await gateway.stop()


class _Server(uvicorn.Server):
    """uvicorn's server with a drain before its shutdown, and exit status 0 after a signal.

    uvicorn's own signal handling comes late and raises the signal again once it has stopped; ours is in place before
    anything is opened (as process 1 of a container, a signal without a handler would be ignored).
    """

    def __init__(self, config: uvicorn.Config, gateway: Gateway) -> None:
        super().__init__(config)
        self._gateway = gateway
        self._drain: asyncio.Task[None] | None = None

    def capture_signals(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()

    def begin_drain(self) -> None:
        if self._drain is None:
            self._gateway.begin_drain()
            self._drain = asyncio.create_task(self._drain_then_exit())

    async def _drain_then_exit(self) -> None:
        flights = self._gateway.flights
        log.info("draining", in_flight=len(flights), seconds=self._gateway.drain_seconds)
        deadline = time.monotonic() + self._gateway.drain_seconds
        while len(flights) and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        if len(flights):
            log.warning("drain time is over, ending requests", in_flight=len(flights))
            self._gateway.end_flights()
        self.should_exit = True


def _open_sockets(listen: Listen) -> tuple[list[socket.socket], list[str]]:
    sockets = []
    addresses = []
    if listen.unix_socket:
        sockets.append(_unix_socket(Path(listen.unix_socket)))
        addresses.append(f"unix:{listen.unix_socket}")
    if listen.host is not None and listen.port is not None:
        family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
        made = socket.socket(family, socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((listen.host, listen.port))
        sockets.append(_listening(made))
        addresses.append("{}:{}".format(*made.getsockname()[:2]))
    return sockets, addresses


def _unix_socket(path: Path) -> socket.socket:
    """Replace what a former process left behind. The folder's set-group-id bit decides who may connect."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        path.unlink()
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(str(path))
    os.chmod(path, SOCKET_MODE)
    return _listening(made)


def _listening(made: socket.socket) -> socket.socket:
    """From here on the kernel queues connections, so "serving" may be said before the server picks them up."""
    made.setblocking(False)
    made.listen(BACKLOG)
    return made


def _protocol(max_header_bytes: int) -> type[HttpToolsProtocol]:
    """uvicorn's httptools protocol with a limit on the head of a request, which it lacks, and errors in OpenAI's shape."""

    class Protocol(HttpToolsProtocol):
        _head_bytes = 0
        _head_open = True

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._head_bytes = 0
            self._head_open = True

        def on_headers_complete(self) -> None:
            self._head_open = False
            super().on_headers_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self._head_open:
                self._head_bytes += len(data)
                if self._head_bytes > max_header_bytes and not self.transport.is_closing():
                    self._refuse(431, "Request Header Fields Too Large", "The request headers are too large.")

        def on_message_complete(self) -> None:
            super().on_message_complete()
            # Until the next request begins there is no head to count.
            self._head_open = False

        def send_400_response(self, msg: str) -> None:
            self._refuse(400, "Bad Request", "The request is not valid HTTP.")

        def _refuse(self, status: int, reason: str, message: str) -> None:
            data = orjson.dumps(
                {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_http"}}
            )
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\nx-gateway-error: invalid_http\r\n"
                b"connection: close\r\n\r\n%s" % (status, reason.encode("ascii"), len(data), data)
            )
            self.transport.close()

    return Protocol
