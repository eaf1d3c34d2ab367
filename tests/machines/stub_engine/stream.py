# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One streamed answer: events at their pace, framed and cut as the script says."""
from __future__ import annotations

import time
from typing import Dict, List, Optional

from . import protocol
from .engine import Engine, Seen
from .http11 import Connection, Zipper
from .script import Answer


class Ended(Exception):
    """A fault of the script has ended the answer; the text is its name."""


def frame(payload: bytes, script: Answer) -> bytes:
    """One server-sent event."""
    end = script.line_end.encode()
    return b"data:" + (b" " if script.space else b"") + payload + end + end


def cut(data: bytes, script: Answer) -> List[bytes]:
    """The pieces in which these bytes go out."""
    size = script.split_every
    offsets = range(size, len(data), size) if size else sorted(offset for offset in script.split if 0 < offset < len(data))
    edges = [0, *offsets, len(data)]
    return [data[start:stop] for start, stop in zip(edges, edges[1:])]


class Sender:
    """Puts bytes into the body of a chunked answer."""

    def __init__(self, connection: Connection, script: Answer):
        self._connection = connection
        self._script = script
        self._zipper = Zipper() if script.gzip else None
        self._held: List[bytes] = []

    async def event(self, payload: bytes) -> None:
        self._held.append(frame(payload, self._script))
        if len(self._held) >= self._script.coalesce:
            await self.flush()

    async def comment(self) -> None:
        self._held.append((": ping" + self._script.line_end * 2).encode())
        await self.flush()

    async def flush(self) -> None:
        data, self._held = b"".join(self._held), []
        if not data:
            return
        pieces = cut(data, self._script)
        for number, piece in enumerate(pieces):
            await self._connection.chunk(self._zipper.piece(piece) if self._zipper else piece)
            if number + 1 < len(pieces):
                await self._connection.sleep(self._script.split_pause_seconds)

    async def end(self) -> None:
        await self.flush()
        if self._zipper:
            await self._connection.chunk(self._zipper.end())
        await self._connection.end()


class Stream:
    """Sends one generation as a stream. ``run`` returns at the proper end and raises Ended at a scripted one."""

    def __init__(self, connection: Connection, engine: Engine, seen: Seen, generation: protocol.Generation, script: Answer,
                 prompt: int, tokens: int, include_usage: bool, continuous: bool):
        self._connection, self._engine, self._seen = connection, engine, seen
        self._generation, self._script = generation, script
        self._prompt, self._tokens = prompt, tokens
        self._include_usage = {"auto": include_usage, "none": False}.get(script.usage, True)
        self._continuous = script.usage == "continuous" or (continuous and script.usage == "auto")
        self._sender = Sender(connection, script)

    def _extra(self, sent: int) -> Dict:
        """What a chunk before the last one says about usage, after ``sent`` tokens."""
        if self._script.usage == "null":
            return {"usage": None}
        return {"usage": protocol.usage(self._prompt, sent)} if self._continuous else {}

    async def run(self) -> None:
        script, sender = self._script, self._sender
        for _number in range(script.pings_before):
            await sender.comment()
            await self._connection.sleep(1)
        if script.role_event:
            role = self._generation.role(self._extra(0))
            if role:
                await sender.event(protocol.dump(role))
        for position in range(self._tokens):
            await self._fault(position)
            await self._pause(script.first_token_seconds if position == 0 else script.inter_token_seconds)
            await self._token(position)
            if script.comment_every and (position + 1) % script.comment_every == 0:
                await sender.comment()
        await self._fault(self._tokens)
        if self._include_usage:
            numbers = protocol.usage(self._prompt, self._tokens + (1 if script.usage == "wrong" else 0))
            await sender.event(protocol.dump(self._generation.last(None if script.usage == "null" else numbers)))
        if script.done:
            await sender.event(b"[DONE]")
        await sender.end()

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            await self._sender.flush()
            await self._connection.sleep(seconds)

    async def _token(self, position: int) -> None:
        script, number = self._script, position + 1
        size = script.big_event_bytes if position == script.big_event_at else 0
        more: Dict = self._extra(number)
        if script.stamps:
            more["stub"] = {"n": number, "sent_ns": time.monotonic_ns()}
        reason: Optional[str] = "length" if number == self._tokens else None
        text = protocol.token_text(number, script.multibyte, size)
        self._seen.events = number
        self._engine.generated_tokens += 1
        await self._sender.event(protocol.dump(self._generation.token(text, reason, more)))

    async def _fault(self, position: int) -> None:
        script, sender, connection = self._script, self._sender, self._connection
        if position == script.error_at:
            await sender.event(protocol.dump(protocol.error(500, "scripted failure of the stub", "InternalServerError")))
            await sender.event(b"[DONE]")
            await sender.end()
            raise Ended("error_at")
        if position == script.eof_at:
            await sender.end()
            raise Ended("eof_at")
        if position == script.hang_at:
            await sender.flush()
            await connection.gone.wait()
            raise Ended("hang_at")
        if position in (script.reset_at, script.truncate_at, script.crash_at):
            await sender.flush()
            # What was sent shall arrive: a reset throws away what still lies in the other side's socket.
            await connection.sleep(0.05)
            if position == script.crash_at:
                self._engine.crash()
            if position == script.reset_at:
                connection.reset()
                raise Ended("reset_at")
            connection.hang_up()
            raise Ended("truncate_at")
