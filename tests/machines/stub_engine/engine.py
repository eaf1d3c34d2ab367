# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stub knows while it runs: its script, its life, its queue, and every request that it has seen."""
from __future__ import annotations

import asyncio
import collections
import dataclasses
import os
import time
from typing import Deque, Dict, List, Optional

from .options import Options
from .script import Answer, Process, for_process

KEPT_REQUESTS = 500
KEPT_BODY = 1 << 16


@dataclasses.dataclass
class Seen:
    """One request as ``GET /stub/requests`` shows it."""

    number: int
    path: str
    headers: Dict[str, str]
    body: str  # text, at most KEPT_BODY characters
    at_ns: int  # CLOCK_MONOTONIC
    outcome: str = "waiting"  # waiting | running | finished | cancelled | refused | the name of the fault that ended it
    status: Optional[int] = None
    events: int = 0  # token events sent
    ended_ns: Optional[int] = None


class Engine:
    """State of one stub. Nothing here knows HTTP."""

    def __init__(self, options: Options):
        self.options = options
        self.started = time.monotonic()
        self.requests: Deque[Seen] = collections.deque(maxlen=KEPT_REQUESTS)
        self.counts: Dict[str, int] = {}
        self.numbers = 0
        self.running = 0
        self.waiting = 0
        self.generated_tokens = 0
        self.prompt_tokens = 0
        self.stopping = asyncio.Event()
        self._slots = asyncio.Semaphore(options.max_num_seqs)
        self.process: Process
        self.answer: Answer
        self.put_script(options.script)

    # --- script and life

    def put_script(self, values: Dict) -> None:
        """Replace the script; its seconds count from now. ScriptError leaves the old one."""
        self.process, self.answer = for_process(values)
        self._script_at = time.monotonic()

    def _age(self) -> float:
        return time.monotonic() - self._script_at

    def loading(self) -> bool:
        return self.process.never_ready or self._age() < self.process.load_seconds

    def refusing(self) -> bool:
        return self._age() < self.process.refuse_seconds

    def hanging(self) -> bool:
        return self.process.hang_after_seconds is not None and self._age() >= self.process.hang_after_seconds

    def crash_when_due(self) -> None:
        if self.process.crash_after_seconds is not None and self._age() >= self.process.crash_after_seconds:
            self.crash()

    def crash(self) -> None:
        """End the process here and now, as a segmentation fault would: nothing is flushed, nothing is closed properly."""
        os._exit(self.process.crash_code)

    # --- requests

    def see(self, path: str, headers: Dict[str, str], body: bytes) -> Seen:
        self.numbers += 1
        seen = Seen(self.numbers, path, headers, body.decode("utf-8", "replace")[:KEPT_BODY], time.monotonic_ns())
        self.requests.append(seen)
        return seen

    def ended(self, seen: Seen, outcome: str) -> None:
        seen.outcome, seen.ended_ns = outcome, time.monotonic_ns()
        self.counts[outcome] = self.counts.get(outcome, 0) + 1

    async def enter(self) -> None:
        """Wait for a free place among the running requests."""
        self.waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self.waiting -= 1
        self.running += 1

    def leave(self) -> None:
        self.running -= 1
        self._slots.release()

    def report(self) -> Dict:
        requests: List[Dict] = [dataclasses.asdict(seen) for seen in self.requests]
        return {"stub": True, "seen": self.numbers, "running": self.running, "waiting": self.waiting, "counts": self.counts,
                "generated_tokens": self.generated_tokens, "requests": requests}

    def forget(self) -> None:
        """Start counting anew; running requests keep their places."""
        self.requests.clear()
        self.counts, self.numbers, self.generated_tokens, self.prompt_tokens = {}, 0, 0, 0

    def gauges(self) -> Dict[str, float]:
        return {"num_requests_running": self.running, "num_requests_waiting": self.waiting, "kv_cache_usage_perc": 0,
                "prompt_tokens_total": self.prompt_tokens, "generation_tokens_total": self.generated_tokens,
                "request_success_total": self.counts.get("finished", 0)}
