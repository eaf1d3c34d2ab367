# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys and usage rows in two SQLite files.

Two files, because they want different care: a key change must survive a power cut
(``synchronous=FULL``), a usage row may lose the last moments (NORMAL). Both use WAL, a busy
time-out, and ``BEGIN IMMEDIATE`` for each write: a transaction that reads first and then writes
fails at once with "database is locked", whatever the time-out. ``PRAGMA user_version`` is the
schema version; each migration is one script and runs in one transaction.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .base import KeyRecord, NameTaken, StoreUnavailable, UsageRow

BUSY_SECONDS = 5.0

KEY_MIGRATIONS = (
    (
        "CREATE TABLE keys (id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, hash BLOB NOT NULL UNIQUE,"
        " prefix TEXT NOT NULL, last4 TEXT NOT NULL, models TEXT NOT NULL, enabled INTEGER NOT NULL,"
        " expires_at INTEGER, created_at INTEGER NOT NULL) STRICT",
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT",
        "INSERT INTO meta (name, value) VALUES ('version', 0)",
    ),
)

USAGE_MIGRATIONS = (
    (
        "CREATE TABLE usage (id INTEGER PRIMARY KEY, ts INTEGER NOT NULL, request_id TEXT NOT NULL,"
        " key_id TEXT NOT NULL, model TEXT, upstream_model TEXT, endpoint TEXT NOT NULL, stream INTEGER NOT NULL,"
        " status INTEGER NOT NULL, error_code TEXT, completed INTEGER NOT NULL, prompt_tokens INTEGER,"
        " completion_tokens INTEGER, cached_tokens INTEGER, reasoning_tokens INTEGER, estimated INTEGER NOT NULL,"
        " ttft_ms REAL, duration_ms REAL NOT NULL, client_ip TEXT, bytes_out INTEGER NOT NULL) STRICT",
        "CREATE INDEX usage_ts ON usage (ts)",
    ),
)

_USAGE_COLUMNS = ", ".join(UsageRow._fields)
_INSERT_USAGE = f"INSERT INTO usage ({_USAGE_COLUMNS}) VALUES ({', '.join('?' * len(UsageRow._fields))})"
_KEY_COLUMNS = "id, name, hash, prefix, last4, models, enabled, expires_at, created_at"


def now_us() -> int:
    return time.time_ns() // 1000


