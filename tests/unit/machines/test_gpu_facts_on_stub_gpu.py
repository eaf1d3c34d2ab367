# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module gpu_facts as a program of its own on stub GPUs: a real pynvml, a library in C, an nvidia-smi."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import resource
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "machines"))

StubGpu = pytest.importorskip("stub_gpu.running", reason="the stub GPU is not in this checkout").StubGpu
build = pytest.importorskip("stub_gpu.build")

pytestmark = [
    pytest.mark.skipif(build.compiler() is None, reason="no C compiler here to build the stub's library with (gcc)"),
    pytest.mark.skipif(importlib.util.find_spec("pynvml") is None, reason="pynvml is not installed (pip install nvidia-ml-py)"),
]

MODULE = ROOT / "plugins" / "modules" / "gpu_facts.py"
FAULTS = ("", "mig", "lost", "needs_reset", "err", "powercap", "hwslowdown", "fabric", "nvlinkdown:3")


def run(program, environment, arguments=None, words=()):
    environment = dict(environment, PYTHONPATH=str(ROOT / "playbooks" / "collections"))
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    text = json.dumps({"ANSIBLE_MODULE_ARGS": arguments}) if arguments is not None else ""
    return subprocess.run([sys.executable, str(program), *words], input=text, env=environment, text=True, capture_output=True,
                          check=False, timeout=60)


def facts(gpu, **arguments):
    done = run(MODULE, gpu.environment(), arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)["ansible_facts"]["indiaai_gpu"]


@pytest.fixture(name="gpu")
def _gpu():
    with StubGpu("h200", 2) as gpu:
        yield gpu


@pytest.mark.parametrize("fault", FAULTS)
def test_both_backends_give_the_same_facts_on_the_same_state(gpu, fault):
    gpu.set("gpu.1.fault", fault)
    gpu.set("gpu.0.processes", "2147480001:1000:C:-:-:python3 2147480001:1000:G:-:-:python3 2147480002:-:C:-:-:train")
    check = run(ROOT / "tests" / "gpu" / "check.py", gpu.environment())
    agreement = [item for item in json.loads(check.stdout)["checks"] if item["name"] == "both backends agree"][0]
    assert agreement["ok"] is True, agreement["differences"]
    # The links, and with MIG the instances' UUIDs, come from NVML only.
    assert agreement["not_compared"] == (["mig_instances.uuid"] if fault == "mig" else []) + ["nvlinks_active", "nvlinks_inactive"]


def test_nvml_is_used_where_there_is_a_binding_and_knows_the_links(gpu):
    gpu.set("gpu.1.fault", "nvlinkdown:3")
    found = facts(gpu)
    assert (found["backend"], found["unavailable_fields"]) == ("nvml", [])
    assert [(item["nvlinks_active"], item["nvlinks_inactive"]) for item in found["gpus"]] == [(18, []), (17, [3])]


def test_a_gpu_that_gives_no_handle_does_not_hide_the_other(gpu):
    gpu.set("gpu.0.fault", "nohandle")
    assert [item["state"] for item in facts(gpu)["gpus"]] == ["lost", "ok"]


@pytest.mark.parametrize("backend", ["nvml", "nvidia-smi"])
def test_a_driver_that_does_not_match_has_a_state_of_its_own(gpu, backend):
    gpu.set("fault", "mismatch")
    assert facts(gpu, backend=backend)["state"] == "version_mismatch"


@pytest.mark.parametrize("backend", ["nvml", "nvidia-smi"])
def test_report_15_a_hanging_driver_is_unknown_at_the_timeout(gpu, backend):
    gpu.set("fault", "hang:300")
    started = time.monotonic()
    found = facts(gpu, backend=backend, timeout=1)
    assert time.monotonic() - started < 15
    assert (found["state"], found["gpus"]) == ("unknown", []) and "1 s" in found["reason"]


def test_mig_is_counted_once(gpu):
    gpu.set("gpu.0.mig_devices", "3g.71gb:1:0:71040 3g.71gb:1:1:71040 3g.71gb:2:0:71040")
    gpu.set("gpu.0.fault", "mig")
    for backend in ("nvml", "nvidia-smi"):
        card = facts(gpu, backend=backend)["gpus"][0]
        assert [(item["gpu_instance_id"], len(item["compute_instances"])) for item in card["mig_instances"]] == [(1, 2), (2, 1)]
        assert sum(item["memory_total_mib"] for item in card["mig_instances"]) == 2 * 71040


def test_eight_gpus_take_less_than_three_tenths_of_a_second_with_the_start_of_python():
    """CPU time of the quickest of five runs: what else the machine does is not counted."""
    seconds = []
    with StubGpu("h200", 8) as gpu:
        for unused in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert len(facts(gpu)["gpus"]) == 8
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(seconds) < 0.3, seconds
