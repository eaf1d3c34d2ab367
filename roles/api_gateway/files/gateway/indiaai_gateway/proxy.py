# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data path: one authorised request to its engine and back, and its usage row whatever happens.

The usage row is appended in a ``finally`` without an ``await`` in it, so a cancelled request has one too.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import aiohttp
import orjson

from . import body, errors, headers, log, usage
from .flight import CLIENT, Flight, Flights, watch_client
from .keyring import Key
from .routes import Route, Routes
from .sse import Rename, SseRelay
from .storage import UsageRow
from .upstream import Upstream
from .usage import UsageWriter

# Up to here a plain answer is read whole and parsed; beyond, it is passed on as it comes.
BUFFERED_ANSWER_BYTES = 1024 * 1024
TAIL_BYTES = 64 * 1024
_JSON = b"application/json"


class Exchange:
    """One request: its state, and the ways it can end. ``run`` never raises for what a client or an engine does."""

    __slots__ = (
        "_scope", "_receive", "_send", "_headers", "_key", "_routes", "_upstream", "_flights", "_writer",
        "_client_ip", "_path", "_request_id", "_upstream_id", "_began", "_route", "_model", "_streaming",
        "_started", "_status", "_error_code", "_completed", "_bytes_out", "_ttft", "_relay", "_usage", "_hidden",
        "_requested", "_last",
    )

    def __init__(
        self, scope: dict[str, Any], receive: Any, send: Any, client_headers: dict[bytes, bytes], key: Key,
        routes: Routes, upstream: Upstream, flights: Flights, writer: UsageWriter, client_ip: str | None,
        request_id: str, upstream_id: str,
    ) -> None:
        self._scope = scope
        self._receive = receive
        self._send = send
        self._headers = client_headers
        self._key = key
        self._routes = routes
        self._upstream = upstream
        self._flights = flights
        self._writer = writer
        self._client_ip = client_ip
        self._path: str = scope["path"]
        self._request_id = request_id
        self._upstream_id = upstream_id
        self._began = time.monotonic()
        self._route: Route | None = None
        self._requested: str | None = None
        self._streaming = False
        self._started = False  # response headers are out
        self._status = 500
        self._error_code: str | None = "internal_error"
        self._completed = False
        self._bytes_out = 0
        self._ttft: float | None = None
        self._relay: SseRelay | None = None
        self._usage: dict[str, Any] | None = None
        self._hidden = False
        self._last = b""

    async def run(self) -> None:
        try:
            await self._admit_and_forward()
        except errors.GatewayError as exc:
            self._status, self._error_code = exc.status, exc.code
            await self._fail(exc)
        except errors.ClientGone:
            self._status, self._error_code = 499, "client_closed"
        finally:
            self._record()

    # --- the way in ---

    async def _admit_and_forward(self) -> None:
        settings = self._routes.settings
        raw = await body.read(self._receive, self._headers, settings.limits.max_body_bytes)
        request = body.parse(raw)
        del raw
        self._requested = request["model"]
        self._streaming = bool(request.get("stream"))
        route = self._routes.find(self._requested, self._key)
        self._route = route
        if settings.limits.max_in_flight is not None and len(self._flights) >= settings.limits.max_in_flight:
            raise errors.overloaded("The gateway")
        if route.max_concurrent is not None and route.in_flight.value >= route.max_concurrent:
            raise errors.overloaded("The model")
        payload, self._hidden = body.prepare(request, route.upstream_model, route.inject_usage)
        del request
        timeouts = route.timeouts
        flight = Flight(timeouts.first_byte_seconds, timeouts.idle_seconds, timeouts.total_seconds)
        route.in_flight.value += 1
        self._flights.add(flight)
        watcher = asyncio.create_task(watch_client(self._receive, flight))
        try:
            await self._forward(route, payload, flight)
        except asyncio.CancelledError:
            if flight.reason is None:
                self._status, self._error_code = 503, "stopped"
                raise  # the server itself ends this task
            flight.acknowledge()
            if flight.reason == CLIENT:
                raise errors.ClientGone from None
            raise flight.error() from None
        finally:
            flight.sealed = True
            watcher.cancel()
            self._flights.remove(flight)
            route.in_flight.value -= 1
        # Outside the watched part: a server reports "disconnect" as soon as a response is complete.
        if self._started:
            await self._send({"type": "http.response.body", "body": self._last, "more_body": False})

    async def _forward(self, route: Route, payload: bytes, flight: Flight) -> None:
        sent = headers.for_engine(self._headers, route.engine_key, self._upstream_id)
        response = await self._upstream.send(route.urls[self._path], payload, sent)
        try:
            content_type = response.headers.get("Content-Type", "").lower()
            encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
            if response.status >= 300 or response.status < 200:
                await self._forward_error(response, flight)
            elif content_type.startswith("text/event-stream") and not encoded:
                await self._forward_stream(response, route, flight)
            else:
                await self._forward_plain(response, route, flight, readable=not encoded)
        except (aiohttp.ClientError, OSError) as exc:
            raise errors.upstream_failed() from exc
        finally:
            # Closes the connection unless the answer was read to its end: the engine notices and stops.
            if response.content.is_eof():
                response.release()
            else:
                response.close()

    # --- the way out ---

    async def _start(self, status: int, response: aiohttp.ClientResponse, *extra: tuple[bytes, bytes]) -> None:
        self._status = status
        self._started = True
        passed = headers.for_client(response.raw_headers)
        own = [(b"x-request-id", self._request_id.encode("ascii")), *extra]
        names = {name for name, _value in own}
        await self._send(
            {
                "type": "http.response.start",
                "status": status,
                "headers": [pair for pair in passed if pair[0] not in names] + own,
            }
        )

    async def _write(self, data: bytes) -> None:
        # Waits while the client's socket is full; meanwhile nothing is read from the engine.
        self._bytes_out += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _close_with(self, data: bytes) -> None:
        """The last piece goes out together with the end of the response."""
        self._bytes_out += len(data)
        self._last = data

    async def _forward_stream(self, response: aiohttp.ClientResponse, route: Route, flight: Flight) -> None:
        self._streaming = True
        relay = SseRelay(self._routes.settings.limits.max_event_bytes, self._hidden, self._rename(route))
        self._relay = relay
        monotonic = time.monotonic
        async for chunk in response.content.iter_any():
            flight.last = monotonic()
            data = relay.feed(chunk)
            if self._ttft is None and relay.first_data:
                self._ttft = flight.last - self._began
                flight.waiting = False
            if not self._started:
                if relay.error_first:
                    raise _in_band(relay.error)
                if not data:
                    continue
                await self._start(
                    response.status, response, (b"x-accel-buffering", b"no"), (b"cache-control", b"no-cache")
                )
            if data:
                await self._write(data)
        rest = relay.finish()
        if not self._started:
            if relay.error_first:
                raise _in_band(relay.error)
            if not rest:
                raise errors.upstream_failed("upstream_empty")
            await self._start(response.status, response)
        if rest:
            await self._write(rest)
        if relay.error is not None:
            self._status, self._error_code = _in_band_status(relay.error)
        elif not relay.done:
            self._error_code = "truncated"
        else:
            self._error_code = None
            self._completed = True

    async def _forward_plain(
        self, response: aiohttp.ClientResponse, route: Route, flight: Flight, readable: bool
    ) -> None:
        parts: list[bytes] = []
        size = 0
        rename = self._rename(route) if readable else None
        chunks = response.content.iter_any()
        async for chunk in chunks:
            flight.last = time.monotonic()
            flight.waiting = False
            parts.append(chunk)
            size += len(chunk)
            # A renamed answer is read whole, however large: its model may stand anywhere in it.
            if size > BUFFERED_ANSWER_BYTES and rename is None:
                break
        self._ttft = time.monotonic() - self._began
        data = b"".join(parts)
        if response.content.at_eof():
            if readable:
                self._usage = _usage_of(data)
            if rename is not None:
                data = rename.apply(data)
            await self._start(response.status, response, (b"content-length", b"%d" % len(data)))
            self._close_with(data)
        else:
            length = response.headers.get("Content-Length", "")
            extra = ((b"content-length", length.encode("ascii")),) if length.isdigit() else ()
            await self._start(response.status, response, *extra)
            await self._write(data)
            tail = data[-TAIL_BYTES:]
            async for chunk in chunks:
                flight.last = time.monotonic()
                tail = (tail + chunk)[-TAIL_BYTES:]
                await self._write(chunk)
            if readable:
                self._usage = _usage_in_tail(tail)
        self._error_code = None
        self._completed = True

    async def _forward_error(self, response: aiohttp.ClientResponse, flight: Flight) -> None:
        """An engine's own refusal passes in its words; what concerns only gateway and engine does not."""
        if response.status in (401, 403) or response.status < 400:
            raise errors.upstream_rejected()
        data = b""
        async for chunk in response.content.iter_any():
            flight.last = time.monotonic()
            flight.waiting = False
            data += chunk
            if len(data) > BUFFERED_ANSWER_BYTES:
                break
        self._completed = False
        self._error_code = f"engine_{response.status}"
        data = _openai_shape(data, response.status)
        await self._start(
            response.status, response, (b"content-type", _JSON), (b"content-length", b"%d" % len(data))
        )
        self._close_with(data)

    async def _fail(self, exc: errors.GatewayError) -> None:
        """Answer with an error, or end a stream that has begun with an error event and without [DONE]."""
        if not self._started:
            await send_error(self._send, exc, self._request_id)
            return
        if self._relay is None:
            # Inside a plain answer there is no room for a message: end it short, so that the client notices.
            raise BrokenAnswer
        data = self._relay.interrupted() + exc.event()
        self._bytes_out += len(data)
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    def _rename(self, route: Route) -> Rename | None:
        assert self._requested is not None
        return Rename(route.upstream_model, self._requested) if route.upstream_model != self._requested else None

    # --- accounting ---

    def _record(self) -> None:
        relay = self._relay
        found = relay.usage if relay is not None else self._usage
        prompt, completion, cached, reasoning = usage.counts(found)
        estimated = False
        if relay is not None and found is None:
            # Nothing from the engine: one event is about one token; a chat stream opens with one that carries none.
            opening = 1 if self._path == "/v1/chat/completions" else 0
            completion = max(0, relay.events - opening)
            estimated = True
        now = time.monotonic()
        self._writer.add(
            UsageRow(
                ts=time.time_ns() // 1000,
                request_id=self._request_id,
                key_id=self._key.id,
                model=self._route.name if self._route else _unknown_model(self._requested),
                upstream_model=self._route.upstream_model if self._route else None,
                endpoint=self._path,
                stream=int(self._streaming),
                status=self._status,
                error_code=self._error_code,
                completed=int(self._completed),
                prompt_tokens=prompt,
                completion_tokens=completion,
                cached_tokens=cached,
                reasoning_tokens=reasoning,
                estimated=int(estimated),
                ttft_ms=None if self._ttft is None else round(self._ttft * 1000, 3),
                duration_ms=round((now - self._began) * 1000, 3),
                client_ip=self._client_ip,
                bytes_out=self._bytes_out,
            ),
            self._key.label,
        )


