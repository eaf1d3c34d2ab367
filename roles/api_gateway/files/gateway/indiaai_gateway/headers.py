# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which headers pass, in both directions.

To the engine goes a short list of known harmless headers, plus what the gateway sets itself: an engine obeys some
headers (a data-parallel rank, for one), so an unknown header of a client is not forwarded. From the engine everything
passes but hop-by-hop headers and those that describe the engine's own connection.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
import secrets
from collections.abc import Iterable

from . import keyformat

REQUEST_FORWARDED = {
    b"accept": "Accept",
    b"user-agent": "User-Agent",
    b"traceparent": "traceparent",
    b"tracestate": "tracestate",
}

_HOP_BY_HOP = frozenset(
    (b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te",
     b"trailer", b"transfer-encoding", b"upgrade")
)
_RESPONSE_DROPPED = _HOP_BY_HOP | {b"content-length", b"server", b"date", b"x-request-id", b"x-gateway-error", b"set-cookie"}
# A request id is unique, not secret: random for the process, counted within it, without a system call each time.
_PROCESS = secrets.token_hex(8)
_COUNTER = itertools.count(1)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}\Z")
_FIELD_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def as_dict(raw: Iterable[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], bool]:
    """Headers by lower-case name (the last of a name wins), and whether Authorization came more than once."""
    found: dict[bytes, bytes] = {}
    repeated = False
    for name, value in raw:
        if name == b"authorization" and name in found:
            repeated = True
        found[name] = value
    return found, repeated


def bearer(value: bytes) -> str | None:
    """The token of ``Authorization: Bearer TOKEN``; None for anything else, of any bytes and length."""
    if len(value) > 512:
        return None
    scheme, _space, token = value.partition(b" ")
    if scheme.lower() != b"bearer":
        return None
    try:
        return token.strip().decode("ascii")
    except UnicodeDecodeError:
        return None


def request_id(client_value: bytes | None) -> tuple[str, str]:
    """(id for the client, the rows and the logs; id for the engine).

    The engine's is made unique: it may key its own state by it, and a client may repeat one. A client that sends its key
    here by mistake must not find it in every log.
    """
    if client_value and _REQUEST_ID.match(client_value) and keyformat.PREFIX.encode() not in client_value:
        given = client_value.decode("ascii")
        return given, f"{given}-{_PROCESS}{next(_COUNTER):x}"
    made = f"req-{_PROCESS}{next(_COUNTER):08x}"
    return made, made


def for_engine(client: dict[bytes, bytes], engine_key: str | None, upstream_id: str) -> dict[str, str]:
    found = {"Content-Type": "application/json", "Accept-Encoding": "identity", "X-Request-Id": upstream_id}
    for name, label in REQUEST_FORWARDED.items():
        value = client.get(name)
        if value is not None and not _FIELD_CONTROL.search(value):
            found[label] = value.decode("latin-1")
    if engine_key:
        found["Authorization"] = f"Bearer {engine_key}"
    return found


def for_client(raw: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The engine's response headers that pass, names in lower case."""
    named: set[bytes] = set()
    pairs = [(name.lower(), value) for name, value in raw]
    for name, value in pairs:
        if name == b"connection":
            named.update(token.strip().lower() for token in value.split(b","))
    return [
        (name, value)
        for name, value in pairs
        if name not in _RESPONSE_DROPPED and name not in named and not _FIELD_CONTROL.search(value)
    ]


class ClientAddress:
    """Who the client is: X-Real-IP from the unix socket or a trusted proxy, else the peer itself."""

    def __init__(self, trusted: Iterable[str]) -> None:
        self._trusted = [ipaddress.ip_network(item) for item in trusted]

    def find(self, peer: tuple[str, int] | None, real_ip: bytes | None) -> str | None:
        """``peer`` is None for a connection over the unix socket."""
        if real_ip is not None and (peer is None or self._is_trusted(peer[0])):
            try:
                return str(ipaddress.ip_address(real_ip.decode("ascii").strip()))
            except ValueError:
                pass  # not an address: fall back to the peer
        return peer[0] if peer else None

    def _is_trusted(self, address: str) -> bool:
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = getattr(parsed, "ipv4_mapped", None)
        parsed = mapped or parsed
        return any(parsed in network for network in self._trusted)