class _Database:
    """One connection to one file; opened, migrated, and reopened when the file was replaced."""

    def __init__(self, path: Path, migrations: tuple[tuple[str, ...], ...], synchronous: str) -> None:
        self._path = path
        self._migrations = migrations
        self._synchronous = synchronous
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """The connection; database and file-system failures become StoreUnavailable."""
        try:
            yield self._open()
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, OSError) as exc:
            self.close()
            raise StoreUnavailable(f"{self._path.name}: {exc}") from exc

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        with self.connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    def close(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._connection = None
            self._inode = None

    def _open(self) -> sqlite3.Connection:
        if self._connection is not None and self._inode != self._identity():
            self.close()  # a restored backup, or a removed file
        if self._connection is None:
            # Created with its mode, so that no reader slips in between.
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640))
            connection = sqlite3.connect(
                self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA synchronous={self._synchronous}")
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
            self._inode = self._identity()
        return self._connection

    def _identity(self) -> tuple[int, int] | None:
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            return None
        return stat.st_dev, stat.st_ino

    def _migrate(self, connection: sqlite3.Connection) -> None:
        wanted = len(self._migrations)
        if connection.execute("PRAGMA user_version").fetchone()[0] >= wanted:
            return  # also a newer schema: migrations only add, so one release back can read it
        connection.execute("BEGIN IMMEDIATE")
        try:
            found = connection.execute("PRAGMA user_version").fetchone()[0]
            for script in self._migrations[found:]:
                for statement in script:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={wanted}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _record(row: tuple[Any, ...]) -> KeyRecord:
    return KeyRecord(
        id=row[0], name=row[1], hash=row[2], prefix=row[3], last4=row[4],
        models=tuple(json.loads(row[5])), enabled=bool(row[6]), expires_at=row[7], created_at=row[8],
    )


class SqliteKeyStore:
    """Implements storage.base.KeyStore."""

    def __init__(self, path: Path) -> None:
        self._database = _Database(path, KEY_MIGRATIONS, "FULL")

    def version(self) -> str:
        with self._database.connection() as connection:
            value = connection.execute("SELECT value FROM meta WHERE name='version'").fetchone()[0]
        # With the inode: a restored file may carry the same number.
        return f"{self._database._inode}:{value}"

    def load(self) -> list[KeyRecord]:
        with self._database.connection() as connection:
            rows = connection.execute(f"SELECT {_KEY_COLUMNS} FROM keys ORDER BY name").fetchall()
        return [_record(row) for row in rows]

    def create(
        self, name: str, secret_hash: bytes, prefix: str, last4: str, models: tuple[str, ...],
        enabled: bool, expires_at: int | None,
    ) -> KeyRecord:
        record = KeyRecord(
            id="key_" + secrets.token_hex(8), name=name, hash=secret_hash, prefix=prefix, last4=last4,
            models=models, enabled=enabled, expires_at=expires_at, created_at=now_us(),
        )
        try:
            with self._database.transaction() as connection:
                connection.execute(
                    f"INSERT INTO keys ({_KEY_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (record.id, name, secret_hash, prefix, last4, json.dumps(list(models)), int(enabled),
                     expires_at, record.created_at),
                )
                self._touch(connection)
        except sqlite3.IntegrityError as exc:
            raise NameTaken(name) from exc
        return record

    def update(self, name: str, changes: dict[str, Any]) -> KeyRecord | None:
        columns = {key: changes[key] for key in ("models", "enabled", "expires_at") if key in changes}
        if "models" in columns:
            columns["models"] = json.dumps(list(columns["models"]))
        if "enabled" in columns:
            columns["enabled"] = int(columns["enabled"])
        with self._database.transaction() as connection:
            if columns:
                assignments = ", ".join(f"{column}=?" for column in columns)
                connection.execute(f"UPDATE keys SET {assignments} WHERE name=?", (*columns.values(), name))
                self._touch(connection)
            row = connection.execute(f"SELECT {_KEY_COLUMNS} FROM keys WHERE name=?", (name,)).fetchone()
        return _record(row) if row else None

    def delete(self, name: str) -> bool:
        with self._database.transaction() as connection:
            gone = connection.execute("DELETE FROM keys WHERE name=?", (name,)).rowcount > 0
            if gone:
                self._touch(connection)
        return gone

    def close(self) -> None:
        self._database.close()

    @staticmethod
    def _touch(connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE meta SET value = value + 1 WHERE name='version'")


class SqliteUsageStore:
    """Implements storage.base.UsageStore."""

    def __init__(self, path: Path) -> None:
        self._database = _Database(path, USAGE_MIGRATIONS, "NORMAL")

    def write(self, rows: list[UsageRow]) -> int:
        try:
            with self._database.transaction() as connection:
                connection.executemany(_INSERT_USAGE, rows)
            return 0
        except sqlite3.IntegrityError:
            return self._write_singly(rows)

    def _write_singly(self, rows: list[UsageRow]) -> int:
        """One bad row must not take its batch along."""
        refused = 0
        with self._database.transaction() as connection:
            for row in rows:
                try:
                    connection.execute(_INSERT_USAGE, row)
                except sqlite3.IntegrityError:
                    refused += 1
        return refused

    def read(self, since: int, limit: int) -> list[UsageRow]:
        with self._database.connection() as connection:
            found = connection.execute(
                f"SELECT {_USAGE_COLUMNS} FROM usage WHERE ts >= ? ORDER BY ts, id LIMIT ?", (since, limit)
            ).fetchall()
        return [UsageRow(*row) for row in found]

    def close(self) -> None:
        self._database.close()
