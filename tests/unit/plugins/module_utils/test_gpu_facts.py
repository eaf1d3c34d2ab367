# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of a host, and who a GPU process belongs to."""

from __future__ import annotations

import json
import pathlib

import jsonschema
import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts

ROOT = pathlib.Path(__file__).resolve().parents[4]
FIXTURES = ROOT / "tests" / "unit" / "fixtures" / "nvidia-smi"
SCHEMA = json.loads((ROOT / "docs" / "contracts" / "gpu_facts.schema.json").read_text())
EXAMPLE = json.loads((ROOT / "docs" / "contracts" / "examples" / "gpu_facts.json").read_text())

ID = "4f1d" * 16
OTHER = "ab12" * 16


def text(name):
    return (FIXTURES / name).read_text()


EMPTY = "<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"
MISMATCH = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 590.57"


def smi(rc=0, stdout="", found=True, timed_out=False):
    return {"found": found, "rc": rc, "stdout": stdout, "stderr": "", "timed_out": timed_out, "timeout": 60}


MISSING = smi(rc=None, found=False)
LOADED = "590.48.01"


@pytest.mark.parametrize(
    ("program", "pci", "kernel_driver", "state", "backend", "word"),
    [
        (smi(0, text("h100-580-idle.xml")), 2, LOADED, "ok", "nvidia-smi", "2 GPU(s)"),
        (MISSING, 0, None, "no_gpu", "none", "PCI"),
        (MISSING, 8, None, "driver_missing", "none", "8 NVIDIA GPU(s)"),
        (MISSING, 8, LOADED, "library_missing", "none", "neither pynvml nor nvidia-smi is installed"),
        (MISSING, 8, "", "library_missing", "none", "neither pynvml nor nvidia-smi is installed"),
        (MISSING, None, None, "unknown", "none", "PCI bus cannot be read"),
        (smi(9, text("no-driver.txt")), 1, None, "driver_missing", "none", "couldn't communicate"),
        (smi(9, text("no-driver.txt")), None, None, "driver_missing", "none", "couldn't communicate"),
        (smi(9, text("no-driver.txt")), 0, None, "no_gpu", "none", "PCI"),
        (smi(12, text("no-library.txt")), 1, LOADED, "library_missing", "none", "libnvidia-ml.so"),
        (smi(6, "No devices were found"), 0, LOADED, "no_gpu", "none", "PCI"),
        (smi(6, "No devices were found"), 1, LOADED, "unknown", "nvidia-smi", "No devices were found"),
        (smi(15, "Unable to determine the device handle: GPU is lost"), 1, LOADED, "unknown", "nvidia-smi", "15"),
        (smi(18, MISMATCH), 1, LOADED, "version_mismatch", "nvidia-smi", "the loaded module is 590.48.01"),
        (smi(255, MISMATCH), 0, LOADED, "version_mismatch", "nvidia-smi", "reboot"),
        (smi(255, "Failed to initialize NVML: Unknown Error"), 1, LOADED, "unknown", "nvidia-smi", "Unknown Error"),
        (smi(0, "gibberish"), 1, LOADED, "unknown", "nvidia-smi", "cannot be read"),
        (smi(None, "", timed_out=True), 1, LOADED, "unknown", "nvidia-smi", "60 s"),
        # A stuck driver is never "no GPU", whatever the bus says.
        (smi(None, "", timed_out=True), 0, None, "unknown", "nvidia-smi", "did not answer"),
        (smi(0, EMPTY), 0, LOADED, "no_gpu", "nvidia-smi", "0 GPU"),
        # The bus has one that the driver does not list: broken, and not absent.
        (smi(0, EMPTY), 1, LOADED, "unknown", "nvidia-smi", "although 1 are on the PCI bus"),
    ],
)
def test_states_told_by_nvidia_smi(program, pci, kernel_driver, state, backend, word):
    result = _gpu_facts.facts(program, pci, kernel_driver)
    jsonschema.validate(_gpu_facts.with_owners(result, {}), SCHEMA)
    assert (result["state"], result["backend"]) == (state, backend)
    assert word in result["reason"]
    assert bool(result["gpus"]) == (state == "ok")


def nvml(code=None, said="", found=True, timed_out=False, document=None):
    error = None if timed_out or document else {"code": code, "text": said}
    return {"found": found, "error": error, "document": document, "timed_out": timed_out, "timeout": 60}


