# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small HTTP/1.1 client that stamps bytes when they arrive.

PRIVATE to the collection. One asyncio protocol per connection, no thread, so that one
process can hold hundreds of streams and its own cost stays small beside the server's.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from urllib.parse import urlsplit

MAX_HEAD_BYTES = 65536


class ProtocolError(Exception):
    """The peer does not speak HTTP/1.1 as this client understands it."""


class ResponseReader:
    """Framing of one response: bytes in, body bytes out. Pure.

    status, headers (names in lower case) are set once ``has_head`` is true; ``complete``
    says that the body is whole; ``reusable`` that the connection may carry another request.
    """

    __slots__ = ("status", "headers", "has_head", "complete", "reusable", "_buffer", "_left", "_mode")

    def __init__(self) -> None:
        self.status = 0
        self.headers = {}
        self.has_head = False
        self.complete = False
        self.reusable = False
        self._buffer = b""
        self._left = 0
        self._mode = ""

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in ``data``; raises ProtocolError."""
        if not self.has_head:
            self._buffer += data
            if not self._read_head():
                return b""
            data, self._buffer = self._buffer, b""
        if self.complete:
            return b""
        if self._mode == "chunked":
            return self._chunks(data)
        if self._mode == "length":
            body = data[: self._left]
            self._left -= len(body)
            self.complete = self._left == 0
            return body
        return data

    def close(self) -> bool:
        """The connection ended; True if that is a proper end of this response."""
        if self.has_head and self._mode == "eof":
            self.complete = True
        return self.complete

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise ProtocolError("no end of the response head in %d bytes" % MAX_HEAD_BYTES)
            return False
        head = self._buffer[:end].decode("latin-1").split("\r\n")
        self._buffer = self._buffer[end + 4:]
        parts = head[0].split(None, 2)
        if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not parts[1].isdigit():
            raise ProtocolError("not an HTTP/1.x response: %r" % head[0][:80])
        self.status = int(parts[1])
        if 100 <= self.status < 200:
            return self._read_head()
        for line in head[1:]:
            name, dummy, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.has_head = True
        keep = self.headers.get("connection", "").lower()
        self.reusable = keep != "close" and (parts[0] != "HTTP/1.0" or keep == "keep-alive")
        if self.headers.get("transfer-encoding", "").lower().endswith("chunked"):
            self._mode = "chunked"
        elif self.status in (204, 304):
            self.complete = True
        elif "content-length" in self.headers:
            self._mode = "length"
            try:
                self._left = int(self.headers["content-length"])
            except ValueError:
                raise ProtocolError("Content-Length is not a number: %r" % self.headers["content-length"])
            self.complete = self._left == 0
        else:
            self._mode = "eof"
            self.reusable = False
        return True

    def _chunks(self, data: bytes) -> bytes:
        data = self._buffer + data
        body = []
        position = 0
        while True:
            line_end = data.find(b"\r\n", position)
            if line_end < 0:
                break
            size_text = data[position:line_end].split(b";", 1)[0].strip()
            try:
                size = int(size_text, 16)
            except ValueError:
                raise ProtocolError("bad chunk size: %r" % size_text[:32])
            if size == 0:
                # Trailers are rare and say nothing of use; the empty line ends them.
                if data.startswith(b"\r\n", line_end + 2) or b"\r\n\r\n" in data[line_end:]:
                    self.complete = True
                    position = len(data)
                break
            if len(data) < line_end + 2 + size + 2:
                break
            body.append(data[line_end + 2:line_end + 2 + size])
            position = line_end + 2 + size + 2
        self._buffer = data[position:]
        return body[0] if len(body) == 1 else b"".join(body)


class Target:
    """Where requests go: URL, key, trust.

    connect_to      -- "host" or "host:port" for the TCP connection; the name in the URL stays
                       in Host and SNI (a server that cannot resolve its own public name)
    Raises ValueError for an address this client cannot use.
    """

    def __init__(self, url: str, api_key: str = "", ca_file: str = "", validate_certs: bool = True,
                 connect_to: str = "") -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("found URL %r, wanted http://HOST[:PORT] or https://HOST[:PORT]" % url)
        self.url = url.rstrip("/")
        self.scheme = parts.scheme
        self.host = parts.hostname
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.base_path = parts.path.rstrip("/")
        # Both spellings are in use: the server's address, and the OpenAI client's base_url.
        if self.base_path.endswith("/v1"):
            self.base_path = self.base_path[: -len("/v1")]
        self.connect_host, self.connect_port = self.host, self.port
        if connect_to:
            host, colon, port = connect_to.rpartition(":")
            if colon and port.isdigit():
                self.connect_host, self.connect_port = host.strip("[]"), int(port)
            else:
                self.connect_host = connect_to.strip("[]")
        self.api_key = api_key
        self.tls = None
        if self.scheme == "https":
            self.tls = ssl.create_default_context(cafile=ca_file or None)
            if not validate_certs:
                self.tls.check_hostname = False
                self.tls.verify_mode = ssl.CERT_NONE

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The bytes of a request."""
        host = "[%s]" % self.host if ":" in self.host else self.host
        if self.port not in (80, 443):
            host = "%s:%d" % (host, self.port)
        lines = [
            "%s %s%s HTTP/1.1" % (method, self.base_path, path),
            "Host: " + host,
            "Accept: */*",
            "Accept-Encoding: identity",
            "User-Agent: indiaai-llm-benchmark",
        ]
        if self.api_key:
            lines.append("Authorization: Bearer " + self.api_key)
        if body:
            lines += ["Content-Type: application/json", "Content-Length: %d" % len(body)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


class Connection(asyncio.Protocol):
    """One connection; one exchange at a time.

    ``exchange(request, on_body)`` sends and returns an awaitable that is resolved when the
    response is whole. ``on_body(now, data)`` gets the body of a 2xx answer as it arrives;
    the body of any other answer is kept in ``error_body`` (its first 4 KiB).
    """

    def __init__(self) -> None:
        self.reader = None
        self.error_body = b""
        self.first_byte_seen = False
        self.open = False
        self._transport = None
        self._waiter = None
        self._on_body = None

    @classmethod
    async def connect(cls, target: Target, timeout: float) -> Connection:
        """Open a connection, TLS included; raises OSError, ssl.SSLError or TimeoutError."""
        loop = asyncio.get_running_loop()
        dummy, protocol = await asyncio.wait_for(
            loop.create_connection(
                cls, target.connect_host, target.connect_port, ssl=target.tls,
                server_hostname=target.host if target.tls else None),
            timeout)
        return protocol

    def connection_made(self, transport) -> None:
        self._transport = transport
        self.open = True

    def exchange(self, request: bytes, on_body) -> asyncio.Future:
        self.reader = ResponseReader()
        self.error_body = b""
        self.first_byte_seen = False
        self._on_body = on_body
        self._waiter = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._waiter

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        self.first_byte_seen = True
        if self._waiter is None or self._waiter.done():
            # Bytes nobody asked for: this connection cannot be trusted with another request.
            self.close()
            return
        reader = self.reader
        try:
            body = reader.feed(data)
        except ProtocolError as exc:
            self._fail(exc)
            self.close()
            return
        if body:
            if 200 <= reader.status < 300:
                self._on_body(now, body)
            elif len(self.error_body) < 4096:
                self.error_body += body
        if reader.complete:
            self._waiter.set_result(now)
            if not reader.reusable:
                self.close()

    def connection_lost(self, exc) -> None:
        self.open = False
        if self._waiter is None or self._waiter.done():
            return
        if self.reader.close():
            self._waiter.set_result(time.perf_counter())
        else:
            self._fail(exc or ConnectionResetError("the connection was closed before the end of the answer"))

    def _fail(self, exc: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(exc)

    def close(self) -> None:
        self.open = False
        if self._transport is not None:
            self._transport.abort()


async def fetch(target: Target, path: str, timeout: float) -> tuple:
    """GET one small document: ``(status, headers, body)``; errors as in Connection.connect."""
    pieces = []
    connection = await Connection.connect(target, timeout)
    try:
        await asyncio.wait_for(
            connection.exchange(target.request("GET", path), lambda dummy, data: pieces.append(data)), timeout)
        reader = connection.reader
        return reader.status, reader.headers, b"".join(pieces) or connection.error_body
    finally:
        connection.close()
