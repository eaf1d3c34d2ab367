# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting for engines: what a unit's state means, and a failure that says what to change."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _readiness
from ansible_collections.indiaai.inference.plugins.module_utils._host import status

# systemctl show -p ... of systemd 252, while one engine runs and another one waits for its second try.
SHOWN = """Id=inference-engine@demo.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
StatusText=ready
NRestarts=0
UnitFileState=enabled
InvocationID=0123456789abcdef0123456789abcdef
InactiveExitTimestampMonotonic=86400000000
ActiveEnterTimestampMonotonic=86441200000

Id=inference-engine@other.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
Result=exit-code
StatusText=
NRestarts=1
UnitFileState=enabled
Job=4711
InactiveExitTimestampMonotonic=86400000000
ActiveEnterTimestampMonotonic=0
"""


def unit(**properties):
    return dict({"LoadState": "loaded", "ActiveState": "activating", "SubState": "start", "NRestarts": "0"}, **properties)


def test_seconds_to_ready():
    units = status.parse_show(SHOWN)
    assert _readiness.seconds_to_ready(units["inference-engine@demo.service"]) == 41.2
    assert _readiness.seconds_to_ready(units["inference-engine@other.service"]) is None
    assert _readiness.seconds_to_ready({}) is None


@pytest.mark.parametrize(
    ("properties", "before", "allowed", "verdict"),
    [
        (unit(ActiveState="active", SubState="running"), 0, 1, "active"),
        (unit(StatusText="loading for 3 s"), 0, 1, "waiting"),
        (unit(ActiveState="failed", Result="exit-code"), 0, 1, "failed"),
        (unit(LoadState="not-found"), 0, 1, "failed"),
        (unit(LoadState="masked"), 0, 1, "failed"),
        ({}, 0, 1, "failed"),
        (None, 0, 1, "failed"),
        (unit(ActiveState="inactive"), 0, 1, "failed"),
        # a restart: the old instance goes down and the new one has not come up
        (unit(ActiveState="inactive", Job="12"), 0, 1, "waiting"),
        (unit(ActiveState="active", Job="12"), 0, 1, "waiting"),
        (unit(ActiveState="deactivating", SubState="stop-sigterm"), 0, 1, "waiting"),
        (unit(NRestarts="1"), 0, 1, "waiting"),
        (unit(NRestarts="2"), 0, 1, "failed"),
        (unit(NRestarts="2", Job="12"), 0, 1, "failed"),
        (unit(NRestarts="1"), 0, 0, "failed"),
        # failures of an earlier day are not counted
        (unit(NRestarts="7"), 6, 1, "waiting"),
    ],
)
def test_judge(properties, before, allowed, verdict):
    assert _readiness.judge(properties, before, allowed)[0] == verdict


def test_judge_says_what_it_waits_for():
    assert _readiness.judge(unit(StatusText="waiting for the lock of device cpu"), 0, 1)[1] == "waiting for the lock of device cpu"
    assert _readiness.judge(unit(), 0, 1)[1] == "activating/start"
    assert "boot_recovery" in _readiness.judge({}, 0, 1)[1]


@pytest.mark.parametrize(
    ("line", "variable"),
    [
        ("OSError: [Errno 98] error while attempting to bind on address ('127.0.0.1', 30000): address already in use", "inference_first_port"),
        ("api_server.py: error: unrecognized arguments: --kv-cache", "inference_models[].args"),
        ("api_server.py: error: argument --kv-cache-dtype: invalid choice: 'fp9'", "inference_models[].args"),
        ("ValueError: Free memory on device (10.0/139.8 GiB) on startup is less than desired GPU memory utilization", "gpu_memory_mib"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpu_memory_mib"),
        ("ValueError: To serve at least one request with the models's max seq len (131072), 16.00 GiB KV cache is needed", "context_length"),
        ("/usr/bin/python3: No module named vllm", "inference_models[].image"),
        ("OSError: /model does not appear to have a file named config.json", "inference_models[].source"),
        ("Error 803: system has unsupported display driver / cuda driver combination", "inference_models[].image"),
    ],
)
def test_advice_names_the_variable(line, variable):
    assert variable in _readiness.advice(["INFO starting", line])


def test_advice_takes_the_last_line_that_says_something():
    assert "port" in _readiness.advice(["CUDA out of memory", "address already in use", "exit"])
    assert _readiness.advice(["all is well", None, ""]) is None


def test_failure_text():
    engine = {"name": "demo", "container": "inference-demo", "unit": "inference-engine@demo.service"}
    text = _readiness.failure_text(engine, "it failed 2 times", ["one", "unrecognized arguments: --x"])
    assert text.splitlines() == [
        "engine 'demo' is not ready: it failed 2 times",
        "container inference-demo said last:",
        "  | one",
        "  | unrecognized arguments: --x",
        "change: the engine does not know a flag: inference_models[].args",
        "more: journalctl -u inference-engine@demo.service",
    ]
    assert "inference_ready_timeout" in _readiness.failure_text(engine, "no answer", ["loading"], timed_out=True)
    assert "wrote nothing" in _readiness.failure_text(engine, "no answer", [])
    assert "inference_models" in _readiness.failure_text(engine, "no answer", [])
