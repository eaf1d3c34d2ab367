# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HTTP/1.1 by hand on asyncio: keep-alive, chunked bodies both ways, and every rudeness that a fault needs.

A library would send headers whole, end bodies properly and reset nothing.
"""
from __future__ import annotations

import asyncio
import dataclasses
import socket
import struct
import zlib
from typing import Awaitable, Callable, Dict, Iterable, List, Optional, Tuple

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 405: "Method Not Allowed", 413: "Payload Too Large",
           429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}
MAX_HEADER = 1 << 16


class Gone(ConnectionError):
    """The client has closed the connection."""


class BadRequest(ValueError):
    """The client does not speak HTTP/1.1."""


@dataclasses.dataclass
class Request:
    method: str
    path: str  # without the query
    headers: Dict[str, str]  # names in lower case
    raw_headers: List[Tuple[str, str]]
    body: bytes
    keep_alive: bool


class Connection(asyncio.Protocol):
    """One TCP connection. ``handler(connection, request)`` answers a request with the send methods below."""

    def __init__(self, handler: Callable[["Connection", Request], Awaitable[None]], idle_seconds: Callable[[], Optional[float]]):
        self._handler = handler
        self._idle_seconds = idle_seconds
        self._buffer = bytearray()
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._chunked = False
        self.gone = asyncio.Event()
        self.started = False  # whether an answer's header has gone out
        self.close_after = False

    # --- asyncio.Protocol

    def connection_made(self, transport):
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._task = asyncio.ensure_future(self._serve())

    def data_received(self, data):
        self._buffer += data
        self._news.set()

    def eof_received(self):
        return False  # a client that has said its last word is gone, as for vLLM's server

    def connection_lost(self, exc):
        self.gone.set()
        self._news.set()
        self._writable.set()

    def pause_writing(self):
        self._writable.clear()

    def resume_writing(self):
        self._writable.set()

    # --- reading

    async def _serve(self):
        try:
            while not self.gone.is_set():
                request = await asyncio.wait_for(self._read_request(), self._idle_seconds())
                self.started, self.close_after = False, not request.keep_alive
                await self._handler(self, request)
                if self.close_after:
                    break
        except (Gone, asyncio.TimeoutError):
            pass
        except BadRequest as error:
            self.close_after = True
            await self.answer(400, [("content-type", "text/plain")], str(error).encode())
        finally:
            self._transport.close()

    async def _more(self):
        if self.gone.is_set():
            raise Gone()
        self._news.clear()
        await self._news.wait()
        if self.gone.is_set():
            raise Gone()

    async def _take(self, size: int) -> bytes:
        while len(self._buffer) < size:
            await self._more()
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _take_until(self, end: bytes) -> bytes:
        while True:
            position = self._buffer.find(end)
            if position >= 0:
                return (await self._take(position + len(end)))[:-len(end)]
            if len(self._buffer) > MAX_HEADER:
                raise BadRequest("header too long")
            await self._more()

    async def _read_request(self) -> Request:
        head = (await self._take_until(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        try:
            method, target, version = head[0].split(" ")
        except ValueError:
            raise BadRequest("not HTTP: %r" % head[0][:80]) from None
        raw = [tuple(part.strip() for part in line.split(":", 1)) for line in head[1:] if ":" in line]
        headers = {name.lower(): value for name, value in raw}
        if headers.get("expect", "").lower() == "100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = await self._read_body(headers)
        keep = headers.get("connection", "").lower() != "close" and version == "HTTP/1.1"
        return Request(method, target.split("?")[0], headers, raw, body, keep)

    async def _read_body(self, headers: Dict[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return await self._take(int(headers.get("content-length", 0)))
        body = b""
        while True:
            size = int((await self._take_until(b"\r\n")).split(b";")[0], 16)
            if size == 0:
                while await self._take_until(b"\r\n"):
                    pass  # trailers
                return body
            body += await self._take(size)
            await self._take(2)

    # --- writing

    async def write(self, data: bytes):
        """Write and wait until the client has taken most of it. Gone when there is no client any more."""
        if self.gone.is_set():
            raise Gone()
        self._transport.write(data)
        await self._writable.wait()
        if self.gone.is_set():
            raise Gone()

    async def sleep(self, seconds: float):
        """Sleep; Gone at once when the client leaves meanwhile."""
        if seconds <= 0:
            return
        try:
            await asyncio.wait_for(self.gone.wait(), seconds)
        except asyncio.TimeoutError:
            return
        raise Gone()

    async def head(self, status: int, headers: Iterable[Tuple[str, str]], length: Optional[int], trickle_seconds: float = 0):
        """Send the header; ``length`` None makes the body chunked. ``trickle_seconds``: byte by byte over this time."""
        self._chunked = length is None
        lines = ["HTTP/1.1 %d %s" % (status, REASONS.get(status, "Status"))] + ["%s: %s" % pair for pair in headers]
        lines.append("transfer-encoding: chunked" if self._chunked else "content-length: %d" % length)
        if self.close_after:
            lines.append("connection: close")
        data = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        self.started = True
        if trickle_seconds:
            for position in range(len(data)):
                await self.write(data[position:position + 1])
                await self.sleep(trickle_seconds / len(data))
        else:
            await self.write(data)

    async def chunk(self, data: bytes):
        """One piece of a chunked body."""
        if data:
            await self.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def end(self):
        """The proper end of a chunked body."""
        await self.write(b"0\r\n\r\n")

    async def answer(self, status: int, headers: Iterable[Tuple[str, str]], body: bytes, trickle_seconds: float = 0):
        """A whole answer with a length."""
        await self.head(status, headers, len(body), trickle_seconds)
        await self.write(body)

    # --- rude ends

    def reset(self):
        """End the connection with a TCP reset."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()
        self.gone.set()

    def hang_up(self):
        """Close the connection after what was written, wherever the body stands."""
        self._transport.close()
        self.gone.set()


class Zipper:
    """gzip as a stream: each piece can be read when it arrives."""

    def __init__(self):
        self._stream = zlib.compressobj(wbits=31)

    def piece(self, data: bytes) -> bytes:
        return self._stream.compress(data) + self._stream.flush(zlib.Z_SYNC_FLUSH)

    def end(self) -> bytes:
        return self._stream.flush()
