# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs are set once, read back, and left alone afterwards; what cannot be had is refused while nothing has been touched."""

from __future__ import annotations

import json
import pathlib
import threading

import jsonschema
import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_bus, gpu_clocks, gpu_policy, gpu_record, nvml
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import gpus


class Bench:
    """Some GPUs, the record of this boot, and runs of what the module does."""

    def __init__(self, folder, *machines):
        self.gpus = list(machines) or [gpus.Gpu(0), gpus.Gpu(1)]
        self.path, self.boot = str(folder / "run" / "gpu-clocks.json"), "boot-1"
        self.clock = gpus.Clock()

    def run(self, **settings):
        """One run -> results; calls of the GPUs start anew."""
        for gpu in self.gpus:
            gpu.calls = []
        wanted = dict(gpu_policy.DEFAULTS, **settings)
        record = gpu_record.Record(self.path, self.boot)
        rows = gpu_clocks.prepare(wanted, gpu_clocks.survey(gpus.Library(self.gpus)), record)[0]
        gpu_clocks.apply(rows, record, self.clock)
        return gpu_clocks.results(rows, wanted, record, False)

    @property
    def calls(self):
        return [call for gpu in self.gpus for call in gpu.calls]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


LOCK = {"policy": "lock_max", "memory_lock": True, "power_limit_watts": 600}


def test_everything_is_set_once_and_the_second_run_sets_nothing(bench):
    first = bench.run(**LOCK)
    assert bench.gpus[1].calls == [("set_persistence", True), ("set_power_limit", 600000), ("lock_sm", 1980, 1980), ("lock_memory", 3201, 3201)]
    assert [item["state"] for item in first] == ["applied", "applied"]
    assert first[0]["found"] == {"sm_mhz": 1980, "memory_mhz": 3199, "power_limit_watts": 600, "persistence": True, "event_reasons": ["idle"]}
    second = bench.run(**LOCK)
    assert not bench.calls and [item["state"] for item in second] == ["ok", "ok"] and second[0]["actions"] == []


def test_under_load_at_the_power_limit_the_second_run_sets_nothing(bench):
    """Report 9."""
    bench.run(**LOCK)
    for gpu in bench.gpus:
        gpu.load_sm, gpu.reasons = 1700, 0x4
    second = bench.run(**LOCK)
    assert not bench.calls and [item["state"] for item in second] == ["power_limited", "power_limited"]


def test_after_a_reboot_everything_is_set_again(bench):
    bench.run(**LOCK)
    for gpu in bench.gpus:
        gpu.reboot()
    bench.boot = "boot-2"
    bench.run(**LOCK)
    assert len(bench.calls) == 8


def test_a_reload_of_the_driver_is_seen_in_the_clock_of_an_idle_gpu(bench):
    bench.run(**LOCK)
    bench.gpus[1].reboot()
    bench.run(**LOCK)
    assert bench.gpus[0].calls == [] and ("lock_sm", 1980, 1980) in bench.gpus[1].calls


def test_one_wrong_clock_on_one_gpu_and_nothing_is_set_on_any(tmp_path):
    bench = Bench(tmp_path, gpus.Gpu(0), gpus.Gpu(1, name="NVIDIA H100", memory=(2619, 1593)))
    with pytest.raises(gpu_clocks.Refused) as refused:
        bench.run(policy="lock_max", memory_lock=True, memory_mhz=3201)
    (problem,) = refused.value.problems
    assert problem.startswith("GPU 1 (NVIDIA H100): gpu_clocks_memory_mhz: found 3201") and problem.endswith("2619")
    assert not bench.calls


def test_a_memory_lock_that_the_gpu_cannot_do_is_skipped_and_not_tried_again(bench):
    bench.gpus[0].refuse["lock_memory"] = nvml.NOT_SUPPORTED
    first = bench.run(**LOCK)
    assert first[0]["state"] == "applied" and "skipped" in first[0]["reason"] and "skipped" not in first[1]["reason"]
    assert not [text for text in first[0]["actions"] if "memory" in text]
    second = bench.run(**LOCK)
    assert not bench.calls and second[0]["state"] == "ok" and "skipped" in second[0]["reason"]


@pytest.mark.parametrize("code, word", [(nvml.NO_PERMISSION, "root"), (nvml.NOT_SUPPORTED, "gpu_clocks_policy"), (nvml.UNKNOWN, "UNKNOWN")])
def test_what_the_driver_refuses_is_named_and_keeps_no_other_gpu_back(bench, code, word):
    bench.gpus[0].refuse["lock_sm"] = code
    first = bench.run(policy="lock_max")
    assert first[0]["state"] == "failed" and word in first[0]["reason"] and first[1]["state"] == "applied"
    bench.gpus[0].refuse = {}
    assert bench.run(policy="lock_max")[0]["state"] == "applied", "tried again"


