# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Start, log, die: the process around the routes."""
from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from typing import Sequence

from .engine import Engine
from .http11 import Connection, Request
from .options import Options, parse
from .routes import Routes
from .script import ScriptError

TICK_SECONDS = 0.05


def log(text: str) -> None:
    print("stub-engine: " + text, file=sys.stderr, flush=True)


class Server:
    """The listening socket and the connections of one stub."""

    def __init__(self, options: Options):
        self._options = options
        self.engine = Engine(options)
        self._routes = Routes(self.engine)

    async def run(self) -> int:
        """Serve until SIGTERM or SIGINT; the exit status."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._asked_to_stop)
        log("THIS IS A STUB, not a model: it counts instead of answering, and no number measured with it is a result")
        log("models %s, %d at once, %s" % (", ".join(self._options.models), self._options.max_num_seqs,
                                           "with a key" if self._options.keys else "no key wanted"))
        while self.engine.process.load_silent and self.engine.loading() and not self.engine.stopping.is_set():
            await self._tick()
        if self.engine.stopping.is_set():
            return 0
        server = await loop.create_server(self._connection, self._options.host, self._options.port, backlog=1024)
        log("listening on %s port %d" % server.sockets[0].getsockname()[:2])
        while not self.engine.stopping.is_set():
            await self._tick()
        server.close()
        await self._drain()
        return 0

    def _connection(self) -> Connection:
        return Connection(self._answer, lambda: self.engine.process.keep_alive_seconds)

    async def _answer(self, connection: Connection, request: Request) -> None:
        started = time.monotonic()
        try:
            await self._routes(connection, request)
        finally:
            if request.path not in ("/health", "/metrics") and not request.path.startswith("/stub/"):
                log("%s %s %.3f s" % (request.method, request.path, time.monotonic() - started))

    def _asked_to_stop(self) -> None:
        if self.engine.process.ignore_sigterm:
            log("asked to stop; the script says to ignore it")
            return
        log("asked to stop, %d running" % self.engine.running)
        self.engine.stopping.set()

    async def _tick(self) -> None:
        self.engine.crash_when_due()
        try:
            await asyncio.wait_for(self.engine.stopping.wait(), TICK_SECONDS)
        except asyncio.TimeoutError:
            pass

    async def _drain(self) -> None:
        """Running requests get the time that the arguments give them (none by default, as with vLLM)."""
        end = time.monotonic() + self._options.shutdown_timeout
        while self.engine.running and time.monotonic() < end:
            await asyncio.sleep(TICK_SECONDS)


def main(arguments: Sequence[str]) -> int:
    try:
        options = parse(arguments, os.environ)
        return asyncio.run(_run(options))
    except (ScriptError, OSError) as error:
        log(str(error))
        return 2


async def _run(options: Options) -> int:
    status = await Server(options).run()
    # Answers still on their way are cut off here; asyncio.run would wait for their tasks to notice.
    sys.stderr.flush()
    os._exit(status)
