# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The NVML binding against a library in C: what Python says of types and sizes is what the library expects.

Needs the stub GPU of tests/machines and a C compiler; skipped without.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import sys

import pytest

MACHINES = pathlib.Path(__file__).resolve().parents[2] / "machines"

PROGRAM = """
import json, sys
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_clocks, gpu_policy, gpu_record, nvml, process
settings = dict(gpu_policy.DEFAULTS, **json.loads(sys.argv[2]))
record = gpu_record.Record(sys.argv[1], "boot")
try:
    with nvml.Library() as library:
        rows = gpu_clocks.prepare(settings, gpu_clocks.survey(library), record)[0]
        gpu_clocks.apply(rows, record, process.Clock())
        json.dump(gpu_clocks.results(rows, settings, record, False), sys.stdout)
except nvml.NvmlError as exc:
    json.dump({"code": exc.code}, sys.stdout)
except gpu_clocks.Refused as exc:
    json.dump({"problems": exc.problems}, sys.stdout)
"""

LOCK = {"policy": "lock_max", "memory_lock": True}


@pytest.fixture
def stub(monkeypatch):
    if not (MACHINES / "stub_gpu" / "running.py").exists() or not (shutil.which("gcc") or shutil.which("cc")):
        pytest.skip("no stub GPU or no C compiler")
    monkeypatch.syspath_prepend(str(MACHINES))
    running = pytest.importorskip("stub_gpu.running")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    with running.StubGpu("h200", 2) as found:
        yield found


def run(stub, **settings):
    return json.loads(stub.python(PROGRAM, str(stub.folder / "record.json"), json.dumps(settings)))


def state(stub, key):
    """One key of the stub's state; empty for a lock that is not there."""
    return stub.run(["stub-gpu-ctl", "get", key]).stdout.strip()


def test_set_read_back_and_left_alone(stub):
    """Report 8: the second GPU reads 3199 for 3201."""
    first = run(stub, power_limit_watts=600, **LOCK)
    assert [gpu["state"] for gpu in first] == ["applied", "applied"]
    assert [gpu["found"]["memory_mhz"] for gpu in first] == [3201, 3199]
    assert state(stub, "gpu.1.sm_lock") == "1980 1980" and state(stub, "gpu.0.power_limit_mw") == "600000"
    assert [gpu["actions"] for gpu in run(stub, power_limit_watts=600, **LOCK)] == [[], []]
    assert run(stub)[0]["actions"] == ["set power_limit 700 W", "reset sm_clock", "reset memory_clock"]
    assert state(stub, "gpu.0.sm_lock") == ""


def test_power_limited_and_alarm(stub):
    """Report 9."""
    run(stub, **LOCK)
    stub.set("gpu.0.fault", "powercap:1700")
    stub.set("gpu.1.fault", "hwslowdown")
    found = run(stub, **LOCK)
    assert [gpu["state"] for gpu in found] == ["power_limited", "alarm"] and not found[0]["actions"] + found[1]["actions"]


@pytest.mark.parametrize("fault, state", [("nolmc", "applied"), ("nolgc", "failed"), ("noperm", "failed"), ("lost", "lost"),
                                          ("nohandle", "lost"), ("needs_reset", "needs_reset"), ("err", "unknown")])
def test_a_fault_of_one_gpu_keeps_the_other_from_nothing(stub, fault, state):
    stub.set("gpu.0.fault", fault)
    assert [gpu["state"] for gpu in run(stub, **LOCK)] == [state, "applied"]


def test_without_a_driver(stub):
    """Report 14."""
    stub.set("fault", "nodriver")
    assert run(stub)["code"] == 9


def test_a_clock_of_another_model_is_refused(stub):
    (problem,) = run(stub, memory_lock=True, memory_mhz=2619)["problems"]
    assert "GPU 0, 1 (NVIDIA H200): gpu_clocks_memory_mhz: found 2619" in problem and "1593 and 3201" in problem
