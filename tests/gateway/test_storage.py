# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Usage rows and their writer: D1, D3-D6, D9, and the process that must not lose them (D4)."""

from __future__ import annotations

import sqlite3
import threading
import time

import pytest
from conftest import in_background, until
from indiaai_gateway.storage import StoreUnavailable, UsageRow
from indiaai_gateway.storage.sqlite import SqliteKeyStore, SqliteUsageStore
from indiaai_gateway.usage import UsageWriter, counts


def row(number: int, **more) -> UsageRow:
    values = dict(
        ts=number, request_id=f"r{number}", key_id="k", model="m", upstream_model="m", endpoint="/v1/x", stream=0, status=200,
        error_code=None, completed=1, prompt_tokens=1, completion_tokens=2, cached_tokens=None, reasoning_tokens=None, estimated=0,
        ttft_ms=1.0, duration_ms=2.0, client_ip=None, bytes_out=3,
    )
    return UsageRow(**{**values, **more})


def test_D1_wal_version_and_mode(tmp_path):
    for store, name, level in ((SqliteUsageStore(tmp_path / "usage.db"), "usage.db", 1), (SqliteKeyStore(tmp_path / "keys.db"), "keys.db", 2)):
        with store._database.connection() as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
            assert connection.execute("PRAGMA user_version").fetchone() == (1,)
            assert connection.execute("PRAGMA busy_timeout").fetchone()[0] >= 1000
        store.close()


def test_D1_writers_of_two_processes_worth_of_connections_do_not_fail(tmp_path):
    stores = [SqliteUsageStore(tmp_path / "usage.db") for _unused in range(4)]
    failures = []

    def write(store):
        for number in range(200):
            try:
                store.write([row(number)])
            except StoreUnavailable as exc:
                failures.append(exc)

    threads = [in_background(lambda store=store: write(store)) for store in stores]
    for thread in threads:
        thread.join(30)
    assert not failures and len(stores[0].read(0, 10_000)) == 800


def test_D6_a_bad_row_does_not_take_its_batch_along(tmp_path):
    store = SqliteUsageStore(tmp_path / "usage.db")
    assert store.write([row(1), row(2, duration_ms=None), row(3, status="text"), row(4)]) == 2
    assert [found.ts for found in store.read(0, 10)] == [1, 4]


def test_D9_a_newer_schema_is_left_alone(tmp_path):
    store = SqliteUsageStore(tmp_path / "usage.db")
    store.write([row(1)])
    store.close()
    with sqlite3.connect(tmp_path / "usage.db") as database:
        database.execute("ALTER TABLE usage ADD COLUMN later TEXT")
        database.execute("PRAGMA user_version=2")
    store.write([row(2)])
    assert len(store.read(0, 10)) == 2


class _Store:
    """A store that can be told to fail."""

    def __init__(self):
        self.rows = []
        self.broken = False

    def write(self, rows):
        if self.broken:
            raise StoreUnavailable("database or disk is full")
        self.rows += rows
        return 0

    def close(self):
        pass


def test_D3_D5_a_failing_store_never_blocks_and_drops_are_counted():
    store = _Store()
    store.broken = True
    writer = UsageWriter(store, queue_rows=100, log_requests=False)
    writer.start()
    began = time.monotonic()
    for number in range(250):
        writer.add(row(number), "k")
    assert time.monotonic() - began < 0.1
    assert writer.dropped == 150
    until(lambda: writer.failing, 2)
    store.broken = False
    until(lambda: len(store.rows) == 100, 3)
    writer.add(row(999), "k")
    writer.stop()
    assert [found.ts for found in store.rows] == [*range(100), 999] and not writer.failing


def test_D3_rows_are_on_disk_within_a_moment(tmp_path):
    store = SqliteUsageStore(tmp_path / "usage.db")
    writer = UsageWriter(store, 1000, False)
    writer.start()
    writer.add(row(1), "k")
    reader = SqliteUsageStore(tmp_path / "usage.db")
    assert until(lambda: reader.read(0, 10), 1) < 0.5
    writer.stop()


def test_writer_keeps_up_with_five_thousand_rows_a_second(tmp_path):
    store = SqliteUsageStore(tmp_path / "usage.db")
    writer = UsageWriter(store, 100_000, False)
    writer.start()
    began = time.monotonic()
    for number in range(20_000):
        writer.add(row(number), "k")
    writer.stop(30)
    assert time.monotonic() - began < 4 and writer.dropped == 0
    assert len(SqliteUsageStore(tmp_path / "usage.db").read(0, 100_000)) == 20_000


def test_D4_kill_9_loses_at_most_one_second(own_gateway, engine):
    gateway = own_gateway()
    gateway.key()
    sent: list[tuple[float, str]] = []
    stop = threading.Event()

    def load():
        while not stop.is_set():
            try:
                found = gateway.chat()
            except (ConnectionError, OSError):
                return
            sent.append((time.monotonic(), found.headers["x-request-id"]))

    threads = [in_background(load) for _unused in range(2)]
    time.sleep(1.5)
    killed = time.monotonic()
    gateway.kill()
    stop.set()
    for thread in threads:
        thread.join(5)
    kept = {found["request_id"] for found in gateway.usage()}
    lost = [moment for moment, request_id in sent if request_id not in kept]
    assert len(sent) > 20 and all(killed - moment < 1 for moment in lost)
    with sqlite3.connect(gateway.state / "usage.db") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_clean_stop_loses_nothing(own_gateway):
    gateway = own_gateway()
    gateway.key()
    ids = {gateway.chat().headers["x-request-id"] for _unused in range(20)}
    assert gateway.stop() == 0
    assert ids <= {found["request_id"] for found in gateway.usage()}


def test_D5_unwritable_database_requests_go_on(own_gateway):
    gateway = own_gateway()
    gateway.key()
    gateway.chat()
    until(gateway.usage, 2)
    with sqlite3.connect(gateway.state / "usage.db", isolation_level=None) as lock:
        lock.execute("BEGIN EXCLUSIVE")  # longer than the writer's busy time-out
        began = time.monotonic()
        assert [gateway.chat().status for _unused in range(5)] == [200] * 5
        assert time.monotonic() - began < 3
        until(lambda: gateway.ready()["usage"]["failing"], 8)
        assert gateway.request("GET", "/ready", key=None).status == 200
        lock.execute("ROLLBACK")
    until(lambda: len(gateway.usage()) == 6, 8)


@pytest.mark.parametrize(
    ("usage", "wanted"),
    [
        (None, (None,) * 4),
        ({}, (None,) * 4),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (0, 0, None, None)),
        ({"prompt_tokens": 5, "completion_tokens": "6", "prompt_tokens_details": None}, (5, None, None, None)),
        ({"prompt_tokens": True, "completion_tokens": -1}, (None,) * 4),
        ({"prompt_tokens": 5, "completion_tokens": 6, "prompt_tokens_details": {"cached_tokens": 1},
          "completion_tokens_details": {"reasoning_tokens": 2}}, (5, 6, 1, 2)),
    ],
)
def test_A4_counts(usage, wanted):
    assert counts(usage) == wanted
