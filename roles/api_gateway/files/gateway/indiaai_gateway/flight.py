# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests in flight: who may end one early, and why.

A request is ended from outside (its client left, a time limit passed, the gateway stops) by cancelling its task with a
reason noted first; the task turns that into the right answer. Time limits are checked by one sweep for all requests,
so that a forwarded chunk costs one assignment and not a timer.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from . import errors

CLIENT = "client"
DRAIN = "drain"
FIRST_BYTE = "first byte"
IDLE = "idle"
TOTAL = "total"

SWEEP_SECONDS = 0.25


class Flight:
    """State of one request between its admission and its last byte. Times are of the monotonic clock."""

    __slots__ = ("task", "reason", "sealed", "started", "last", "waiting", "first_byte_limit", "idle_limit", "total_limit")

    def __init__(self, first_byte_limit: float, idle_limit: float, total_limit: float | None) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.task = task
        self.reason: str | None = None
        self.sealed = False  # nothing is left that could be ended early
        self.started = self.last = time.monotonic()
        self.waiting = True  # for the first byte
        self.first_byte_limit = first_byte_limit
        self.idle_limit = idle_limit
        self.total_limit = total_limit

    def abort(self, reason: str) -> None:
        if self.reason is None and not self.sealed:
            self.reason = reason
            self.task.cancel()

    def acknowledge(self) -> None:
        """Called by the task when it caught the cancellation that abort() sent."""
        self.task.uncancel()

    def error(self) -> errors.GatewayError:
        if self.reason == DRAIN:
            return errors.draining()
        assert self.reason is not None
        return errors.upstream_timeout(self.reason)

    def check(self, now: float) -> None:
        if self.total_limit is not None and now - self.started > self.total_limit:
            self.abort(TOTAL)
        elif self.waiting:
            if now - self.last > self.first_byte_limit:
                self.abort(FIRST_BYTE)
        elif now - self.last > self.idle_limit:
            self.abort(IDLE)


class Flights:
    """All of them, of this process."""

    def __init__(self) -> None:
        self._open: set[Flight] = set()
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def start(self) -> None:
        self._sweeper = asyncio.create_task(self._sweep())

    def stop(self) -> None:
        if self._sweeper is not None:
            self._sweeper.cancel()

    def add(self, flight: Flight) -> None:
        self._open.add(flight)

    def remove(self, flight: Flight) -> None:
        self._open.discard(flight)

    def abort_all(self, reason: str) -> None:
        for flight in list(self._open):
            flight.abort(reason)

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for flight in list(self._open):
                flight.check(now)


async def watch_client(receive: Any, flight: Flight) -> None:
    """Ends the flight when the client leaves. Must be awaited for: a server tells nobody who does not call receive()."""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            flight.abort(CLIENT)
            return
