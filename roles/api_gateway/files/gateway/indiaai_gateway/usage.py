# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage rows on their way from the event loop to the database: one bounded queue, one writer thread.

A request appends its row and goes on. The thread collects for a tenth of a second and writes one transaction.
When the database cannot be written, rows wait in the queue; when that is full, new rows are dropped, counted and logged.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from . import log
from .storage import StoreUnavailable, UsageRow, UsageStore

BATCH_SECONDS = 0.1
BATCH_ROWS = 500
RETRY_SECONDS = 1.0
ALARM_SECONDS = 10.0


class UsageWriter:
    """``queue_rows`` bounds the rows that wait; ``log_requests`` also prints one line a request, off the event loop."""

    def __init__(self, store: UsageStore, queue_rows: int, log_requests: bool) -> None:
        self._store = store
        self._limit = queue_rows
        self.log_requests = log_requests
        self._queue: deque[tuple[UsageRow, str]] = deque()
        self._wake = threading.Event()
        self._stopping = False
        self._alarmed_at = 0.0
        self.dropped = 0
        self.refused = 0
        self.failing = False
        self._thread = threading.Thread(target=self._run, name="usage-writer", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def add(self, row: UsageRow, key_label: str) -> None:
        """Never blocks and never fails."""
        if len(self._queue) >= self._limit:
            self.dropped += 1
            return
        self._queue.append((row, key_label))
        if not self._wake.is_set():
            self._wake.set()

    def stop(self, timeout: float = 10.0) -> None:
        """Write what is queued and end the thread."""
        self._stopping = True
        self._wake.set()
        self._thread.join(timeout)
        if self._queue or self.dropped:
            log.error("usage rows lost", unwritten=len(self._queue), dropped=self.dropped)
        self._store.close()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            if not self._stopping:
                time.sleep(BATCH_SECONDS)
            self._wake.clear()
            while self._queue:
                if not self._write_batch():
                    if self._stopping:
                        return
                    time.sleep(RETRY_SECONDS)
            if self._stopping and not self._queue:
                return

    def _write_batch(self) -> bool:
        batch = [self._queue[index] for index in range(min(BATCH_ROWS, len(self._queue)))]
        try:
            refused = self._store.write([row for row, _label in batch])
        except StoreUnavailable as exc:
            self.failing = True
            self._alarm(str(exc))
            return False
        except Exception:
            # A row the database cannot even bind would block the queue for ever.
            log.exception("usage batch not written", rows=len(batch))
            refused = len(batch)
        for _unused in batch:
            self._queue.popleft()
        if refused:
            self.refused += refused
            log.error("usage rows refused by the database", rows=refused)
        if self.failing:
            self.failing = False
            log.info("usage database is back", dropped=self.dropped)
        if self.log_requests:
            log.lines([_line(row, label) for row, label in batch])
        return True

    def _alarm(self, reason: str) -> None:
        now = time.monotonic()
        if now - self._alarmed_at >= ALARM_SECONDS:
            self._alarmed_at = now
            log.error("usage database cannot be written", reason=reason, waiting=len(self._queue), dropped=self.dropped)


def _line(row: UsageRow, key_label: str) -> dict[str, object]:
    document = row._asdict()
    document["ts"] = log.timestamp(row.ts)
    return {"event": "request", "level": "info", "key": key_label, **document}


def counts(usage: dict[str, object] | None) -> tuple[int | None, int | None, int | None, int | None]:
    """(prompt, completion, cached, reasoning) tokens of an engine's usage object; None where it says nothing."""
    if not usage:
        return None, None, None, None
    return (
        _integer(usage.get("prompt_tokens")),
        _integer(usage.get("completion_tokens")),
        _integer(_details(usage, "prompt_tokens_details").get("cached_tokens")),
        _integer(_details(usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def _details(usage: dict[str, object], name: str) -> dict[str, object]:
    value = usage.get(name)
    return value if isinstance(value, dict) else {}


def _integer(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None