def test_a_lost_gpu_is_reported_and_the_others_are_set(tmp_path):
    bench = Bench(tmp_path, *[gpus.Gpu(number) for number in range(3)])
    bench.gpus[0].lost, bench.gpus[1].lost = nvml.GPU_IS_LOST, nvml.RESET_REQUIRED
    assert [item["state"] for item in bench.run(policy="lock_max")] == ["lost", "needs_reset", "applied"]


def test_only_the_chosen_gpu_is_touched(bench):
    assert [item["index"] for item in bench.run(policy="lock_max", gpus=["1"])] == [1]
    assert not bench.gpus[0].calls and bench.gpus[1].calls


def test_without_a_policy_only_persistence_is_seen_to(bench):
    bench.run()
    assert bench.calls == [("set_persistence", True)] * 2


def test_going_back_to_no_policy_takes_our_locks_and_limit_away(bench):
    bench.run(**LOCK)
    bench.run()
    assert bench.gpus[0].calls == [("set_power_limit", 700000), ("reset_sm",), ("reset_memory",)]
    bench.run()
    assert not bench.calls


def test_the_power_limit_before_the_first_of_ours_is_the_one_that_comes_back(bench):
    bench.run(power_limit_watts=600)
    bench.run(power_limit_watts=500)
    bench.run()
    assert bench.gpus[0].limit == 700000


def test_a_clock_that_does_not_follow_is_drift_and_said_once_the_time_is_up(bench):
    bench.gpus[0].load_sm, bench.gpus[0].reasons = 345, 0
    first = bench.run(policy="lock_max")
    assert first[0]["state"] == "drift" and first[1]["state"] == "applied" and 3 <= bench.clock.time < 4
    bench.run(policy="lock_max")
    assert not bench.calls


@pytest.mark.parametrize("text", ["", "{", "[]", '{"boot_id": "boot-1"}'])
def test_a_record_that_cannot_be_read_only_costs_one_more_setting(bench, tmp_path, text):
    bench.run(**LOCK)
    (tmp_path / "run" / "gpu-clocks.json").write_text(text)
    bench.run(**LOCK)
    assert ("lock_sm", 1980, 1980) in bench.calls


def test_a_daemon_that_is_on_its_way_is_waited_for_and_the_legacy_mode_stays_unused(bench, tmp_path):
    """Report 10: persistence through the daemon."""
    rows = gpu_clocks.prepare(gpu_policy.DEFAULTS, gpu_clocks.survey(gpus.Library(bench.gpus)), gpu_record.Record(bench.path, "b"))[0]

    def reached(gpu):
        gpu.on = True
    clock = gpus.Clock([(2, lambda: reached(bench.gpus[0])), (5, lambda: reached(bench.gpus[1]))])
    gpu_clocks.await_daemon(rows, clock, running=True)
    assert [row["actions"] for row in rows] == [[], []] and 5 <= clock.time < 6


@pytest.mark.parametrize("running, seconds", [(True, 15), (False, 0)])
def test_without_the_daemon_the_legacy_mode_is_used_and_noted(bench, running, seconds):
    """Report 10: fall back only with a note."""
    record = gpu_record.Record(bench.path, "b")
    rows = gpu_clocks.prepare(gpu_policy.DEFAULTS, gpu_clocks.survey(gpus.Library(bench.gpus)), record)[0]
    clock = gpus.Clock()
    gpu_clocks.await_daemon(rows, clock, running=running)
    gpu_clocks.apply(rows, record, clock)
    result = gpu_clocks.results(rows, gpu_policy.DEFAULTS, record, False)[0]
    assert result["found"]["persistence"] is True and "legacy" in result["reason"] and abs(clock.time - seconds) < 1


def test_settings_survive_the_file(tmp_path):
    path = tmp_path / "gpu-clocks.json"
    wanted = dict(gpu_policy.DEFAULTS, policy="range", sm_max_mhz=1800, gpus=["0"])
    path.write_text(gpu_clocks.settings_text(wanted))
    assert gpu_clocks.load_settings(str(path)) == wanted
    assert gpu_clocks.load_settings(str(tmp_path / "none")) is None


