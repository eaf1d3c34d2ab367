# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Records for tests: made up, with round figures that are easy to check."""

from __future__ import annotations

import copy
import json
import pathlib

import pytest

SPREAD = ("p50", "p90", "p95", "p99", "mean")


def spread(value):
    return dict.fromkeys(SPREAD, value)


def level(users, rate, ttft, total=None, **more):
    made = {
        "concurrency": users, "requests": 2 * users, "completed": 2 * users, "cut_off": 0, "errors": {},
        "duration_seconds": 10.0, "ttft_ms": spread(ttft), "time_per_output_token_ms": spread(10.0),
        "end_to_end_ms": spread(total or ttft + 1000.0), "output_tokens_total": 2 * users * 100, "prompt_tokens_total": 100,
        "tokens_estimated": 0, "output_tokens_per_second": rate, "requests_per_second": 1.0,
        "output_tokens_per_second_per_user_p50": rate / users,
    }
    made.update(more)
    return made


BEFORE = {
    "schema_version": 1, "label": "before", "caption": "", "stub": False, "created_at": "2026-01-01T00:00:00Z", "host": "llm1",
    "endpoint": {"url": "http://127.0.0.1:8000", "api": "openai", "model": "demo", "via": "direct"},
    "engine": {"name": "vllm", "version": "1", "flags": {"max-num-seqs": "1"}, "image": "engine:1"},
    "gpu": {"backend": "none", "state": "no_gpu", "driver_version": None, "gpus": []},
    "host_facts": {"cpu_count": 2, "cpu_model": "cpu", "memory_total_mib": 8192, "memory_available_mib": 2048, "kernel": "6.1"},
    "tuning": {"net.ipv4.tcp_congestion_control": "cubic", "net.core.somaxconn": "4096"},
    "workload": {"name": "chat", "prompt_tokens_target": 128, "max_tokens": 100, "seed": 7, "requests_per_level": 2,
                 "levels": [1, 16], "warmup_requests": 2, "ignore_eos": True, "slo_ttft_ms": 5000.0, "max_seconds": 120.0},
    "levels": [level(1, 100.0, 100.0), level(16, 100.0, 16000.0)],
    "gateway_overhead": None,
    "client": {"cpu_seconds": 1.0, "wall_seconds": 20.0, "cpu_percent": 5.0},
    "notes": [],
}

AFTER = copy.deepcopy(BEFORE)
AFTER.update(
    label="after", created_at="2026-01-02T00:00:00Z", levels=[level(1, 120.0, 50.0), level(16, 800.0, 200.0)],
    gateway_overhead={"requests": 20, "failed": 0, "direct_ttft_ms": spread(50.0), "gateway_ttft_ms": spread(52.0),
                      "added_ms_p50": 2.0, "paired_ms": {"p25": 1.0, "p50": 2.0, "p75": 3.0}})
AFTER["engine"] = {"name": "vllm", "version": "1", "flags": {"max-num-seqs": "16", "kv-cache-dtype": "fp8"}, "image": "engine:1"}
AFTER["tuning"] = {"net.ipv4.tcp_congestion_control": "bbr", "net.core.somaxconn": "4096"}
AFTER["host_facts"] = dict(BEFORE["host_facts"], memory_available_mib=4096)


def before(**more):
    return _with(BEFORE, more)


def after(**more):
    return _with(AFTER, more)


def _with(record, more):
    made = copy.deepcopy(record)
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(made.get(name), dict):
            made[name].update(value)
        else:
            made[name] = value
    return made


@pytest.mark.parametrize("record", [BEFORE, AFTER], ids=["before", "after"])
def test_the_samples_follow_the_contract(record):
    jsonschema = pytest.importorskip("jsonschema")
    root = pathlib.Path(__file__).resolve().parents[4]
    schema = json.loads((root / "docs" / "contracts" / "benchmark_record.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(record)
