# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Closed-loop load: N users, each sends its next request when its last is answered.

PRIVATE to the collection. Everything runs in one asyncio loop and ends at a deadline.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import time

from ansible_collections.indiaai.inference.plugins.module_utils import _bench
from ansible_collections.indiaai.inference.plugins.module_utils._bench_http import Connection, ProtocolError
from ansible_collections.indiaai.inference.plugins.module_utils._bench_stream import error_text

CONNECT_SECONDS = 10.0


class Shape:
    """What every request of a run has in common.

    api -- a class of _bench_stream.APIS; prompts -- a PromptMaker; request_seconds -- the
    longest that one answer may take before it counts as a timeout.
    """

    def __init__(self, api, model: str, max_tokens: int, seed: int, ignore_eos: bool, prompts,
                 request_seconds: float) -> None:
        self.api = api
        self.model = model
        self.max_tokens = max_tokens
        self.seed = seed
        self.ignore_eos = ignore_eos
        self.prompts = prompts
        self.request_seconds = request_seconds

    def body(self) -> bytes:
        """A fresh request body, with a prompt that was not used before."""
        document = self.api.body(self.model, self.prompts.next(), self.max_tokens, self.seed, self.ignore_eos)
        return json.dumps(document).encode("utf-8")


class User:
    """One user: a connection that is kept, and one request at a time.

    The time of a request starts before its connection is opened, where that is needed:
    somebody who waits for a handshake waits for the first token too.
    """

    def __init__(self, target, shape: Shape) -> None:
        self._target = target
        self._shape = shape
        self._connection = None

    async def ask(self, deadline: float) -> _bench.Outcome:
        """Send one request and watch its answer; never raises for what a server does."""
        shape = self._shape
        request = self._target.request("POST", shape.api.path, shape.body())
        outcome = _bench.Outcome(time.perf_counter())
        limit = outcome.start + shape.request_seconds
        try:
            await asyncio.wait_for(self._exchange(request, outcome), max(0.001, min(limit, deadline) - outcome.start))
        except (asyncio.TimeoutError, TimeoutError):
            self.close()
            outcome.end = time.perf_counter()
            if deadline <= limit:
                outcome.cut = True
            else:
                outcome.error = "timeout"
                outcome.detail = "no whole answer in %g s" % shape.request_seconds
        return outcome

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _exchange(self, request: bytes, outcome: _bench.Outcome) -> None:
        for attempt in (1, 2):
            reused = self._connection is not None and self._connection.open
            reading = self._shape.api.reading(outcome)
            try:
                if not reused:
                    self._connection = await Connection.connect(self._target, CONNECT_SECONDS)
            except (asyncio.TimeoutError, TimeoutError):
                return self._failed(outcome, "connect", "no connection in %g s" % CONNECT_SECONDS)
            except ssl.SSLError as exc:
                return self._failed(outcome, "tls", exc)
            except OSError as exc:
                return self._failed(outcome, "connect", exc)
            connection = self._connection
            try:
                now = await connection.exchange(request, reading.feed)
            except ProtocolError as exc:
                return self._failed(outcome, "protocol", exc)
            except OSError as exc:
                if reused and attempt == 1 and not connection.first_byte_seen:
                    # The server closed an idle connection just as it was used again.
                    continue
                kind = "truncated" if connection.reader.has_head and connection.reader.status == 200 else "reset"
                return self._failed(outcome, outcome.error or kind, outcome.detail or exc)
            status = connection.reader.status
            if not 200 <= status < 300:
                return self._failed(outcome, "http_%d" % status, _error_of(connection.error_body))
            reading.finish(now)
            return None
        return None

    def _failed(self, outcome: _bench.Outcome, kind: str, detail) -> None:
        outcome.end = time.perf_counter()
        outcome.error = kind
        outcome.detail = str(detail)[:500]
        if self._connection is not None and kind in ("connect", "tls", "protocol", "truncated", "reset"):
            self.close()


async def run_level(target, shape: Shape, concurrency: int, requests: int, deadline: float) -> tuple:
    """Run one level: ``(outcomes, started, ended)``.

    No request is started that is not likely to be answered before ``deadline``; what is
    still open then is cut and marked so. The level ends with its last whole answer: the
    time in which only requests ran that were cut brought tokens that nobody counted.
    """
    outcomes = []
    state = {"left": requests, "longest": 0.0}
    users = [User(target, shape) for dummy in range(concurrency)]
    started = time.perf_counter()

    async def loop(user: User) -> None:
        while state["left"] > 0 and time.perf_counter() + state["longest"] < deadline:
            state["left"] -= 1
            outcome = await user.ask(deadline)
            outcomes.append(outcome)
            if outcome.error is None:
                state["longest"] = max(state["longest"], outcome.end - outcome.start)
        user.close()

    await asyncio.gather(*[loop(user) for user in users])
    ended = max([outcome.end for outcome in outcomes if not outcome.cut] or [time.perf_counter()])
    return outcomes, started, ended


async def run_pairs(first, second, pairs: int, deadline: float) -> tuple:
    """Alternate single requests between two users: ``(outcomes_first, outcomes_second)``.

    The order changes with every pair, so that neither always follows the other. One
    request to each, which opens its connection, is sent before and not counted.
    """
    results = ([], [])
    users = (first, second)
    for user in users:
        await user.ask(deadline)
    for pair in range(pairs):
        outcomes = {}
        for which in ((0, 1) if pair % 2 == 0 else (1, 0)):
            outcomes[which] = await users[which].ask(deadline)
        if any(outcome.cut for outcome in outcomes.values()):
            break
        for which in (0, 1):
            results[which].append(outcomes[which])
    for user in users:
        user.close()
    return results


def _error_of(body: bytes) -> str:
    try:
        document = json.loads(body)
    except ValueError:
        return body[:500].decode("utf-8", "replace")
    return error_text(document) if isinstance(document, dict) else str(document)[:500]