def test_the_settings_file_is_what_its_contract_says():
    contracts = pathlib.Path(__file__).resolve().parents[5] / "docs" / "contracts"
    schema = json.loads((contracts / "gpu_clocks.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(gpu_clocks.settings_text(gpu_policy.DEFAULTS)), schema)
    assert gpu_clocks.load_settings(str(contracts / "examples" / "gpu_clocks.json"))["policy"] == "range"


@pytest.mark.parametrize("text, word", [
    ("{", "not JSON"), ("[]", "schema_version"), ('{"schema_version": 2}', "schema_version"), ('{"schema_version": 1, "polcy": "none"}', "polcy"),
    ('{"schema_version": 1, "policy": "range"}', "neither"), ('{"schema_version": 1, "power_limit_watts": true}', "found true")])
def test_settings_that_cannot_be_understood_are_refused(tmp_path, text, word):
    path = tmp_path / "gpu-clocks.json"
    path.write_text(text)
    with pytest.raises(gpu_clocks.Refused, match=word):
        gpu_clocks.load_settings(str(path))


def test_what_goes_into_the_undo_journal_is_what_is_about_to_be_set(bench):
    rows = gpu_clocks.prepare(dict(gpu_policy.DEFAULTS, policy="lock_max"), gpu_clocks.survey(gpus.Library(bench.gpus[:1])),
                              gpu_record.Record(bench.path, "b"))[0]
    uuid = bench.gpus[0].uuid()
    assert gpu_clocks.journal_items(rows) == [{"kind": "gpu", "name": uuid + " persistence"}, {"kind": "gpu", "name": uuid + " sm_clock"}]


def test_doubt_about_the_record_locks_again_and_forgets_nothing(bench):
    bench.run(**LOCK)
    gpu_record.Record(bench.path, bench.boot).distrust()
    bench.run(**LOCK)
    assert bench.gpus[0].calls == [("lock_sm", 1980, 1980), ("lock_memory", 3201, 3201)]
    bench.run(**LOCK)
    assert not bench.calls


@pytest.mark.parametrize("code, on_bus, expected, loaded, state", [
    (nvml.LIBRARY_NOT_FOUND, 0, 0, False, "no_gpu"), (nvml.LIBRARY_NOT_FOUND, 8, 0, False, "driver_missing"),
    (nvml.LIBRARY_NOT_FOUND, 8, 0, True, "library_missing"), (nvml.DRIVER_NOT_LOADED, 8, 0, False, "driver_missing"),
    (nvml.DRIVER_NOT_LOADED, 0, 0, False, "no_gpu"), (nvml.DRIVER_NOT_LOADED, 0, 8, False, "driver_missing"),
    (nvml.DRIVER_NOT_LOADED, None, 0, False, "unknown"), (nvml.VERSION_MISMATCH, 8, 8, True, "unknown"), (nvml.UNKNOWN, 0, 0, False, "unknown")])
def test_no_gpu_and_a_gpu_that_does_not_answer_are_told_apart(code, on_bus, expected, loaded, state):
    found, reason = gpu_bus.why_not(nvml.NvmlError(code, "nvmlInit"), on_bus, expected, loaded)
    assert found == state and reason


def test_gpus_on_the_bus(tmp_path):
    for name, vendor, kind in (("a", "0x10de", "0x030200"), ("b", "0x10de", "0x068000"), ("c", "0x8086", "0x030000"), ("d", "0x10DE", "0x030000")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(vendor + "\n")
        (tmp_path / name / "class").write_text(kind + "\n")
    assert gpu_bus.count(str(tmp_path)) == 2 and gpu_bus.count(str(tmp_path / "none")) is None


def test_the_same_problem_of_several_gpus_is_one_line(bench):
    with pytest.raises(gpu_clocks.Refused) as refused:
        bench.run(power_limit_watts=900)
    assert refused.value.problems == ["GPU 0, 1 (NVIDIA H200): gpu_clocks_power_limit_watts: found 900, wanted 200 to 700"]


def test_a_preview_promises_the_lock_and_calls_its_absence_no_drift(bench):
    wanted, record = dict(gpu_policy.DEFAULTS, **LOCK), gpu_record.Record(bench.path, bench.boot)
    rows = gpu_clocks.prepare(wanted, gpu_clocks.survey(gpus.Library(bench.gpus)), record)[0]
    found = gpu_clocks.results(rows, wanted, record, True)[0]
    assert (found["state"], found["reason"]) == ("applied", "") and "lock sm_clock 1980 MHz" in found["actions"] and not bench.calls


def test_a_driver_that_hangs_is_given_up_in_time():
    """Report 15, for the library instead of nvidia-smi."""
    release = threading.Event()
    with pytest.raises(nvml.NvmlError) as refused:
        nvml.open_within(0.05, lambda: release.wait(20))
    release.set()
    assert refused.value.code == nvml.TIMEOUT and gpu_bus.why_not(refused.value, 8, 8, True)[0] == "unknown"


def test_opening_in_time_gives_the_library_or_its_refusal(bench):
    library = gpus.Library(bench.gpus)
    assert nvml.open_within(5, library) is library
    library.error = nvml.DRIVER_NOT_LOADED
    with pytest.raises(nvml.NvmlError, match="DRIVER_NOT_LOADED"):
        nvml.open_within(5, library)


def test_results_can_be_sent_as_json(bench):
    json.dumps(bench.run(**LOCK))