@pytest.mark.parametrize(
    ("answer", "pci", "kernel_driver", "state", "backend", "word", "conclusive"),
    [
        (nvml(9, "Driver Not Loaded"), 1, None, "driver_missing", "none", "Driver Not Loaded", True),
        (nvml(9, "Driver Not Loaded"), 0, None, "no_gpu", "none", "PCI", True),
        (nvml(18, "Driver/library version mismatch"), 1, LOADED, "version_mismatch", "nvml", "590.48.01", True),
        (nvml(4, "Insufficient Permissions"), 1, LOADED, "unknown", "nvml", "Insufficient Permissions", True),
        (nvml(999, "Unknown Error"), 1, LOADED, "unknown", "nvml", "Unknown Error", True),
        (nvml(timed_out=True), 1, LOADED, "unknown", "nvml", "60 s", True),
        (nvml(timed_out=True), 0, None, "unknown", "nvml", "did not answer", True),
        # nvidia-smi may know better here.
        (nvml(12, "NVML Shared Library Not Found"), 1, LOADED, "library_missing", "none", "libnvidia-ml.so.1", False),
        (nvml(12, "NVML Shared Library Not Found"), 1, None, "driver_missing", "none", "no driver is loaded", False),
        (nvml(12, "NVML Shared Library Not Found"), 0, None, "no_gpu", "none", "PCI", False),
        (nvml(13, "Function Not Found"), 1, LOADED, "unknown", "nvml", "Function Not Found", False),
        (nvml(None, "ended with status 11"), 1, LOADED, "unknown", "nvml", "status 11", False),
    ],
)
def test_states_told_by_nvml(answer, pci, kernel_driver, state, backend, word, conclusive):
    result = _gpu_facts.nvml_facts(answer, pci, kernel_driver)
    jsonschema.validate(result, SCHEMA)
    assert (result["state"], result["backend"]) == (state, backend)
    assert word in result["reason"]
    assert _gpu_facts.conclusive(answer) is conclusive


def test_without_a_binding_nvidia_smi_is_asked():
    assert _gpu_facts.conclusive(nvml(None, "ImportError: No module named 'pynvml'", found=False)) is False


def test_report_14_a_driver_that_is_not_loaded_at_boot_is_driver_missing_and_not_no_gpu():
    late = [
        _gpu_facts.facts(smi(9, text("no-driver.txt")), 1, None),
        _gpu_facts.nvml_facts(nvml(9, "Driver Not Loaded"), 1, None),
    ]
    absent = [_gpu_facts.facts(MISSING, 0, None), _gpu_facts.nvml_facts(nvml(9, "Driver Not Loaded"), 0, None)]
    assert {result["state"] for result in late} == {"driver_missing"}
    assert {result["state"] for result in absent} == {"no_gpu"}
    assert late[0]["reason"] != absent[0]["reason"]


def test_report_13_an_err_with_recovery_action_reset_is_needs_reset_and_the_other_gpus_are_reported():
    result = _gpu_facts.facts(smi(0, text("h100-580-reset.xml")), 2, LOADED)
    assert result["state"] == "ok", "the host answers; one of its GPUs is out of service"
    assert [gpu["state"] for gpu in result["gpus"]] == ["needs_reset", "ok"]
    sick, well = result["gpus"]
    assert sick["temperature_c"] is None and "temperature_c" in sick["broken_fields"]
    assert sick["memory_used_mib"] is None and sick["memory_total_mib"] == 81559
    assert well["memory_free_mib"] == 81080 and well["broken_fields"] == []


def test_report_13_an_exit_code_does_not_hide_the_gpus_that_answered():
    result = _gpu_facts.facts(smi(15, text("gb200-580-lost.xml")), 2, LOADED)
    assert [gpu["state"] for gpu in result["gpus"]] == ["ok", "lost"]
    assert result["state"] == "ok" and "exit code 15" in result["reason"]


def test_a_gpu_that_is_counted_but_not_listed_is_mentioned():
    program = smi(0, text("h100-580-idle.xml").replace("<attached_gpus>2<", "<attached_gpus>8<"))
    assert "counts 8" in _gpu_facts.facts(program, 8, LOADED)["reason"]


def test_backend_none():
    result = _gpu_facts.disabled()
    jsonschema.validate(result, SCHEMA)
    assert result["state"] == "no_gpu" and "asked for" in result["reason"]


