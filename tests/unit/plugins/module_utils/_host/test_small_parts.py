# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths, back-off, notifications, atomic files, device locks, versions."""

from __future__ import annotations

import os
import re
import socket
import stat

import pytest
import yaml

from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, backoff, locks, notify, paths, version


@pytest.mark.parametrize("slug", ["demo", "a", "qwen3.5-35b", "0"])
def test_slugs_that_are_safe(slug):
    assert paths.is_slug(slug)


@pytest.mark.parametrize("slug", ["", "A", "a/b", "../x", "a@b", "-a", "a-", "a b", "a\n", "a" * 64, None])
def test_slugs_that_are_not_safe(slug):
    assert not paths.is_slug(slug)


def test_paths_for_one_engine():
    assert paths.engine_unit("demo") == "inference-engine@demo.service"
    assert paths.engine_spec("demo") == "/etc/indiaai-inference/engines/demo.json"
    assert paths.device_lock("GPU-1/../x") == "/run/indiaai-inference/locks/GPU-1_.._x.lock"


def test_all_paths_are_absolute_and_different():
    values = list(paths.as_dict().values())
    assert all(value.startswith("/") for value in values)
    assert len(set(values)) == len(values)


@pytest.mark.parametrize("count,expected", [(0, 0), (1, 2), (2, 4), (3, 8), (9, 512), (10, 900), (1000, 900)])
def test_back_off_doubles_up_to_its_maximum(count, expected):
    assert backoff.delay(count, 2, 900) == expected


def test_only_failures_inside_the_window_count():
    # 250 lies in the future: the list is older than the last boot
    assert backoff.recent([10, 100, 150, 250], now=200, window_seconds=100) == [150]
    assert backoff.recent([100], now=200, window_seconds=101) == [100]


def test_a_notification_keeps_one_line_per_field():
    assert notify.encode({"STATUS": "two\nREADY=1", "WATCHDOG": 1}) == b"STATUS=two READY=1\nWATCHDOG=1"


def test_notifications_reach_the_socket(tmp_path):
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as server:
        server.bind(address)
        notify.Notifier(address).status("loading", 30)
        assert server.recv(1000) == b"STATUS=loading\nEXTEND_TIMEOUT_USEC=30000000"


def test_nobody_to_notify_is_no_error(tmp_path):
    notify.Notifier("").ready("ready")
    notify.Notifier(str(tmp_path / "gone")).ready("ready")


def test_an_atomic_write_sets_content_and_mode_and_leaves_nothing_else(tmp_path):
    path = str(tmp_path / "secret")
    atomic.write(path, "one", 0o600)
    atomic.write(path, b"two", 0o640)
    assert (tmp_path / "secret").read_bytes() == b"two"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o640
    assert os.listdir(str(tmp_path)) == ["secret"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("old")

    def refuse(*unused):
        raise OSError("disk")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk"):
        atomic.write(str(path), "new")
    assert path.read_text() == "old" and os.listdir(str(tmp_path)) == ["file"]


def test_a_device_is_locked_by_one_at_a_time(tmp_path):
    first = locks.DeviceLocks(["b", "a"], str(tmp_path))
    second = locks.DeviceLocks(["b"], str(tmp_path))
    assert first.advance() and first.missing() is None
    assert not second.advance() and second.missing() == "b"
    first.release()
    assert second.advance()
    second.release()


def test_several_locks_are_taken_in_order(tmp_path):
    holder = locks.DeviceLocks(["b"], str(tmp_path))
    holder.advance()
    waiting = locks.DeviceLocks(["c", "b", "a"], str(tmp_path))
    assert not waiting.advance() and waiting.missing() == "b"
    third = locks.DeviceLocks(["c"], str(tmp_path))
    assert third.advance(), "what comes later in the order is not held while waiting"
    for held in (holder, waiting, third):
        held.release()


def test_the_version_is_that_of_the_collection():
    folder = os.path.dirname(os.path.realpath(__file__))
    while not os.path.exists(os.path.join(folder, "galaxy.yml")):
        parent = os.path.dirname(folder)
        if parent == folder:
            pytest.skip("galaxy.yml is not part of an installed collection")
        folder = parent
    with open(os.path.join(folder, "galaxy.yml"), encoding="utf-8") as handle:
        assert version.VERSION == yaml.safe_load(handle)["version"]


def test_the_digest_depends_on_names_and_contents():
    assert re.match(r"[0-9a-f]{12}\Z", version.digest({"a.py": b"x"}))
    assert len({version.digest(files) for files in ({"a.py": b"x"}, {"a.py": b"y"}, {"b.py": b"x"}, {})}) == 4
