# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An engine whose every byte is written by the test: a raw HTTP/1.1 server in a thread.

``engine.handler`` is an async function ``(request, wire)``; it writes the whole response, head included. The scripts at the end
are the usual ones. For a real engine's behaviour there are other tests; this one is for splits, resets and silence.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n"
DONE = b"data: [DONE]\n\n"


@dataclass
class Request:
    connection: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Wire:
    """The engine's side of one connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    closed: bool = False
    sent: int = 0

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        self.sent += len(data)
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        if data:
            await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self) -> None:
        await self.raw(b"0\r\n\r\n")

    async def plain(self, data: bytes, status: str = "200 OK", extra: bytes = b"") -> None:
        await self.raw(
            b"HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%s\r\n%s"
            % (status.encode(), len(data), extra, data)
        )

    def close(self) -> None:
        self.closed = True
        self.writer.close()

    def reset(self) -> None:
        """Close with RST, as a killed process does."""
        self.closed = True
        self.writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Return when the other side has closed."""
        while await self.reader.read(65536):
            pass
        self.closed = True


Handler = Callable[[Request, Wire], Awaitable[None]]


@dataclass
class FakeEngine:
    handler: Handler | None = None
    requests: list[Request] = field(default_factory=list)
    port: int = 0
    connections: int = 0
    open_connections: int = 0

    def start(self) -> FakeEngine:
        self._loop = asyncio.new_event_loop()
        ready = threading.Event()

        async def listen() -> None:
            self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**20)
            self.port = self._server.sockets[0].getsockname()[1]
            ready.set()

        def run() -> None:
            self._loop.create_task(listen())
            self._loop.run_forever()

        threading.Thread(target=run, name="fake-engine", daemon=True).start()
        assert ready.wait(5)
        return self

    def use(self, handler: Handler) -> None:
        self.requests.clear()
        self.handler = handler

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        number = self.connections
        self.open_connections += 1
        wire = Wire(reader, writer)
        try:
            while not wire.closed:
                request = await self._read(reader, number)
                if request is None:
                    break
                self.requests.append(request)
                assert self.handler is not None
                await self.handler(request, wire)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()

    @staticmethod
    async def _read(reader: asyncio.StreamReader, number: int) -> Request | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        first, *rest = head.decode("latin-1").split("\r\n")
        method, path, _version = first.split(" ", 2)
        headers = {}
        for line in filter(None, rest):
            name, _colon, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Request(number, method, path, headers, body)


# --- what an engine says ---


def event(**document: Any) -> bytes:
    return b"data: " + json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


def delta(text: str, **more: Any) -> bytes:
    return event(id="c1", object="chat.completion.chunk", model="demo",
                 choices=[{"index": 0, "delta": {"content": text, **more}, "finish_reason": None}])


def usage_event(prompt: int, completion: int, choices: list[Any] | None = None, **details: Any) -> bytes:
    return event(id="c1", object="chat.completion.chunk", model="demo", choices=choices or [],
                 usage={"prompt_tokens": prompt, "completion_tokens": completion,
                        "total_tokens": prompt + completion, **details})


OPENING = event(id="c1", object="chat.completion.chunk", model="demo",
                choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}])
FINISH = event(id="c1", object="chat.completion.chunk", model="demo",
               choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
WORDS = ("नमस्ते", " दुनिया", " 🙂", ' he said "usage": 3', " वणक்கம்", " end")


def answer(prompt: int = 7, completion: int = 6) -> bytes:
    return json.dumps({"id": "c1", "object": "chat.completion", "model": "demo",
                       "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
                       "usage": {"prompt_tokens": prompt, "completion_tokens": completion,
                                 "total_tokens": prompt + completion}}).encode()


def streamed(pieces: list[bytes], pause: float = 0.0) -> Handler:
    """Send these pieces, each in its own write, and end cleanly."""

    async def handler(_request: Request, wire: Wire) -> None:
        await wire.raw(STREAM_HEAD)
        for piece in pieces:
            await wire.chunk(piece)
            await asyncio.sleep(pause)
        await wire.end()

    return handler


def polite(request: Request, words: tuple[str, ...] = WORDS, prompt: int = 7) -> list[bytes]:
    """What vLLM would stream for this request, the usage event only when it was asked for."""
    pieces = [OPENING, *(delta(word) for word in words), FINISH]
    if (request.json().get("stream_options") or {}).get("include_usage"):
        pieces.append(usage_event(prompt, len(words)))
    return [*pieces, DONE]


async def well_behaved(request: Request, wire: Wire) -> None:
    if request.method == "POST" and request.json().get("stream"):
        await streamed(polite(request))(request, wire)
    else:
        await wire.plain(answer())
