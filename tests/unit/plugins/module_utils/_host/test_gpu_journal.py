# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The undo journal's kind gpu: what we set goes back, and where the GPU is gone nothing is left to put back."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import journal, journal_kinds, nvml
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import gpus


@pytest.fixture
def world(tmp_path, monkeypatch):
    """(GPU, library, journal) of a host."""
    for name in ("etc", "var/lib"):
        (tmp_path / name).mkdir(parents=True)
    gpu = gpus.Gpu(0)
    library = gpus.Library([gpu])
    monkeypatch.setattr(journal_kinds.nvml, "Library", library)
    return gpu, library, journal.Journal(root=str(tmp_path), system=object())


def items(gpu, *settings):
    return [{"kind": "gpu", "name": "%s %s" % (gpu.uuid(), setting)} for setting in settings]


def test_locks_limit_and_persistence_go_back_to_what_was_recorded_first(world):
    gpu, unused, book = world
    gpu.limit = 650000
    book.record("gpu_clocks", items(gpu, "persistence", "power_limit", "sm_clock", "memory_clock"))
    gpu.on, gpu.limit, gpu.sm_lock, gpu.memory_lock = True, 500000, (1980, 1980), (3201, 3201)
    book.record("gpu_clocks", items(gpu, "power_limit"))
    result = book.restore("gpu_clocks")
    assert len(result["restored"]) == 4 and not result["failed"]
    assert (gpu.on, gpu.limit, gpu.sm_lock, gpu.memory_lock) == (False, 650000, None, None)


def test_a_lock_that_we_did_not_make_is_left_alone(world):
    gpu, unused, book = world
    gpu.sm_lock = (1500, 1500)
    book.record("gpu_clocks", items(gpu, "power_limit"))
    book.restore("gpu_clocks")
    assert gpu.sm_lock == (1500, 1500) and not gpu.calls


@pytest.mark.parametrize("code", [nvml.LIBRARY_NOT_FOUND, nvml.DRIVER_NOT_LOADED])
def test_without_a_driver_nothing_is_left_to_undo(world, code):
    gpu, library, book = world
    book.record("gpu_clocks", items(gpu, "sm_clock"))
    library.error = code
    result = book.restore("gpu_clocks")
    assert not result["failed"] and "no driver" in result["kept"][0]["reason"]
    assert not book.entries()


def test_a_gpu_that_was_taken_out_keeps_no_undo_back(world):
    gpu, library, book = world
    book.record("gpu_clocks", items(gpu, "sm_clock"))
    library.gpus = []
    assert not book.restore("gpu_clocks")["failed"] and not book.entries()


def test_a_refusal_stays_in_the_journal(world):
    gpu, unused, book = world
    book.record("gpu_clocks", items(gpu, "sm_clock"))
    gpu.refuse["reset_sm"] = nvml.UNKNOWN
    assert "UNKNOWN" in book.restore("gpu_clocks")["failed"][0]["reason"] and book.entries()


def test_a_memory_clock_that_could_not_be_locked_needs_no_undo(world):
    gpu, unused, book = world
    book.record("gpu_clocks", items(gpu, "memory_clock"))
    gpu.refuse["reset_memory"] = nvml.NOT_SUPPORTED
    assert book.restore("gpu_clocks")["restored"]


def test_what_cannot_be_read_is_not_recorded_so_nothing_may_be_changed(world):
    gpu, unused, book = world
    gpu.refuse["power_limit"] = nvml.UNKNOWN
    with pytest.raises(journal.JournalError):
        book.record("gpu_clocks", items(gpu, "power_limit"))
