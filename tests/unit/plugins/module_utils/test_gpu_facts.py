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


def smi(rc=0, stdout="", found=True, timed_out=False):
    return {"found": found, "rc": rc, "stdout": stdout, "stderr": "", "timed_out": timed_out, "timeout": 60}


MISSING = smi(rc=None, found=False)


@pytest.mark.parametrize(
    ("program", "pci", "loaded", "state", "backend", "word"),
    [
        (smi(0, text("h100-580-idle.xml")), 2, True, "ok", "nvidia-smi", "2 GPU(s)"),
        (MISSING, 0, False, "no_gpu", "none", "PCI"),
        (MISSING, 8, False, "driver_missing", "none", "8 NVIDIA GPU(s)"),
        (MISSING, 8, True, "library_missing", "none", "nvidia-smi is not installed"),
        (MISSING, None, False, "unknown", "none", "PCI bus cannot be read"),
        (smi(9, text("no-driver.txt")), 1, False, "driver_missing", "none", "couldn't communicate"),
        (smi(9, text("no-driver.txt")), None, False, "driver_missing", "none", "couldn't communicate"),
        (smi(9, text("no-driver.txt")), 0, False, "no_gpu", "none", "PCI"),
        (smi(12, text("no-library.txt")), 1, True, "library_missing", "none", "libnvidia-ml.so"),
        (smi(6, "No devices were found"), 0, True, "no_gpu", "none", "PCI"),
        (smi(6, "No devices were found"), 1, True, "unknown", "nvidia-smi", "No devices were found"),
        (smi(15, "Unable to determine the device handle: GPU is lost"), 1, True, "unknown", "nvidia-smi", "15"),
        (smi(0, "gibberish"), 1, True, "unknown", "nvidia-smi", "cannot be read"),
        (smi(None, "", timed_out=True), 1, True, "unknown", "nvidia-smi", "60 s"),
        # A stuck driver is never "no GPU", whatever the bus says.
        (smi(None, "", timed_out=True), 0, False, "unknown", "nvidia-smi", "did not answer"),
        (smi(0, "<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>"), 0, True, "no_gpu", "nvidia-smi", "0 GPU"),
    ],
)
def test_states(program, pci, loaded, state, backend, word):
    result = _gpu_facts.facts(program, pci, loaded)
    jsonschema.validate(_gpu_facts.with_owners(result, {}), SCHEMA)
    assert (result["state"], result["backend"]) == (state, backend)
    assert word in result["reason"]
    assert bool(result["gpus"]) == (state == "ok")


def test_a_gpu_that_is_counted_but_not_listed_is_mentioned():
    program = smi(0, text("h100-580-idle.xml").replace("<attached_gpus>2<", "<attached_gpus>8<"))
    assert "counts 8" in _gpu_facts.facts(program, 8, True)["reason"]


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
        ("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-{0}.scope\n", ID, None),
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
    result = _gpu_facts.facts(smi(0, text("h200-590-load.xml")), 2, True)
    assert _gpu_facts.pids(result) == [10291, 10293, 10309]
    result = _gpu_facts.with_owners(result, {10291: {"container": "x", "unit": None, "managed": True}})
    jsonschema.validate(result, SCHEMA)
    assert [p["managed"] for p in result["gpus"][0]["processes"]] == [True, False, False]


def test_the_example_of_the_contract_is_what_the_module_returns():
    result = _gpu_facts.facts(smi(0, text("h200-590-load.xml")), 2, True)
    cgroups = {
        10291: "0::/system.slice/memhog.service\n",
        10293: "0::/user.slice/user-0.slice/session-3.scope\n",
        10309: "0::/docker/" + ID,
    }
    listed = [{"Id": ID, "Names": ["/burn-in"], "Labels": {}}]
    assert _gpu_facts.with_owners(result, _gpu_facts.owners(cgroups, listed)) == EXAMPLE
