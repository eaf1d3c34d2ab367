# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forwarding of server-sent events: the bytes pass unchanged, and what they report is noted on the way.

Works on bytes and on whole events; a chunk that ends an event and mentions none of the few words that
matter is passed on untouched, which is nearly every chunk of a stream. An event that is larger than the cap is
forwarded piece by piece and not looked into.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

# A blank line ends an event. Line ends are "\n" or "\r\n"; a lone "\r" is not used by any engine.
_BOUNDARY = re.compile(rb"\n\r?\n")


class SseRelay:
    """Feed chunks in, get the bytes to forward out.

    After the stream: ``usage`` the last usage object seen or None, ``events`` number of data events other than
    ``[DONE]`` (an estimate where comments are mixed in), ``done`` whether ``[DONE]`` came, ``error`` an in-band error
    object or None, ``error_first`` whether that was the very first data event.
    """

    __slots__ = (
        "usage", "events", "first_data", "done", "error", "error_first",
        "_hide_usage", "_cap", "_rename", "_parts", "_held", "_edge", "_oversize",
    )

    def __init__(self, cap: int, hide_usage: bool = False, rename: Rename | None = None) -> None:
        self.usage: dict[str, Any] | None = None
        self.events = 0
        self.first_data = False
        self.done = False
        self.error: Any = None
        self.error_first = False
        self._hide_usage = hide_usage
        self._cap = cap
        self._rename = rename
        self._parts: list[bytes] = []  # the incomplete event at the end of what was fed
        self._held = 0
        self._edge = b""  # last bytes of it: a boundary may straddle two chunks
        self._oversize = False

    def feed(self, chunk: bytes) -> bytes:
        if (
            self.first_data
            and not self._held
            and not self._oversize
            and self._rename is None
            and chunk.endswith(b"\n\n")
            and b'"usage"' not in chunk
            and b'"error"' not in chunk
            and b"[DONE]" not in chunk
            and len(chunk) <= self._cap
        ):
            self.events += chunk.count(b"\n\n")
            return chunk
        return self._feed(chunk)

    def finish(self) -> bytes:
        """The stream ended cleanly: what is left over (an event without its blank line)."""
        if not self._held:
            return b""
        rest = self._take()
        return self._event(rest) or b""

    def interrupted(self) -> bytes:
        """The stream broke: drop the incomplete event. Returns what must precede an event of our own."""
        self._take()
        return b"\n\n" if self._oversize else b""

    def _take(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        self._held = 0
        return data

    def _feed(self, chunk: bytes) -> bytes:
        if self._oversize:
            return self._feed_oversize(chunk)
        if self._held:
            self._parts.append(chunk)
            self._held += len(chunk)
            probe = self._edge + chunk
            if _BOUNDARY.search(probe) is None:
                self._edge = probe[-2:]
                return self._spill()
            data = self._take()
        else:
            data = chunk
        out = []
        position = 0
        for match in _BOUNDARY.finditer(data):
            event = self._event(data[position:match.end()])
            position = match.end()
            if event is not None:
                out.append(event)
        if position < len(data):
            rest = data[position:]
            self._parts.append(rest)
            self._held = len(rest)
            self._edge = rest[-2:]
            out.append(self._spill())
        return b"".join(out)

    def _spill(self) -> bytes:
        """Let go of an incomplete event that has outgrown the cap."""
        if self._held <= self._cap:
            return b""
        self._oversize = True
        return self._take()

    def _feed_oversize(self, chunk: bytes) -> bytes:
        probe = self._edge + chunk
        match = _BOUNDARY.search(probe)
        if match is None:
            self._edge = probe[-2:]
            return chunk
        cut = match.end() - len(self._edge)
        self._oversize = False
        self._count()
        rest = chunk[cut:]
        return chunk[:cut] + (self._feed(rest) if rest else b"")

    def _count(self) -> None:
        self.events += 1
        self.first_data = True

    def _event(self, event: bytes) -> bytes | None:
        """Note what one whole event says; None when the client must not see it."""
        if len(event) > self._cap:
            self._count()
            return event
        payload = _payload(event)
        if payload is None:
            return event
        if payload == b"[DONE]":
            self.done = True
            return event
        first = not self.first_data
        self._count()
        if first or b'"usage"' in payload or b'"error"' in payload:
            try:
                value = orjson.loads(payload)
            except orjson.JSONDecodeError:
                value = None
            if isinstance(value, dict):
                if value.get("error"):
                    self.error = value["error"]
                    self.error_first = first
                usage = value.get("usage")
                if isinstance(usage, dict):
                    self.usage = usage
                    if self._hide_usage and value.get("choices") == []:
                        self.events -= 1
                        return None
        return event if self._rename is None else self._rename.apply(event)


def _payload(event: bytes) -> bytes | None:
    """The data of an event, or None for one that carries none (a comment, a lone ``event:``)."""
    found = []
    for line in event.split(b"\n"):
        if line.startswith(b"data:"):
            value = line[6:] if line[5:6] == b" " else line[5:]
            found.append(value.rstrip(b"\r"))
    if not found:
        return None
    return found[0] if len(found) == 1 else b"\n".join(found)


class Rename:
    """Puts the name the client asked for where the engine wrote its own.

    Safe on raw JSON: inside a JSON string every quote is escaped, so ``"model":"x"`` can only be a key and its value.
    """

    __slots__ = ("_pattern", "_replacement")

    def __init__(self, upstream: str, requested: str) -> None:
        self._pattern = re.compile(rb'("model"\s*:\s*)' + re.escape(orjson.dumps(upstream)))
        self._replacement = orjson.dumps(requested)

    def apply(self, data: bytes) -> bytes:
        return self._pattern.sub(lambda match: match.group(1) + self._replacement, data)
