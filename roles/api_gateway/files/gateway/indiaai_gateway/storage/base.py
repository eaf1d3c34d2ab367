# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the gateway needs from a database; the SQLite files implement it today.

All calls block and are made from threads or the command line, never from the event loop.
Times are integers: microseconds since 1970, UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

ALL_MODELS = "*"


class StoreUnavailable(Exception):
    """The database cannot be read or written right now (missing, locked, full, damaged)."""


class NameTaken(Exception):
    """A key with this name exists."""


@dataclass(frozen=True)
class KeyRecord:
    """A key as stored: never the secret, only its SHA-256."""

    id: str
    name: str
    hash: bytes
    prefix: str
    last4: str
    models: tuple[str, ...]  # ("*",) = every model
    enabled: bool
    expires_at: int | None
    created_at: int

    def public(self) -> dict[str, Any]:
        """What may be shown to an operator."""
        return {
            "id": self.id,
            "name": self.name,
            "prefix": self.prefix,
            "last4": self.last4,
            "models": list(self.models),
            "enabled": self.enabled,
            "expires_at": self.expires_at,
            "created_at": self.created_at,
        }


class UsageRow(NamedTuple):
    """One request. Field order is the column order of the table."""

    ts: int
    request_id: str
    key_id: str
    model: str | None
    upstream_model: str | None
    endpoint: str
    stream: int
    status: int  # of the outcome: 499 client left, 502/504 for a stream that broke after its 200
    error_code: str | None
    completed: int
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    reasoning_tokens: int | None
    estimated: int
    ttft_ms: float | None
    duration_ms: float
    client_ip: str | None
    bytes_out: int


class KeyStore(Protocol):
    def version(self) -> str:
        """A value that differs after every change of any key."""

    def load(self) -> list[KeyRecord]: ...

    def create(self, name: str, secret_hash: bytes, prefix: str, last4: str, models: tuple[str, ...],
               enabled: bool, expires_at: int | None) -> KeyRecord:
        """Raises NameTaken."""

    def update(self, name: str, changes: dict[str, Any]) -> KeyRecord | None:
        """Set ``models``, ``enabled``, ``expires_at``; None when there is no such key."""

    def delete(self, name: str) -> bool: ...

    def close(self) -> None: ...


class UsageStore(Protocol):
    def write(self, rows: list[UsageRow]) -> int:
        """Store the rows in one transaction; returns how many were refused as invalid. Raises StoreUnavailable."""

    def read(self, since: int, limit: int) -> list[UsageRow]: ...

    def close(self) -> None: ...