@pytest.mark.parametrize(
    ("vendor", "pci_class", "expected"),
    [
        ("0x10de\n", "0x030200\n", True),
        ("0x10de", "0x030000", True),
        ("0x10DE", "0x030200", True),
        ("0x10de", "0x068000", False),
        ("0x10de", "0x040300", False),
        ("0x8086", "0x030000", False),
    ],
)
def test_is_gpu(vendor, pci_class, expected):
    assert _gpu_facts.is_gpu(vendor, pci_class) is expected


@pytest.mark.parametrize(
    ("cgroup", "container", "unit"),
    [
        ("0::/system.slice/docker-{0}.scope\n", ID, None),
        ("0::/docker/{0}\n", ID, None),
        ("0::/docker/{0}/init.scope\n", ID, None),
        ("12:pids:/\n11:memory:/docker/{0}\n1:name=systemd:/docker/{0}\n", ID, None),
        ("0::/machine.slice/libpod-{0}.scope\n", ID, None),
        ("0::/machine.slice/libpod-{0}.scope/container\n", ID, None),
        ("0::/machine.slice/libpod-conmon-{0}.scope\n", None, None),
        ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{0}.scope\n", ID, None),
        ("0::/kubepods.slice/kubepods-pod1.slice/crio-{0}.scope\n", ID, None),
        ("0::/kubepods/besteffort/pod0a4f6e2c-33f1-4c1f-9a51-6a1f0b4f4c11/{0}\n", ID, None),
        ("0::/system.slice/containerd.service/kubepods-besteffort-pod1.slice:cri-containerd:{0}\n", ID, None),
        ("0::/system.slice/nerdctl-{0}.scope\n", ID, None),
        ("11:devices:/default/{0}\n10:cpuset:/\n", ID, None),
        ("0::/../../docker-{0}.scope\n", ID, None),
        ("0::/user.slice/backup-{0}x.scope\n", None, None),
        ("0::/system.slice/ollama.service\n", None, "ollama.service"),
        ("0::/system.slice/a.service/workers\n", None, "a.service"),
        ("0::/user.slice/user-1000.slice/user@1000.service/app.slice/x.service\n", None, "x.service"),
        ("1:name=systemd:/system.slice/ollama.service\n", None, "ollama.service"),
        ("0::/user.slice/user-0.slice/session-3.scope\n", None, None),
        ("0::/\n", None, None),
        ("", None, None),
    ],
)
def test_cgroups(cgroup, container, unit):
    cgroup = cgroup.format(ID)
    assert _gpu_facts.container_id(cgroup) == container
    assert _gpu_facts.owners({1: cgroup}, [])[1]["unit"] == unit


CONTAINERS = [
    {"Id": ID, "Names": ["/inference-demo"], "Labels": {"indiaai.inference.managed": "true"}},
    {"Id": OTHER, "Names": ["/old-llm"], "Labels": {"indiaai.inference.managed": "false"}},
]


def test_owners():
    found = _gpu_facts.owners(
        {1: "0::/system.slice/docker-" + ID + ".scope", 2: "0::/docker/" + OTHER, 3: "0::/docker/" + "9" * 64}, CONTAINERS
    )
    assert found[1] == {"container": "inference-demo", "unit": None, "managed": True}
    assert found[2] == {"container": "old-llm", "unit": None, "managed": False}
    # Not Docker's, or Docker did not answer: a container all the same, and not ours.
    assert found[3] == {"container": "9" * 12, "unit": None, "managed": False}


def test_every_process_has_an_owner_even_when_it_is_gone():
    result = _gpu_facts.facts(smi(0, text("h200-590-load.xml")), 2, LOADED)
    assert _gpu_facts.pids(result) == [10291, 10293, 10309]
    result = _gpu_facts.with_owners(result, {10291: {"container": "x", "unit": None, "managed": True}})
    jsonschema.validate(result, SCHEMA)
    assert [p["managed"] for p in result["gpus"][0]["processes"]] == [True, False, False]


def test_the_example_of_the_contract_is_what_the_module_returns():
    result = _gpu_facts.facts(smi(0, text("h200-590-load.xml")), 2, LOADED)
    cgroups = {
        10291: "0::/system.slice/memhog.service\n",
        10293: "0::/user.slice/user-0.slice/session-3.scope\n",
        10309: "0::/docker/" + ID,
    }
    listed = [{"Id": ID, "Names": ["/burn-in"], "Labels": {}}]
    assert _gpu_facts.with_owners(result, _gpu_facts.owners(cgroups, listed)) == EXAMPLE
