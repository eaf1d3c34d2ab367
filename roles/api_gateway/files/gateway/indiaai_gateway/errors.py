# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one table of errors that the gateway itself makes, in OpenAI's shape.

Body: ``{"error": {"message", "type", "param", "code"}}``, ``code`` always a string. The header
``x-gateway-error`` carries the code, so that a gateway error is never taken for an engine's.
Texts name no host, address, file or key.
"""

from __future__ import annotations

import orjson

Header = tuple[bytes, bytes]


class GatewayError(Exception):
    """An answer to the client. Made anew for each use: a shared instance would collect tracebacks."""

    def __init__(
        self,
        status: int,
        kind: str,
        code: str,
        message: str,
        param: str | None = None,
        retry_after: int | None = None,
        headers: tuple[Header, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.code = code
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.headers = headers

    def body(self) -> bytes:
        return orjson.dumps(
            {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}
        )

    def response_headers(self) -> list[Header]:
        found = [(b"x-gateway-error", self.code.encode("ascii")), *self.headers]
        if self.retry_after is not None:
            found.append((b"retry-after", b"%d" % self.retry_after))
        return found

    def event(self) -> bytes:
        """The same error as one server-sent event, for a stream that has begun."""
        return b"data: " + self.body() + b"\n\n"


class ClientGone(Exception):
    """The client closed its connection before its request was complete."""


def bad_request(message: str, param: str | None = None, code: str = "invalid_request") -> GatewayError:
    return GatewayError(400, "invalid_request_error", code, message, param)


def invalid_api_key() -> GatewayError:
    # One text for missing, malformed, unknown, disabled and expired: it must not tell them apart.
    return GatewayError(
        401,
        "invalid_request_error",
        "invalid_api_key",
        "Incorrect API key provided. Send a valid key as 'Authorization: Bearer <key>'.",
        headers=((b"www-authenticate", b"Bearer"),),
    )


def auth_unavailable() -> GatewayError:
    return GatewayError(503, "server_error", "auth_unavailable", "Keys cannot be checked right now; try again.", retry_after=2)


def model_not_found(name: str) -> GatewayError:
    # The same answer whether the model does not exist or the key may not use it.
    shown = name if len(name) <= 128 else name[:128] + "…"
    return GatewayError(
        404,
        "invalid_request_error",
        "model_not_found",
        f"The model '{shown}' does not exist or this key may not use it.",
        "model",
    )


def unknown_path() -> GatewayError:
    return GatewayError(404, "invalid_request_error", "unknown_url", "This path does not exist. See GET /v1/models.")


def method_not_allowed(allowed: str) -> GatewayError:
    return GatewayError(
        405,
        "invalid_request_error",
        "method_not_allowed",
        f"Use {allowed} for this path.",
        headers=((b"allow", allowed.encode("ascii")),),
    )


def body_too_large(limit: int) -> GatewayError:
    return GatewayError(
        413, "invalid_request_error", "request_too_large", f"The request body is larger than {limit} bytes.",
        headers=((b"connection", b"close"),),
    )


def unsupported_encoding() -> GatewayError:
    return GatewayError(
        415, "invalid_request_error", "unsupported_content_encoding", "Send the request body without Content-Encoding."
    )


def overloaded(what: str) -> GatewayError:
    return GatewayError(503, "server_error", "overloaded", f"{what} is at its limit of concurrent requests; try again.", retry_after=1)


def draining() -> GatewayError:
    return GatewayError(503, "server_error", "draining", "The gateway is restarting; try again.", retry_after=2)


def engine_unavailable() -> GatewayError:
    return GatewayError(503, "server_error", "engine_unavailable", "The model is not ready yet; try again.", retry_after=5)


def upstream_failed(code: str = "upstream_disconnected") -> GatewayError:
    return GatewayError(502, "upstream_error", code, "The engine stopped answering before the response was complete.")


def upstream_rejected() -> GatewayError:
    # The engine refused the gateway's own key, or redirected: a fault of the installation, never the client's.
    return GatewayError(502, "upstream_error", "upstream_misconfigured", "The gateway and the engine do not agree; tell the operator.")


def upstream_timeout(which: str) -> GatewayError:
    return GatewayError(504, "upstream_error", "upstream_timeout", f"The engine exceeded the {which} time limit.")


def internal() -> GatewayError:
    return GatewayError(500, "server_error", "internal_error", "Internal error of the gateway.")
