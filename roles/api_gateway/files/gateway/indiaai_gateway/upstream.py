# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connections to the engines: one unlimited pool, and one retry where the pool itself is to blame."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
from yarl import URL

from . import errors
from .settings import Timeouts


class Upstream:
    """``send`` posts a body and returns the response with its headers read.

    The pool has no size limit: a stream holds its connection for its whole life, so a limit would be a hidden
    cap on concurrent requests. Admission is decided elsewhere, openly.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_note_reuse)
        # Our own sweep watches first byte, idle and total; aiohttp's defaults (300 s in all) would cut streams.
        limits = aiohttp.ClientTimeout(total=None, sock_connect=timeouts.connect_seconds, sock_read=None)
        common: dict[str, Any] = {
            "auto_decompress": False,
            "cookie_jar": aiohttp.DummyCookieJar(),
            "timeout": limits,
            "trust_env": False,
            "skip_auto_headers": ("User-Agent", "Accept", "Accept-Encoding"),
        }
        self._pool = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=timeouts.pool_idle_seconds, ttl_dns_cache=10),
            trace_configs=[trace],
            **common,
        )
        self._fresh = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True, ttl_dns_cache=10), **common
        )

    async def close(self) -> None:
        await self._pool.close()
        await self._fresh.close()

    async def send(self, url: URL, body: bytes, headers: dict[str, str]) -> aiohttp.ClientResponse:
        """Raises GatewayError 503 (nobody listens) or 502 (the connection broke before any byte)."""
        reused = _Reused()
        try:
            return await self._pool.post(
                url, data=body, headers=headers, allow_redirects=False, trace_request_ctx=reused
            )
        except aiohttp.ServerDisconnectedError as exc:
            if not reused.value or not isinstance(exc.message, str):
                raise errors.upstream_failed() from exc  # a message object means that bytes had arrived
        except aiohttp.ClientConnectorError as exc:
            raise errors.engine_unavailable() from exc
        except (aiohttp.ConnectionTimeoutError, asyncio.TimeoutError) as exc:
            raise errors.engine_unavailable() from exc
        except aiohttp.ClientOSError as exc:
            if not reused.value:
                raise errors.upstream_failed() from exc
        except (aiohttp.ClientError, ValueError) as exc:
            raise errors.upstream_failed("upstream_protocol_error") from exc
        # The engine closed an idle connection just when it was picked up: it never saw the request. Once, anew.
        try:
            return await self._fresh.post(url, data=body, headers=headers, allow_redirects=False)
        except (aiohttp.ClientConnectorError, asyncio.TimeoutError) as exc:
            raise errors.engine_unavailable() from exc
        except (aiohttp.ClientError, ValueError) as exc:
            raise errors.upstream_failed() from exc


class _Reused:
    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = False


async def _note_reuse(_session: object, context: Any, _params: object) -> None:
    if context.trace_request_ctx is not None:
        context.trace_request_ctx.value = True