class BrokenAnswer(Exception):
    """The connection to the client must be cut: its answer cannot be completed."""


async def send_error(send: Any, exc: errors.GatewayError, request_id: str) -> None:
    data = exc.body()
    await send(
        {
            "type": "http.response.start",
            "status": exc.status,
            "headers": [
                (b"content-type", _JSON),
                (b"content-length", b"%d" % len(data)),
                (b"x-request-id", request_id.encode("ascii")),
                *exc.response_headers(),
            ],
        }
    )
    await send({"type": "http.response.body", "body": data, "more_body": False})


def _unknown_model(name: str | None) -> str | None:
    """Text of a client's making, on its way to the database and the log."""
    return None if name is None else log.mask(name[:128])


def _in_band_status(error: Any) -> tuple[int, str]:
    """(status, code) that an engine's in-band error stands for."""
    code = error.get("code") if isinstance(error, dict) else None
    status = int(code) if str(code).isdigit() and 400 <= int(code) <= 599 else 502
    kind = error.get("type") if isinstance(error, dict) else None
    return status, str(code if code not in (None, "") else kind or "engine_error")


def _in_band(error: Any) -> errors.GatewayError:
    """The engine said 200 and then an error, before anything was forwarded: give the client the real status."""
    status, code = _in_band_status(error)
    if isinstance(error, dict):
        return errors.GatewayError(
            status, str(error.get("type") or "engine_error"), code,
            str(error.get("message") or "The engine reported an error."), _text_or_none(error.get("param")),
        )
    return errors.GatewayError(status, "engine_error", code, str(error))


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _openai_shape(data: bytes, status: int) -> bytes:
    """The engine's error body as it is when it has OpenAI's shape, else wrapped in it."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        value = None
    if isinstance(value, dict):
        if isinstance(value.get("error"), dict):
            return data
        message = next((value[name] for name in ("message", "error", "detail") if isinstance(value.get(name), str)), None)
    else:
        message = None
    if message is None or status >= 500:
        message = f"The engine answered with status {status}."
    if status == 404:
        message = "The model does not offer this endpoint."
    kind = "invalid_request_error" if status < 500 else "upstream_error"
    return orjson.dumps({"error": {"message": message, "type": kind, "param": None, "code": f"engine_{status}"}})


def _usage_of(data: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return None
    found = value.get("usage") if isinstance(value, dict) else None
    return found if isinstance(found, dict) else None


def _usage_in_tail(tail: bytes) -> dict[str, Any] | None:
    """The usage object of an answer too large to parse: the engines write it last.

    A raw ``"usage":`` is always a key, because quotes inside a JSON string are escaped.
    """
    at = tail.rfind(b'"usage":')
    if at < 0:
        return None
    try:
        text = tail[at + len(b'"usage":'):].decode("utf-8").lstrip()
        value, _end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
