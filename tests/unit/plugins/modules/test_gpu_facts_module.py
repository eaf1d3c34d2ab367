# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which backend the module asks, in which order, and what it does without one."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts, _gpu_probe, _gpu_shape, _nvidia_smi
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api
from ansible_collections.indiaai.inference.plugins.modules import gpu_facts

ROOT = pathlib.Path(__file__).resolve().parents[4]
XML = (ROOT / "tests" / "unit" / "fixtures" / "nvidia-smi" / "h200-590-load.xml").read_text()
ID = "4f1d" * 16


class Failed(Exception):
    pass


class Module:
    """What gather() needs of an AnsibleModule."""

    def __init__(self, program="/usr/bin/nvidia-smi", **params):
        self.params = {"backend": "auto", "nvidia_smi": "nvidia-smi", "timeout": 7, "docker_socket": "/run/docker.sock", **params}
        self.program = program
        self.warnings = []

    def get_bin_path(self, unused):
        return self.program

    def fail_json(self, msg, **unused):
        raise Failed(msg)

    def warn(self, text):
        self.warnings.append(text)


@pytest.fixture(name="asked")
def _asked(monkeypatch):
    """Names of what was asked; NVML answers with `asked.nvml`, nvidia-smi with the document of two H200."""

    class Asked(list):
        nvml = {"found": False, "error": {"code": None, "text": "ImportError: no pynvml"}, "document": None}
        timed_out = False

    asked = Asked()

    def run_nvml(timeout):
        asked.append("nvml")
        return dict(asked.nvml, timed_out=asked.timed_out, timeout=timeout)

    def run_nvidia_smi(program, timeout):
        asked.append("nvidia-smi")
        found = program is not None
        return {"found": found, "rc": 0 if found else None, "stdout": XML if found else "", "stderr": "", "timed_out": False,
                "timeout": timeout}

    monkeypatch.setattr(_gpu_probe, "run_nvml", run_nvml)
    monkeypatch.setattr(_gpu_probe, "run_nvidia_smi", run_nvidia_smi)
    monkeypatch.setattr(_gpu_probe, "count_pci_gpus", lambda: 2)
    monkeypatch.setattr(_gpu_probe, "kernel_driver", lambda: "590.48.01")
    monkeypatch.setattr(_gpu_probe, "cgroups", lambda pids: {})
    return asked


def failed(code):
    return {"found": True, "error": {"code": code, "text": "said"}, "document": None}


def test_nvml_is_asked_first_and_alone(asked):
    asked.nvml = {"found": True, "error": None, "document": _nvidia_smi.parse(XML)}
    facts = gpu_facts.gather(Module())
    assert asked == ["nvml"] and (facts["backend"], facts["state"], len(facts["gpus"])) == ("nvml", "ok", 2)


def test_without_a_binding_nvidia_smi_answers(asked):
    facts = gpu_facts.gather(Module())
    assert asked == ["nvml", "nvidia-smi"] and (facts["backend"], facts["state"]) == ("nvidia-smi", "ok")


@pytest.mark.parametrize("code", [12, 13, None])
def test_a_binding_that_cannot_ask_leaves_it_to_nvidia_smi(asked, code):
    asked.nvml = failed(code)
    assert gpu_facts.gather(Module())["backend"] == "nvidia-smi"


@pytest.mark.parametrize(("code", "state"), [(9, "driver_missing"), (18, "version_mismatch"), (999, "unknown")])
def test_what_nvml_says_of_the_driver_stands(asked, code, state):
    asked.nvml = failed(code)
    assert gpu_facts.gather(Module())["state"] == state and asked == ["nvml"]


def test_report_15_after_a_hung_nvml_nothing_else_is_asked_and_the_play_goes_on(asked):
    asked.timed_out, asked.nvml = True, {"found": True, "error": None, "document": None}
    facts = gpu_facts.gather(Module())
    assert asked == ["nvml"] and facts["state"] == "unknown" and "7 s" in facts["reason"]


