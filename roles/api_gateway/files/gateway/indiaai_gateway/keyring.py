# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All keys in memory, kept fresh by a thread that watches the store's version.

A request never waits for the database. When the store cannot be read, keys that are known go on working and
an unknown one gets 503 instead of 401: a broken store must never look like a wrong key.
"""

from __future__ import annotations

import hmac
import threading
import time

from . import errors, keyformat, log
from .storage import KeyRecord, KeyStore
from .storage.base import ALL_MODELS


class Key:
    """One key as the request path uses it."""

    __slots__ = ("id", "hash", "label", "_models", "_enabled", "_expires_at")

    def __init__(self, record: KeyRecord) -> None:
        self.id = record.id
        self.hash = record.hash
        self.label = f"{record.prefix}…{record.last4}"
        self._models = None if ALL_MODELS in record.models else frozenset(record.models)
        self._enabled = record.enabled
        self._expires_at = None if record.expires_at is None else record.expires_at / 1e6

    def usable(self) -> bool:
        return self._enabled and (self._expires_at is None or time.time() < self._expires_at)

    def allows(self, model: str) -> bool:
        return self._models is None or model in self._models


class Keyring:
    def __init__(self, store: KeyStore, poll_seconds: float = 1.0) -> None:
        self._store = store
        self._poll_seconds = poll_seconds
        self._by_hash: dict[bytes, Key] = {}
        self._version: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.available = False

    def start(self) -> None:
        """Load once in the caller's thread, then keep watching in a thread of its own."""
        self.refresh()
        self._thread = threading.Thread(target=self._watch, name="keyring", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join(timeout=5)
        self._store.close()

    def refresh(self) -> None:
        try:
            version = self._store.version()
            if version != self._version:
                # The map is replaced as a whole; readers hold the old one or the new one.
                self._by_hash = {record.hash: Key(record) for record in self._store.load()}
                self._version = version
                log.info("keys loaded", count=len(self._by_hash))
            if not self.available and self._thread is not None:
                log.info("key store is back")
            self.available = True
        except Exception as exc:  # whatever a damaged store makes it raise: the gateway must outlive it
            if self.available or self._thread is None:
                log.error("key store unavailable", reason=f"{type(exc).__name__}: {exc}")
            self.available = False

    def _watch(self) -> None:
        while not self._stop.wait(self._poll_seconds):
            self.refresh()

    def authenticate(self, token: str | None) -> Key:
        """The key of a bearer token. Raises GatewayError 401, or 503 while the store cannot be read."""
        if token is None or len(token) != keyformat.LENGTH:
            raise errors.invalid_api_key()
        digest = keyformat.digest(token)
        key = self._by_hash.get(digest)
        if key is None:
            # Something that is no key at all is wrong whether the store can be read or not.
            if self.available or not keyformat.well_formed(token):
                raise errors.invalid_api_key()
            raise errors.auth_unavailable()
        if not hmac.compare_digest(key.hash, digest) or not key.usable():
            raise errors.invalid_api_key()
        return key
