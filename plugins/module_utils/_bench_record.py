# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark record, put together from what was measured.

PRIVATE to the collection. Pure. Its schema is ``docs/contracts/benchmark_record.schema.json``.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils import _bench

SCHEMA_VERSION = 1

# Above this share of one core the client itself may be what is slow.
CLIENT_CPU_LIMIT_PERCENT = 80.0


def workload(options: dict, ignore_eos: bool) -> dict:
    """What was asked of the server; two records compare only when these agree."""
    return {
        "name": options["workload"],
        "prompt_tokens_target": options["prompt_tokens"],
        "max_tokens": options["max_tokens"],
        "seed": options["seed"],
        "requests_per_level": options["requests"],
        "levels": sorted(set(options["levels"])),
        "warmup_requests": options["warmup_requests"],
        "ignore_eos": ignore_eos,
        "slo_ttft_ms": options["slo_ttft_ms"],
        "max_seconds": options["max_seconds"],
    }


def client_share(cpu_seconds: float, wall_seconds: float) -> dict:
    """The measuring program's own use of the CPU, as a share of one core."""
    return {
        "cpu_seconds": round(cpu_seconds, 3),
        "wall_seconds": round(wall_seconds, 3),
        "cpu_percent": round(100.0 * cpu_seconds / wall_seconds, 1) if wall_seconds > 0 else 0.0,
    }


def notes(levels: list, client: dict, ignore_eos_refused: bool, traffic: int | None, forced: bool) -> list:
    """Everything a reader must know before trusting the figures, one sentence each."""
    found = []
    if client["cpu_percent"] > CLIENT_CPU_LIMIT_PERCENT:
        found.append("The measuring program used %.0f %% of a core: latencies at the higher levels may be its own."
                     % client["cpu_percent"])
    if ignore_eos_refused:
        found.append("The server refused ignore_eos: answers may be shorter than max_tokens.")
    estimated = sum(level["tokens_estimated"] for level in levels)
    if estimated:
        found.append("%d answers came without usage: their tokens are counted by chunks, which is an estimate." % estimated)
    cut = sum(level["cut_off"] for level in levels)
    if cut:
        found.append("%d requests were cut by the time limit: their latencies are not in the percentiles." % cut)
    for level in levels:
        if not level["completed"]:
            found.append("No request was answered at %d users." % level["concurrency"])
    if traffic is None:
        found.append("The server does not report its running requests: other traffic cannot be excluded.")
    elif traffic > 0 and forced:
        found.append("%d other requests were running when the measurement was forced." % traffic)
    return found


def make_record(label: str, caption: str, created_at: str, host: str, endpoint: dict, engine: dict, stub: bool, gpu: dict,
                host_facts: dict, tuning: dict, load: dict, levels: list, client: dict, remarks: list,
                gateway_overhead: dict | None) -> dict:
    """One complete record."""
    return {
        "schema_version": SCHEMA_VERSION,
        "label": label,
        "caption": caption,
        "stub": stub,
        "created_at": created_at,
        "host": host,
        "endpoint": endpoint,
        "engine": {name: engine.get(name) for name in ("name", "version", "flags", "image")},
        "gpu": gpu,
        "host_facts": host_facts,
        "tuning": tuning,
        "workload": load,
        "levels": levels,
        "gateway_overhead": gateway_overhead,
        "client": client,
        "notes": remarks,
    }


def all_failed(levels: list) -> dict:
    """Errors by kind when not one request of any level succeeded; else empty."""
    if any(level["completed"] for level in levels):
        return {}
    kinds = {}
    for level in levels:
        for kind, number in level["errors"].items():
            kinds[kind] = kinds.get(kind, 0) + number
        if level["cut_off"]:
            kinds["not answered in time"] = kinds.get("not answered in time", 0) + level["cut_off"]
    return kinds or {"no request": 0}


def headline(record: dict) -> str:
    """One line for a log."""
    best = _bench.best_throughput(record["levels"])
    users = _bench.concurrent_users(record["levels"], record["workload"]["slo_ttft_ms"])
    return "%s%s: %.0f tokens/s at %d users, %d users at once" % (
        "STUB " if record["stub"] else "", record["label"], best["output_tokens_per_second"] or 0,
        best["concurrency"], users["value"])