def test_without_nvidia_smi_the_inconclusive_answer_of_nvml_is_better_than_none(asked):
    asked.nvml = failed(12)
    facts = gpu_facts.gather(Module(program=None))
    assert facts["state"] == "library_missing" and "libnvidia-ml.so.1" in facts["reason"]


def test_without_both_the_reason_names_both(asked):
    facts = gpu_facts.gather(Module(program=None))
    assert facts["state"] == "library_missing" and "neither pynvml nor nvidia-smi" in facts["reason"]


def test_a_backend_that_was_asked_for_by_name_must_be_there(asked):
    with pytest.raises(Failed, match="pynvml"):
        gpu_facts.gather(Module(backend="nvml"))
    with pytest.raises(Failed, match="nvidia-smi"):
        gpu_facts.gather(Module(program=None, backend="nvidia-smi"))
    assert asked == ["nvml"]


def test_a_backend_that_was_asked_for_by_name_is_the_only_one(asked):
    asked.nvml = failed(12)
    assert gpu_facts.gather(Module(backend="nvml"))["state"] == "library_missing"
    assert asked == ["nvml"]
    assert gpu_facts.gather(Module(backend="nvidia-smi"))["backend"] == "nvidia-smi"
    assert asked == ["nvml", "nvidia-smi"]
    assert gpu_facts.gather(Module(backend="none"))["state"] == "no_gpu"
    assert asked == ["nvml", "nvidia-smi"]


def test_docker_is_asked_for_names_only_when_a_process_lives_in_a_container(asked, monkeypatch):
    listed = []

    class Api:
        def __init__(self, socket_path):
            assert socket_path == "/run/docker.sock"

        def containers(self, all):  # pylint: disable=redefined-builtin
            listed.append(all)
            return [{"Id": ID, "Names": ["/inference-demo"], "Labels": {_gpu_facts.MANAGED_LABEL: "true"}}]

    monkeypatch.setattr(docker_api, "DockerApi", Api)
    monkeypatch.setattr(_gpu_probe, "cgroups", lambda pids: {10309: "0::/system.slice/x.service\n"})
    assert [p["container"] for p in gpu_facts.gather(Module())["gpus"][0]["processes"]] == [None, None, None]
    assert not listed
    monkeypatch.setattr(_gpu_probe, "cgroups", lambda pids: {10309: "0::/system.slice/docker-" + ID + ".scope\n"})
    process = gpu_facts.gather(Module())["gpus"][0]["processes"][2]
    assert (process["container"], process["managed"], listed) == ("inference-demo", True, [False])


def test_without_docker_a_container_is_called_by_its_id_and_a_warning_says_so(asked, monkeypatch):
    class Api:
        def __init__(self, socket_path):
            raise docker_api.DockerUnavailable("no socket")

    monkeypatch.setattr(docker_api, "DockerApi", Api)
    monkeypatch.setattr(_gpu_probe, "cgroups", lambda pids: {10309: "0::/docker/" + ID})
    module = Module()
    assert gpu_facts.gather(module)["gpus"][0]["processes"][2]["container"] == ID[:12]
    assert len(module.warnings) == 1 and "no socket" in module.warnings[0]


def test_the_documentation_of_the_answer_names_every_field(asked):
    contains = yaml.safe_load(gpu_facts.RETURN)["ansible_facts"]["contains"]["indiaai_gpu"]["contains"]
    facts = gpu_facts.gather(Module())
    assert set(contains) == set(facts)
    assert set(contains["gpus"]["contains"]) == set(facts["gpus"][0])
    assert set(contains["gpus"]["contains"]["processes"]["contains"]) == set(facts["gpus"][0]["processes"][0])
    instance = {"index": 0, "gpu_instance_id": 1, "compute_instance_id": 0, "uuid": None, "memory_total_mib": 1, "memory_used_mib": 0,
                "memory_free_mib": 1}
    entry = _gpu_shape.mig_instances([instance])[0]
    documented = contains["gpus"]["contains"]["mig_instances"]["contains"]
    assert set(documented) == set(entry)
    assert set(documented["compute_instances"]["contains"]) == set(entry["compute_instances"][0])
