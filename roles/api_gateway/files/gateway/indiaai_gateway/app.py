# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ASGI application: an allow-list of paths, authentication, and the endpoints.

Plain ASGI throughout. Middleware that wraps the response in its own task would hide a leaving client and double the cost
of every chunk.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import orjson

from . import __version__, errors, headers, log
from .flight import DRAIN, Flights
from .keyring import Keyring
from .places import ConfigError
from .proxy import BrokenAnswer, Exchange, send_error
from .routes import ENGINE_PATHS, Gauge, Routes
from .settings import Loaded, load
from .upstream import Upstream
from .usage import UsageWriter


class Gateway:
    """State of the process and its ASGI entry point."""

    def __init__(self, loaded: Loaded, config_path: Path, keyring: Keyring, writer: UsageWriter) -> None:
        self._config_path = config_path
        self._keyring = keyring
        self._writer = writer
        self._gauges: dict[str, Gauge] = {}
        self._routes = Routes(loaded, self._gauges)
        self._clients = headers.ClientAddress(loaded.settings.trusted_proxies)
        self._upstream: Upstream | None = None
        self.flights = Flights()
        self.is_draining = False

    # --- life ---

    async def start(self) -> None:
        """Must run inside the event loop that serves."""
        self._upstream = Upstream(self._routes.settings.timeouts)
        self.flights.start()

    async def stop(self) -> None:
        self.flights.stop()
        if self._upstream is not None:
            await self._upstream.close()

    def reload(self) -> None:
        """Take the file as it is now; keep what is in force when it is wrong."""
        try:
            loaded = load(self._config_path)
        except ConfigError as exc:
            log.error("configuration rejected, the last good one stays in force", reason=str(exc))
            return
        before = self._routes.settings
        after = loaded.settings
        if (before.listen, before.state_dir) != (after.listen, after.state_dir):
            log.warning("listen and state_dir change only at a restart")
        old, new = before.timeouts, after.timeouts
        if (old.pool_idle_seconds, old.connect_seconds) != (new.pool_idle_seconds, new.connect_seconds):
            log.warning("timeouts.pool_idle_seconds and connect_seconds change only at a restart")
        self._routes = Routes(loaded, self._gauges)
        self._clients = headers.ClientAddress(after.trusted_proxies)
        self._writer.log_requests = after.log.requests
        logging.getLogger("indiaai_gateway").setLevel(after.log.level.upper())
        log.info("configuration in force", digest=loaded.digest, models=len(self._routes))

    def begin_drain(self) -> None:
        self.is_draining = True

    def end_flights(self) -> None:
        self.flights.abort_all(DRAIN)

    @property
    def drain_seconds(self) -> float:
        return self._routes.settings.drain_seconds

    # --- requests ---

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            raise RuntimeError("only HTTP is served")
        found, repeated = headers.as_dict(scope["headers"])
        request_id, upstream_id = headers.request_id(found.get(b"x-request-id"))
        try:
            await self._dispatch(scope, receive, send, found, repeated, request_id, upstream_id)
        except errors.GatewayError as exc:
            if exc.status in (401, 503):
                log.info("refused", request_id=request_id, status=exc.status, code=exc.code, path=_shown(scope["path"]))
            await send_error(send, exc, request_id)
        except BrokenAnswer:
            # uvicorn closes a connection whose application ends without completing its answer.
            return
        except Exception:
            log.exception("unexpected error", request_id=request_id, path=_shown(scope["path"]))
            try:
                await send_error(send, errors.internal(), request_id)
            except RuntimeError:
                return  # the response had begun

    async def _dispatch(
        self, scope: dict[str, Any], receive: Any, send: Any, found: dict[bytes, bytes], repeated: bool,
        request_id: str, upstream_id: str,
    ) -> None:
        path = scope["path"]
        method = scope["method"]
        if path in ENGINE_PATHS:
            _require(method, ("POST",))
            if self.is_draining:
                raise errors.draining()
            key = self._authenticate(found, repeated)
            assert self._upstream is not None
            exchange = Exchange(
                scope, receive, send, found, key, self._routes, self._upstream, self.flights, self._writer,
                self._clients.find(scope["client"], found.get(b"x-real-ip")), request_id, upstream_id,
            )
            await exchange.run()
        elif path == "/v1/models":
            _require(method, ("GET",))
            key = self._authenticate(found, repeated)
            await _send_json(send, 200, self._routes.listing(key), request_id)
        elif path == "/health":
            _require(method, ("GET", "HEAD"))
            await _send_json(send, 200, b'{"status":"ok"}', request_id)
        elif path == "/ready":
            _require(method, ("GET", "HEAD"))
            status, data = self._readiness()
            await _send_json(send, status, data, request_id)
        else:
            raise errors.unknown_path()

    def _authenticate(self, found: dict[bytes, bytes], repeated: bool) -> Any:
        if repeated:
            raise errors.invalid_api_key()
        return self._keyring.authenticate(headers.bearer(found.get(b"authorization", b"")))

    def _readiness(self) -> tuple[int, bytes]:
        if self.is_draining:
            state = "draining"
        elif not self._keyring.available:
            state = "key_store_unavailable"
        else:
            state = "ready"
        document = {
            "status": state,
            "version": __version__,
            "config": self._routes.digest,
            "models": len(self._routes),
            "in_flight": len(self.flights),
            "usage": {"dropped": self._writer.dropped, "refused": self._writer.refused, "failing": self._writer.failing},
            "time": log.timestamp(time.time_ns() // 1000),
        }
        return (200 if state == "ready" else 503), orjson.dumps(document)


def _require(method: str, allowed: tuple[str, ...]) -> None:
    if method not in allowed:
        raise errors.method_not_allowed(", ".join(allowed))


def _shown(path: str) -> str:
    return path if len(path) <= 200 else path[:200] + "…"


async def _send_json(send: Any, status: int, data: bytes, request_id: str) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [
                (b"content-type", b"application/json"),
                (b"content-length", b"%d" % len(data)),
                (b"x-request-id", request_id.encode("ascii")),
            ],
        }
    )
    await send({"type": "http.response.body", "body": data, "more_body": False})
