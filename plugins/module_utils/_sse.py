# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Incremental readers for the two framings in which engines stream: SSE and JSON lines.

PRIVATE to the collection. Pure: bytes in, events out, no clock and no socket.
Both work on bytes and hand out whole events only, so a multi-byte character that
two reads share is never decoded in halves.
"""

from __future__ import annotations


class SseParser:
    """Split a server-sent event stream into the payloads of its events.

    ``feed(data)`` takes any slice of the stream and returns the list of completed
    payloads (``bytes``, the ``data:`` lines of one event joined by a newline).
    ``close()`` returns what the stream left without its closing blank line: some
    servers end with ``data: [DONE]`` and nothing after it.

    Comment lines (``: ping``) and the fields ``event``, ``id`` and ``retry`` yield
    nothing. Lines may end in ``\\n``, ``\\r\\n`` or ``\\r``.
    """

    __slots__ = ("_pending", "_data", "_skip_lf")

    def __init__(self) -> None:
        self._pending = b""
        self._data = []  # type: list[bytes]
        self._skip_lf = False

    def feed(self, data: bytes) -> list:
        """Return the payloads that ``data`` completes, in order."""
        if self._skip_lf and data:
            # The last read ended between the two bytes of a CRLF.
            if data[:1] == b"\n":
                data = data[1:]
            self._skip_lf = False
        if not data:
            return []
        if b"\r" in data:
            self._skip_lf = data[-1:] == b"\r"
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = data.split(b"\n")
        lines[0] = self._pending + lines[0]
        self._pending = lines.pop()
        events = []
        for line in lines:
            self._line(line, events)
        return events

    def close(self) -> list:
        """Return the payload of an event that the end of the stream cut short."""
        events = []
        if self._pending:
            self._line(self._pending, events)
            self._pending = b""
        self._line(b"", events)
        return events

    def _line(self, line: bytes, events: list) -> None:
        if not line:
            if self._data:
                events.append(self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
                self._data = []
        elif line.startswith(b"data:"):
            value = line[5:]
            # One space after the colon belongs to the framing; it is optional.
            self._data.append(value[1:] if value[:1] == b" " else value)


class JsonLines:
    """Split a stream of newline-delimited documents (Ollama's native framing).

    Same two methods as :class:`SseParser`; blank lines yield nothing.
    """

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending = b""

    def feed(self, data: bytes) -> list:
        """Return the lines that ``data`` completes, without their line ends."""
        lines = data.split(b"\n")
        lines[0] = self._pending + lines[0]
        self._pending = lines.pop()
        return [line for line in (raw.strip() for raw in lines) if line]

    def close(self) -> list:
        """Return the last line if the stream ended without a line end."""
        rest, self._pending = self._pending.strip(), b""
        return [rest] if rest else []
