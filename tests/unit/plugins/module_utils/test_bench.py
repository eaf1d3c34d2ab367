# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arithmetic of a benchmark against figures worked out by hand."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _bench


def outcome(start, first, last, end, tokens=11, error=None, cut=False):
    made = _bench.Outcome(start)
    made.first, made.last, made.end, made.error, made.cut = first, last, end, error, cut
    made.output_tokens, made.prompt_tokens, made.chunks = tokens, 5, 3
    return made


def level(concurrency, ttft, total, rate, errors=None, cut_off=0, ttft_p95=None):
    return {
        "concurrency": concurrency, "errors": errors or {}, "cut_off": cut_off,
        "ttft_ms": {"p50": ttft, "p95": ttft if ttft_p95 is None else ttft_p95},
        "end_to_end_ms": {"p50": total}, "output_tokens_per_second": rate,
    }


@pytest.mark.parametrize("values, percent, wanted", [
    ([], 50, None), ([7], 99, 7), ([1, 2], 50, 1.5), ([4, 1, 3, 2], 50, 2.5),
    (list(range(101)), 95, 95), ([10, 20, 30], 90, 28), ([1, 2, 3], 0, 1), ([1, 2, 3], 100, 3),
])
def test_percentile(values, percent, wanted):
    assert _bench.percentile(values, percent) == pytest.approx(wanted) if wanted is not None else True
    assert (_bench.percentile(values, percent) is None) == (wanted is None)


def test_a_level_as_arithmetic_gives_it():
    outcomes = [
        outcome(0.0, 0.1, 1.1, 1.2),
        outcome(0.0, 0.3, 2.3, 2.4),
        outcome(0.0, None, None, 0.5, error="http_500"),
        outcome(0.0, None, None, 2.5, cut=True),
    ]
    found = _bench.summarise_level(2, outcomes, 0.0, 2.5)
    assert (found["requests"], found["completed"], found["cut_off"], found["errors"]) == (4, 2, 1, {"http_500": 1})
    assert found["ttft_ms"] == {"p50": 200.0, "p90": 280.0, "p95": 290.0, "p99": 298.0, "mean": 200.0}
    assert found["time_per_output_token_ms"]["p50"] == 150.0
    assert found["end_to_end_ms"]["mean"] == 1800.0
    assert found["output_tokens_total"] == 22
    assert found["prompt_tokens_total"] == 10
    assert found["output_tokens_per_second"] == 8.8
    assert found["requests_per_second"] == 0.8
    assert found["output_tokens_per_second_per_user_p50"] == pytest.approx((11 / 1.2 + 11 / 2.4) / 2, abs=0.001)


def test_one_token_has_no_rate_and_usage_beats_chunks():
    single = outcome(0.0, 0.1, 0.1, 0.1, tokens=1)
    many_in_one_chunk = outcome(0.0, 0.1, 0.1, 0.1, tokens=64)
    many_in_one_chunk.chunks = 1
    without_usage = outcome(0.0, 0.1, 0.5, 0.5, tokens=None)
    found = _bench.summarise_level(1, [single, many_in_one_chunk, without_usage], 0.0, 1.0)
    assert found["output_tokens_total"] == 1 + 64 + 3
    assert found["tokens_estimated"] == 1
    assert found["time_per_output_token_ms"]["mean"] == pytest.approx((0.0 + 200.0) / 2)


def test_an_empty_level_has_no_figures():
    found = _bench.summarise_level(4, [], 0.0, 0.0)
    assert found["ttft_ms"]["p50"] is None and found["output_tokens_total"] == 0


def test_overhead_leaves_out_pairs_that_failed():
    direct = [outcome(0, 0.010, 1, 1), outcome(0, 0.012, 1, 1), outcome(0, 0.2, 1, 1)]
    gateway = [outcome(0, 0.011, 1, 1), outcome(0, 0.015, 1, 1), outcome(0, None, None, 1, error="http_502")]
    found = _bench.summarise_overhead(direct, gateway)
    assert (found["requests"], found["failed"]) == (2, 1)
    assert found["added_ms_p50"] == pytest.approx(2.0)
    assert found["paired_ms"] == {"p25": 1.5, "p50": 2.0, "p75": 2.5}
    assert _bench.summarise_overhead([], [])["added_ms_p50"] is None


def test_a_server_that_queues_serves_one_user():
    levels = [level(1, 50, 1000, 100), level(4, 3050, 4000, 101), level(16, 15050, 16000, 101)]
    assert _bench.is_serial(levels, levels[1])
    assert _bench.concurrent_users(levels, 60000) == {
        "value": 1, "limited_by": "answers one request at a time", "highest_measured": 16}


def test_a_server_that_batches_serves_all():
    levels = [level(1, 50, 1000, 100), level(16, 200, 2000, 800)]
    assert _bench.concurrent_users(levels, 5000) == {"value": 16, "limited_by": None, "highest_measured": 16}


def test_a_busy_parallel_server_is_not_called_serial():
    # No gain in throughput, but everybody's answer begins at once.
    levels = [level(1, 50, 1000, 100), level(4, 120, 4000, 100)]
    assert not _bench.is_serial(levels, levels[1])


@pytest.mark.parametrize("bad, text", [
    ({"errors": {"reset": 1}}, "errors at 4 users"),
    ({"cut_off": 2}, "4 users not answered inside the time limit"),
    ({"ttft_p95": 5001}, "time to first token at 4 users"),
])
def test_what_limits_the_users(bad, text):
    levels = [level(1, 50, 1000, 100), level(4, 60, 1100, 390, **bad), level(16, 100, 1500, 900)]
    assert _bench.concurrent_users(levels, 5000) == {"value": 1, "limited_by": text, "highest_measured": 16}


def test_requests_for_level():
    assert [_bench.requests_for_level(16, users) for users in (1, 8, 48)] == [16, 16, 96]
