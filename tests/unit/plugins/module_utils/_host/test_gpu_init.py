# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""At boot: the driver is loaded, the GPUs are waited for inside, and the settings hold; what is missing has its own exit code."""

from __future__ import annotations

import re

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import cli, gpu_init, gpu_policy, gpu_record, gpu_units, journal, nvml, paths
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import gpus

LOCK = dict(gpu_policy.DEFAULTS, policy="lock_max", expected_gpus=2)


class Commands:
    """Notes what is asked of the host."""

    def __init__(self, calls):
        self.calls = calls

    def load_driver(self, count):
        self.calls.append("load driver for %d" % count)

    def start_daemon(self):
        self.calls.append("start daemon")


class Book:
    """An undo journal that notes, or refuses."""

    def __init__(self, calls):
        self.calls, self.broken = calls, False

    def record(self, role, items):
        if self.broken:
            raise journal.JournalError("the disk is full")
        self.calls.append("record %d of %s" % (len(items), role))


class Bench:
    """A host at boot."""

    def __init__(self, folder, count=2, on_bus=2):
        self.gpus = [gpus.Gpu(number) for number in range(count)]
        self.library = gpus.Library(self.gpus)
        self.clock, self.calls, self.said = gpus.Clock(), [], []
        self.on_bus, self.record, self.book = on_bus, gpu_record.Record(str(folder / "record.json"), "boot"), Book(self.calls)

    def run(self, settings=None, wait=None):
        boot = gpu_init.Boot(self.said.append, self.clock, Commands(self.calls), self.library, lambda: self.on_bus, self.record, self.book)
        return boot.run(LOCK if settings is None else settings, wait)

    def late(self, seconds, error=nvml.DRIVER_NOT_LOADED):
        self.library.error = error

        def come():
            self.library.error = None
        self.clock.events = [(seconds, come)]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_everything_is_set_and_recorded_first(bench):
    assert bench.run() == 0
    assert bench.calls == ["load driver for 2", "start daemon", "record 4 of gpu_clocks"]
    assert all(gpu.sm_lock == (1980, 1980) for gpu in bench.gpus)
    bench.calls.clear()
    assert bench.run() == 0
    assert bench.calls == ["load driver for 2", "start daemon"], "nothing left to do"


def test_a_gpu_that_is_60_s_late_is_waited_for_inside(bench):
    """Report 34: a unit that fails and is started again releases what is ordered after it."""
    bench.late(60)
    assert bench.run() == 0
    assert 60 <= bench.clock.time < 70 and all(gpu.sm_lock for gpu in bench.gpus)
    assert bench.calls.count("load driver for 2") > 3, "loading the driver is tried again"


def test_the_second_of_two_gpus_that_is_late_is_waited_for(bench):
    last = bench.library.gpus.pop()
    bench.clock.events = [(40, lambda: bench.library.gpus.append(last))]
    assert bench.run() == 0
    assert last.sm_lock == (1980, 1980) and bench.clock.time >= 40


def test_device_nodes_are_made_before_the_daemon_is_started(bench):
    """Report 11: the daemon gives up at boot when nothing has made the nodes."""
    bench.late(10)
    bench.run()
    assert bench.calls.index("load driver for 2") < bench.calls.index("start daemon")


@pytest.mark.parametrize("error, on_bus, code, word", [
    (nvml.LIBRARY_NOT_FOUND, 0, 0, "no NVIDIA GPU"), (nvml.DRIVER_NOT_LOADED, 2, 69, "driver_missing"), (nvml.LIBRARY_NOT_FOUND, 2, 69, "driver_missing")])
def test_no_gpu_and_no_driver_have_different_exit_codes(bench, error, on_bus, code, word):
    """Report 14."""
    bench.library.error, bench.on_bus = error, on_bus
    assert bench.run(dict(LOCK, expected_gpus=0)) == code
    assert word in bench.said[-1]


def test_without_a_gpu_there_is_nothing_to_wait_for(bench):
    bench.library.error, bench.on_bus = nvml.LIBRARY_NOT_FOUND, 0
    bench.run(dict(LOCK, expected_gpus=0))
    assert bench.clock.time == 0 and not bench.calls


def test_gpus_that_were_here_are_waited_for_although_the_bus_is_empty(bench):
    bench.library.error, bench.on_bus = nvml.DRIVER_NOT_LOADED, 0
    assert bench.run() == 69
    assert 300 <= bench.clock.time < 305


def test_the_wait_ends(bench):
    bench.late(100)
    assert bench.run(wait=20) == 69
    assert 20 <= bench.clock.time < 25


def test_those_that_came_are_set_when_one_never_does(bench):
    bench.library.gpus.pop()
    assert bench.run(wait=10) == 1
    assert bench.gpus[0].sm_lock and "1 of 2 GPUs" in bench.said[-1]


def test_a_library_that_does_not_fit_the_driver_is_not_waited_for(bench):
    bench.library.error = nvml.VERSION_MISMATCH
    assert bench.run() == 69
    assert bench.clock.time == 0 and "reboot" in bench.said[-1]


def test_a_lost_gpu_fails_and_the_other_is_set(bench):
    bench.gpus[0].lost = nvml.GPU_IS_LOST
    assert bench.run() == 1
    assert bench.gpus[1].sm_lock


def test_a_clock_that_is_not_supported_any_more_is_refused_and_nothing_is_set(bench):
    assert bench.run(dict(LOCK, policy="range", sm_max_mhz=1999)) == 78
    assert not any(gpu.calls for gpu in bench.gpus) and "nearest" in bench.said[-1]


def test_without_the_journal_nothing_is_set(bench):
    bench.book.broken = True
    assert bench.run() == 1
    assert not any(gpu.calls for gpu in bench.gpus)


def test_without_settings_there_is_nothing_to_do(bench):
    assert gpu_init.Boot(bench.said.append, bench.clock, Commands(bench.calls), bench.library, lambda: 2, bench.record, bench.book).run(None) == 0
    assert not bench.calls


def test_persistence_that_nobody_wants_starts_no_daemon(bench):
    bench.run(dict(LOCK, persistence=False))
    assert "start daemon" not in bench.calls


def test_docker_waits_for_the_unit_and_does_not_need_it():
    """Report 34: in order, and up even when the GPUs never come."""
    files = gpu_units.files(dict(gpu_policy.DEFAULTS, wait_seconds=100))
    unit = files["/etc/systemd/system/gpu-init.service"]
    assert "Before=docker.service" in unit and "Type=oneshot" in unit and not re.search(r"^Restart=", unit, re.MULTILINE)
    assert int(re.search(r"TimeoutStartSec=(\d+)", unit).group(1)) > 100
    assert "ExecStart=%s gpu-init\n" % paths.CLI in unit
    for name in ("docker.service", "inference-engine@.service"):
        text = files["/etc/systemd/system/%s.d/20-indiaai-inference-gpu.conf" % name]
        assert "Wants=gpu-init.service" in text and "After=gpu-init.service" in text and "Requires" not in text


def test_the_command_reads_its_settings(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(cli.gpu_clocks.load_settings, "__defaults__", (str(tmp_path / "gpu-clocks.json"),))
    assert cli.main(["gpu-init"]) == 0
    assert "nothing to do, no settings" in capsys.readouterr().out
    (tmp_path / "gpu-clocks.json").write_text('{"schema_version": 1, "policy": "fast"}')
    assert cli.main(["gpu-init", "--wait", "0"]) == 78
    assert "gpu_clocks_policy" in capsys.readouterr().err
