# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NVML's answers as facts, and the same facts from nvidia-smi on the same state."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import time
import types
from xml.etree import ElementTree

import jsonschema
import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts, _gpu_shape, _nvidia_smi, _nvml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[3]
FIXTURES = ROOT / "tests" / "unit" / "fixtures" / "nvidia-smi"
SCHEMA = json.loads((ROOT / "docs" / "contracts" / "gpu_facts.schema.json").read_text())


def _load_fake():
    spec = importlib.util.spec_from_file_location("fake_nvml", HERE / "fake_nvml.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fake = _load_fake()
Error = fake.Error
LOST = Error(15)


def parse(name):
    return _nvidia_smi.parse((FIXTURES / name).read_text())


def card(**changes):
    """A healthy, idle H200: the second GPU of h200-590-load.xml."""
    answers = {
        "nvmlDeviceGetUUID": "GPU-e2176bd9-408a-4c5f-a96e-3b82c0f7d154",
        "nvmlDeviceGetName": "NVIDIA H200",
        "nvmlDeviceGetPciInfo": types.SimpleNamespace(busId=b"00000000:84:00.0"),
        "nvmlDeviceGetMinorNumber": 1,
        "nvmlDeviceGetPersistenceMode": 1,
        "nvmlDeviceGetMigMode": [0, 0],
        "nvmlDeviceGetMemoryInfo": lambda version=None: fake.memory(143771, 0, 143158, 614),
        "nvmlDeviceGetUtilizationRates": types.SimpleNamespace(gpu=0, memory=0),
        "nvmlDeviceGetTemperature": lambda sensor: 28,
        "nvmlDeviceGetPowerUsage": 77670,
        "nvmlDeviceGetEnforcedPowerLimit": 700000,
        "nvmlDeviceGetPowerManagementLimit": 700000,
        "nvmlDeviceGetPowerManagementDefaultLimit": 700000,
        "nvmlDeviceGetPowerManagementLimitConstraints": [200000, 700000],
        "nvmlDeviceGetClockInfo": lambda clock: {1: 345, 2: 3201}[clock],
        "nvmlDeviceGetMaxClockInfo": lambda clock: {1: 1980, 2: 3201}[clock],
        "nvmlDeviceGetCurrentClocksEventReasons": 0x1,
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetTotalEccErrors": lambda kind, counter: {(0, 1): 1}.get((kind, counter), 0),
        "nvmlDeviceGetRemappedRows": (0, 0, 0, 0),
        "nvmlDeviceGetNvLinkState": lambda link: 1,
        "nvmlDeviceGetComputeRunningProcesses_v3": [],
        "nvmlDeviceGetGraphicsRunningProcesses_v3": [],
        "nvmlDeviceGetMPSComputeRunningProcesses_v3": [],
        "nvmlDeviceGetMarginTemperature": {"margin": 59},
        "nvmlDeviceGetGpuFabricInfoV": {"state": 3, "status": 0},
        "fields": {82: 32, 230: 0},
    }
    answers.update(changes)
    return {name: answer for name, answer in answers.items() if answer is not None}


def busy_card():
    """The first GPU of h200-590-load.xml."""
    return card(
        nvmlDeviceGetUUID="GPU-5c8a21f4-93d7-4e06-b1a2-7f0d6e48c913",
        nvmlDeviceGetPciInfo=types.SimpleNamespace(busId="00000000:83:00.0"),
        nvmlDeviceGetMinorNumber=0,
        nvmlDeviceGetMemoryInfo=lambda version=None: fake.memory(143771, 32362, 110796, 614),
        nvmlDeviceGetUtilizationRates=types.SimpleNamespace(gpu=100, memory=40),
        nvmlDeviceGetTemperature=lambda sensor: 52,
        nvmlDeviceGetPowerUsage=627320,
        nvmlDeviceGetClockInfo=lambda clock: {1: 1980, 2: 3201}[clock],
        nvmlDeviceGetCurrentClocksEventReasons=0x4,
        nvmlDeviceGetTotalEccErrors=lambda kind, counter: {(0, 0): 2, (0, 1): 7}.get((kind, counter), 0),
        nvmlDeviceGetMarginTemperature={"margin": 35},
        fields={82: 61, 230: 0},
        nvmlDeviceGetComputeRunningProcesses_v3=[
            fake.process(10291, 2566), fake.process(10293, 1542), fake.process(10309, 28234),
        ],
    )


NAMES = {10291: "/root/tools/memhog", 10293: "/root/tools/memhog", 10309: "./gpu_burn"}


def mig_device(gi, ci, uuid, total, used, free):
    return {
        "nvmlDeviceGetGpuInstanceId": gi,
        "nvmlDeviceGetComputeInstanceId": ci,
        "nvmlDeviceGetUUID": uuid,
        "nvmlDeviceGetMemoryInfo": lambda version=None: fake.memory(total, used, free, 0),
    }


def mig_card():
    """a100-535-mig.xml."""
    return card(
        nvmlDeviceGetUUID="GPU-93e8d0a7-6c14-4b5e-a2f1-47d90c8e3b65",
        nvmlDeviceGetName="NVIDIA A100-SXM4-80GB",
        nvmlDeviceGetPciInfo=types.SimpleNamespace(busId=b"00000000:47:00.0"),
        nvmlDeviceGetMinorNumber=3,
        nvmlDeviceGetMigMode=[1, 0],
        nvmlDeviceGetMemoryInfo=lambda version=None: fake.memory(81920, 16951, 64276, 693),
        nvmlDeviceGetUtilizationRates=Error(3),
        nvmlDeviceGetTemperature=lambda sensor: 36,
        nvmlDeviceGetPowerUsage=91460,
        nvmlDeviceGetEnforcedPowerLimit=500000,
        nvmlDeviceGetPowerManagementLimit=500000,
        nvmlDeviceGetPowerManagementDefaultLimit=500000,
        nvmlDeviceGetPowerManagementLimitConstraints=[100000, 500000],
        nvmlDeviceGetClockInfo=lambda clock: {1: 1410, 2: 1593}[clock],
        nvmlDeviceGetMaxClockInfo=lambda clock: {1: 1410, 2: 1593}[clock],
        nvmlDeviceGetCurrentClocksEventReasons=0,
        nvmlDeviceGetTotalEccErrors=lambda kind, counter: 0,
        nvmlDeviceGetRemappedRows=Error(3),
        nvmlDeviceGetMarginTemperature=3,
        nvmlDeviceGetGpuFabricInfoV=3,
        fields={82: 49, 230: Error(2)},
        nvmlDeviceGetComputeRunningProcesses_v3=[
            fake.process(5120, 16900, 1), fake.process(5120, 16900, 1), fake.process(5333, None, 5),
        ],
        mig=[
            mig_device(1, 0, "MIG-11111111-0000-0000-0000-000000000001", 40192, 16925, 23267),
            mig_device(1, 1, "MIG-11111111-0000-0000-0000-000000000002", 40192, 16925, 23267),
            mig_device(5, 0, "MIG-11111111-0000-0000-0000-000000000003", 19968, 25, 19943),
        ],
    )


def gb200(index, lost):
    def told(value):
        return LOST if lost else value

    return card(
        nvmlDeviceGetUUID=("GPU-d4a61c52-0f7e-4b93-9c28-5e1b7a40f8d3", "GPU-71f3b8e6-a5d2-4c09-b647-c80e19f2d35a")[index],
        nvmlDeviceGetName="NVIDIA GB200",
        nvmlDeviceGetPciInfo=types.SimpleNamespace(busId="0000000{0}:01:00.0".format(8 + index)),
        nvmlDeviceGetMinorNumber=index,
        nvmlDeviceGetMemoryInfo=lambda version=None: told(fake.memory(189471, 0, 188462, 1010)),
        nvmlDeviceGetUtilizationRates=told(types.SimpleNamespace(gpu=0, memory=0)),
        nvmlDeviceGetTemperature=lambda sensor: told(41),
        nvmlDeviceGetPowerUsage=told(172400),
        nvmlDeviceGetEnforcedPowerLimit=1200000,
        nvmlDeviceGetPowerManagementLimit=1200000,
        nvmlDeviceGetPowerManagementDefaultLimit=1200000,
        nvmlDeviceGetPowerManagementLimitConstraints=[200000, 1200000],
        nvmlDeviceGetClockInfo=lambda clock: told({1: 120, 2: 3996}[clock]),
        nvmlDeviceGetMaxClockInfo=lambda clock: {1: 2062, 2: 3996}[clock],
        nvmlDeviceGetTotalEccErrors=lambda kind, counter: told(0),
        nvmlDeviceGetRemappedRows=told((0, 1, 1, 0)),
        nvmlDeviceGetMarginTemperature=15 if lost else {"margin": 46},
        nvmlDeviceGetGpuFabricInfoV=15 if lost else {"state": 3, "status": 0},
        nvmlDeviceGetNvLinkState=None,
        fields={82: 34, 230: Error(3)},
    )


@pytest.mark.parametrize(
    ("xml", "nvml", "differs"),
    [
        (
            "h200-590-load.xml",
            fake.FakeNvml([busy_card(), card()], "590.48.01", 13010, names=NAMES),
            {"nvlinks_active", "nvlinks_inactive"},
        ),
        (
            "a100-535-mig.xml",
            fake.FakeNvml([mig_card()], b"535.183.06", 12020, names={5120: "/opt/venv/bin/python3"}),
            {"nvlinks_active", "nvlinks_inactive", "mig_instances.uuid"},
        ),
        (
            "gb200-580-lost.xml",
            fake.FakeNvml([gb200(0, False), gb200(1, True)], "580.65.06", 13000),
            # This binding does not know links at all: both backends leave them out.
            {"nvlinks_active", "nvlinks_inactive"},
        ),
    ],
)
def test_both_backends_give_the_same_facts_on_the_same_state(xml, nvml, differs):
    by_xml, by_nvml = parse(xml), _nvml.read(nvml)["document"]
    assert set(by_xml["unavailable_fields"]) == differs
    assert set(by_nvml["unavailable_fields"]) <= differs
    for document in (by_xml, by_nvml):
        document.pop("unavailable_fields")
        for gpu in document["gpus"]:
            for field in ("nvlinks_active", "nvlinks_inactive"):
                gpu.pop(field)
            if "mig_instances.uuid" in differs:
                for part in [part for instance in gpu["mig_instances"] for part in instance["compute_instances"]]:
                    part["uuid"] = None
    assert by_nvml == by_xml


def test_every_field_of_the_contract_is_in_the_facts():
    for document in (parse("h200-590-load.xml"), read([mig_card()])):
        for gpu in document["gpus"]:
            assert set(gpu) == set(SCHEMA["$defs"]["gpu"]["properties"])
            assert {"container", "unit", "managed"} < set(SCHEMA["$defs"]["gpu"]["properties"]["processes"]["items"]["properties"])


def read(gpus, **options):
    answer = _nvml.read(fake.FakeNvml(gpus, **options))
    assert answer["found"] and answer["error"] is None
    facts = _gpu_facts.nvml_facts(dict(answer, timed_out=False, timeout=60), len(gpus), "590.48.01")
    jsonschema.validate(_gpu_facts.with_owners(facts, {}), SCHEMA)
    return answer["document"]


def one(**changes):
    return read([card(**changes)])["gpus"][0]


@pytest.mark.parametrize("code", [3, 26])
def test_absent_is_null_and_not_broken(code):
    gpu = one(nvmlDeviceGetPowerUsage=Error(code), nvmlDeviceGetEccMode=Error(code))
    assert (gpu["power_draw_w"], gpu["ecc_mode"], gpu["broken_fields"], gpu["state"]) == (None, None, [], "ok")


@pytest.mark.parametrize("code", [4, 10, 21, 27, 999, 4711])
def test_broken_is_neither_zero_nor_absent(code):
    gpu = one(nvmlDeviceGetPowerUsage=Error(code))
    assert (gpu["power_draw_w"], gpu["broken_fields"], gpu["state"]) == (None, ["power_draw_w"], "ok")


@pytest.mark.parametrize(("code", "state"), [(15, "lost"), (16, "needs_reset"), (999, "unknown"), (4, "unknown")])
def test_broken_memory_takes_the_gpu_out_of_service(code, state):
    gpu = one(nvmlDeviceGetMemoryInfo=Error(code))
    assert gpu["state"] == state and gpu["memory_used_mib"] is None
    assert {"memory_total_mib", "memory_used_mib", "memory_free_mib", "memory_reserved_mib"} <= set(gpu["broken_fields"])


def test_a_gpu_without_a_handle_is_listed_and_the_others_are_reported():
    gpus = read([card(), {"handle": LOST}])["gpus"]
    assert [gpu["state"] for gpu in gpus] == ["ok", "lost"]
    assert set(_gpu_shape.SCALARS) <= set(gpus[1]["broken_fields"]), "nothing about it is absent"


def test_a_board_without_a_memory_thermometer_has_no_memory_of_zero_degrees():
    gpu = one(fields={82: 0, 230: 0})
    assert gpu["memory_temperature_c"] is None and gpu["broken_fields"] == []


def test_processes_that_cannot_be_listed_are_not_none():
    gpu = one(nvmlDeviceGetComputeRunningProcesses_v3=Error(4))
    assert gpu["processes"] == [] and gpu["broken_fields"] == ["processes"]


def test_an_answer_that_the_binding_stumbles_over_is_one_broken_field():
    gpu = one(nvmlDeviceGetName=lambda: b"\xff".decode("ascii"))
    assert gpu["name"] is None and gpu["broken_fields"] == ["name"] and gpu["memory_total_mib"] == 143771


def test_a_binding_of_debian_12_falls_back_to_throttle_reasons():
    gpu = one(nvmlDeviceGetCurrentClocksEventReasons=None, nvmlDeviceGetCurrentClocksThrottleReasons=0x44)
    assert gpu["clock_event_reasons"] == ["sw_power_cap", "hw_thermal_slowdown"]


def test_a_library_older_than_the_binding_falls_back_too():
    gpu = one(nvmlDeviceGetCurrentClocksEventReasons=Error(13), nvmlDeviceGetCurrentClocksThrottleReasons=0x1)
    assert gpu["clock_event_reasons"] == ["gpu_idle"]


def test_what_nobody_can_be_asked_is_unavailable():
    document = read([card(nvmlDeviceGetCurrentClocksEventReasons=None, nvmlDeviceGetMarginTemperature=None)])
    assert document["unavailable_fields"] == ["clock_event_reasons", "temperature_margin_c"]
    assert document["gpus"][0]["broken_fields"] == [] and document["gpus"][0]["clock_event_reasons"] is None


def test_the_first_form_of_the_memory_call_serves_where_the_second_is_missing():
    document = read([card(nvmlDeviceGetMemoryInfo=lambda version=None: Error(13) if version else fake.memory(1000, 40, 960, 0))])
    assert document["gpus"][0]["memory_used_mib"] == 40
    assert document["unavailable_fields"] == ["memory_reserved_mib"]


@pytest.mark.parametrize(
    ("fields", "action", "state"),
    [
        ({230: 0}, None, "ok"),
        ({230: 1}, "reset", "needs_reset"),
        ({230: 2}, "reboot", "unknown"),
        ({230: 3}, "drain_p2p", "unknown"),
        ({230: 4}, "drain_and_reset", "needs_reset"),
        ({230: 5}, "recover_imex_domain", "unknown"),
        ({230: 42}, "code_42", "unknown"),
        ({230: Error(2), 226: 1}, "reset", "needs_reset"),
        ({230: Error(2), 226: 0}, None, "ok"),
        ({230: Error(3), 226: Error(26)}, None, "ok"),
        ({}, None, "ok"),
    ],
)
def test_what_the_driver_asks_for(fields, action, state):
    gpu = one(fields={82: 30, **fields})
    assert (gpu["recovery_action"], gpu["state"], gpu["broken_fields"]) == (action, state, [])


@pytest.mark.parametrize(
    ("states", "active", "inactive"),
    [
        ({number: 1 for number in range(18)}, 18, []),
        ({number: int(number != 3) for number in range(18)}, 17, [3]),
        ({0: 1, 1: 1, 2: Error(2)}, 2, []),
        ({0: 1, 1: Error(3), 2: 0, 3: Error(2)}, 1, [2]),
        ({0: Error(3)}, None, None),
    ],
)
def test_nvlinks(states, active, inactive):
    gpu = one(nvmlDeviceGetNvLinkState=lambda link: states[link])
    assert (gpu["nvlinks_active"], gpu["nvlinks_inactive"], gpu["broken_fields"]) == (active, inactive, [])


@pytest.mark.parametrize(
    ("info", "state", "status"),
    [
        ({"state": 0}, None, None),
        ({"state": 1}, "not_started", None),
        ({"state": 2}, "in_progress", None),
        ({"state": 3, "status": 0}, "completed", "success"),
        ({"state": 3, "status": 999}, "completed", "some_error"),
        ({"state": 9}, "state_9", None),
        (3, None, None),
    ],
)
def test_fabric(info, state, status):
    gpu = one(nvmlDeviceGetGpuFabricInfoV=info)
    assert (gpu["fabric_state"], gpu["fabric_status"], gpu["broken_fields"]) == (state, status, [])


def test_a_process_that_computes_and_draws_is_one_and_its_memory_counts_once():
    gpu = one(
        nvmlDeviceGetMemoryInfo=lambda version=None: fake.memory(143771, 350, 142807, 614),
        nvmlDeviceGetComputeRunningProcesses_v3=[fake.process(7, 100)],
        nvmlDeviceGetGraphicsRunningProcesses_v3=[fake.process(7, 100)],
        nvmlDeviceGetMPSComputeRunningProcesses_v3=[fake.process(9, 50)],
    )
    found = [(p["pid"], p["type"], p["memory_mib"], p["name"]) for p in gpu["processes"]]
    assert found == [(7, "C+G", 100, None), (9, "M+C", 50, None)]
    assert gpu["memory_unattributed_mib"] == 200


def test_memory_that_nvml_does_not_know_is_null_and_not_a_huge_number():
    unknown = types.SimpleNamespace(pid=8, usedGpuMemory=0xFFFFFFFFFFFFFFFF, gpuInstanceId=0xFFFFFFFF)
    gpu = one(nvmlDeviceGetComputeRunningProcesses_v3=[unknown])
    assert gpu["processes"][0]["memory_mib"] is None and gpu["memory_unattributed_mib"] is None


def test_mig_memory_is_counted_once_for_each_gpu_instance():
    for gpu in (read([mig_card()])["gpus"][0], parse("a100-535-mig.xml")["gpus"][0], parse("a100-510-mig.xml")["gpus"][0]):
        assert len(gpu["mig_instances"]) == 2
        assert [len(instance["compute_instances"]) for instance in gpu["mig_instances"]] == [2, 1]
        total = sum(instance["memory_used_mib"] for instance in gpu["mig_instances"])
        assert total <= gpu["memory_used_mib"] < 2 * 16925
    assert sum(p["memory_mib"] or 0 for p in read([mig_card()])["gpus"][0]["processes"]) == 16900


@pytest.mark.parametrize("code", [9, 12, 18, 4, 999])
def test_why_nvml_could_not_start(code):
    answer = _nvml.read(fake.FakeNvml([], init=code))
    assert answer == {"found": True, "error": {"code": code, "text": "nvml error {0}".format(code)}, "document": None}


def test_no_binding(monkeypatch):
    def missing(name):
        raise ImportError("No module named " + name)

    monkeypatch.setattr(_nvml.importlib, "import_module", missing)
    answer = _nvml.read()
    assert answer["found"] is False and "No module named pynvml" in answer["error"]["text"]
    monkeypatch.setattr(_nvml.importlib, "import_module", lambda name: types.SimpleNamespace(__file__="/x/pynvml.py"))
    assert "/x/pynvml.py is no NVML binding" in _nvml.read()["error"]["text"]


def test_eight_gpus_take_eight_times_the_calls_of_one_and_no_more():
    one_gpu, eight = fake.FakeNvml([card()]), fake.FakeNvml([card() for unused in range(8)])
    _nvml.read(one_gpu)
    _nvml.read(eight)
    assert eight.calls == 8 * one_gpu.calls and one_gpu.calls <= 60


def test_reading_the_document_of_eight_gpus_costs_little_more_than_parsing_it():
    """The supported clocks make such a document long; they are not walked for every field."""
    start = "<supported_clocks><supported_mem_clock><value>3201 MHz</value>"
    clocks = "".join("<supported_graphics_clock>{0} MHz</supported_graphics_clock>".format(345 + 15 * n) for n in range(110))
    gpu = (FIXTURES / "h200-590-load.xml").read_text().partition("\t<gpu ")[2].partition("\t<gpu ")[0]
    gpu = "\t<gpu " + gpu.replace("<processes>", start + clocks + "</supported_mem_clock></supported_clocks><processes>", 1)
    text = "<nvidia_smi_log>" + 8 * gpu + "</nvidia_smi_log>"

    def cost(function):
        """CPU seconds of the quickest of five runs: other work on the machine does not count."""
        times = []
        for unused in range(5):
            start = time.process_time()
            function(text)
            times.append(time.process_time() - start)
        return min(times)

    assert len(_nvidia_smi.parse(text)["gpus"]) == 8
    assert cost(_nvidia_smi.parse) < 6 * cost(ElementTree.fromstring)
