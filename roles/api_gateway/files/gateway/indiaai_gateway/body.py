# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request body: reading it within its limit, checking it, and preparing what the engine gets."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from . import errors

_DISCARD_BYTES = 8 * 1024 * 1024
_DISCARD_SECONDS = 2.0


async def read(receive: Any, headers: dict[bytes, bytes], limit: int) -> bytes:
    """The whole body. Raises GatewayError 413 or 415, ClientGone when the client leaves first."""
    if headers.get(b"content-encoding", b"identity").lower() not in (b"identity", b""):
        raise errors.unsupported_encoding()
    length = headers.get(b"content-length", b"")
    if length.isdigit() and int(length) > limit:
        if b"expect" not in headers:
            await _discard(receive)
        raise errors.body_too_large(limit)
    message = await receive()
    if message["type"] == "http.disconnect":
        raise errors.ClientGone
    if not message.get("more_body"):
        data = message.get("body", b"")
        if len(data) > limit:
            raise errors.body_too_large(limit)
        return data
    parts = [message.get("body", b"")]
    size = len(parts[0])
    while message.get("more_body"):
        if size > limit:
            await _discard(receive)
            raise errors.body_too_large(limit)
        message = await receive()
        if message["type"] == "http.disconnect":
            raise errors.ClientGone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
    if size > limit:
        raise errors.body_too_large(limit)
    return b"".join(parts)


async def _discard(receive: Any) -> None:
    """Read on for a moment, so that the client gets to the answer instead of a broken pipe."""
    size = 0
    try:
        async with asyncio.timeout(_DISCARD_SECONDS):
            while size < _DISCARD_BYTES:
                message = await receive()
                if message["type"] == "http.disconnect" or not message.get("more_body"):
                    return
                size += len(message.get("body", b""))
    except TimeoutError:
        return


def parse(raw: bytes) -> dict[str, Any]:
    """The body as an object with a ``model``; every other shape is a GatewayError 400."""
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as exc:
        raise errors.bad_request("The request body is not valid JSON.", code="invalid_json") from exc
    if not isinstance(value, dict):
        raise errors.bad_request("The request body must be a JSON object.", code="invalid_json")
    model = value.get("model")
    if not isinstance(model, str) or not model:
        raise errors.bad_request("'model' must be a non-empty string.", "model")
    if not isinstance(value.get("stream", False), (bool, type(None))):
        raise errors.bad_request("'stream' must be a boolean.", "stream")
    options = value.get("stream_options")
    if options is not None:
        if not isinstance(options, dict):
            raise errors.bad_request("'stream_options' must be an object.", "stream_options")
        for name in ("include_usage", "continuous_usage_stats"):
            if not isinstance(options.get(name, False), (bool, type(None))):
                raise errors.bad_request(f"'{name}' must be a boolean.", "stream_options")
    return value


def prepare(request: dict[str, Any], upstream_model: str, inject_usage: bool) -> tuple[bytes, bool]:
    """The body for the engine, and whether the usage event was asked for by the gateway alone.

    Serialised from the parsed object, so that the model which was authorised is the one the engine sees
    even when the client sent the key twice.
    """
    hidden = False
    if request["model"] != upstream_model:
        request = {**request, "model": upstream_model}
    if inject_usage and request.get("stream"):
        options = request.get("stream_options") or {}
        if not options.get("include_usage"):
            hidden = True
            options = {**options, "include_usage": True}
            # Without include_usage an engine ignores this one; it must not come alive through our injection.
            options.pop("continuous_usage_stats", None)
            request = {**request, "stream_options": options}
    return orjson.dumps(request), hidden
