# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two records side by side."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.plugin_utils import _comparison
from ansible_collections.indiaai.inference.tests.unit.plugins.plugin_utils.test_bench_samples import after, before, level


def rows_of(one, other):
    return {row["key"]: row for row in _comparison.compare(one, other)["rows"]}


def test_the_table_of_before_and_after():
    rows = rows_of(before(), after())
    assert list(rows) == ["throughput_1", "throughput_16", "ttft_1", "ttft_16", "users", "memory", "gateway"]
    assert {key: row["ratio"] for key, row in rows.items()} == {
        "throughput_1": 1.2, "throughput_16": 8.0, "ttft_1": 2.0, "ttft_16": 80.0, "users": 16.0, "memory": 2.0, "gateway": None}
    assert rows["users"]["note"] == "before: time to first token at 16 users; after: no limit found up to 16"
    assert rows["gateway"]["after"] == 2.0 and "20 alternating pairs" in rows["gateway"]["note"]
    assert (rows["ttft_1"]["better"], rows["ttft_1"]["verdict"], rows["throughput_1"]["better"]) == ("lower", "better", "higher")


def test_the_same_record_twice_is_equal():
    comparison = _comparison.compare(before(), after(**before(label="after")))
    assert comparison["comparable"] and comparison["configuration"] == []
    assert set(row["verdict"] for row in comparison["rows"] if row["ratio"]) == {"same"}


def test_worse_is_said():
    assert rows_of(after(), before())["throughput_16"]["verdict"] == "worse"


def test_noise_is_no_gain():
    rows = rows_of(before(), before(label="after", levels=[level(1, 104.0, 97.0), level(16, 99.0, 16000.0)]))
    assert rows["throughput_1"]["verdict"] == rows["ttft_1"]["verdict"] == rows["throughput_16"]["verdict"] == "same"


@pytest.mark.parametrize("name, value", [("seed", 8), ("max_tokens", 64), ("prompt_tokens_target", 1), ("name", "batch")])
def test_another_workload_is_not_compared(name, value):
    comparison = _comparison.compare(before(), after(workload={name: value}))
    assert not comparison["comparable"]
    assert comparison["reasons"][0].startswith("Not the same workload: %s is" % name)
    assert all(row["ratio"] is None for row in comparison["rows"])
    assert all(item["throughput_ratio"] is None for item in comparison["levels"])


def test_no_common_level_is_not_compared():
    comparison = _comparison.compare(before(levels=[level(1, 1.0, 1.0)]), after(levels=[level(2, 1.0, 1.0)]))
    assert not comparison["comparable"] and [item["concurrency"] for item in comparison["levels"]] == [1, 2]


def test_only_common_levels_are_compared_and_the_best_one_is_named():
    rows = rows_of(before(), after(levels=[level(1, 120.0, 50.0), level(16, 800.0, 200.0), level(48, 2000.0, 300.0)]))
    assert rows["throughput_best"]["after"] == 2000.0 and rows["throughput_16"]["ratio"] == 8.0


def test_a_stub_says_so_and_never_beats_a_real_engine():
    both = _comparison.compare(before(stub=True), after(stub=True))
    assert both["stub"] and both["title"].startswith("STUB") and both["comparable"]
    mixed = _comparison.compare(before(), after(stub=True))
    assert mixed["title"].startswith("STUB") and not mixed["comparable"]


@pytest.mark.parametrize("one, other, text", [
    (None, after(), "There is no record before"), (before(), None, "There is no record after"),
    (None, None, "There is no record before and after")])
def test_one_record_claims_nothing(one, other, text):
    comparison = _comparison.compare(one, other)
    assert comparison["reasons"][0].startswith(text) and not comparison["comparable"]
    assert all(row["ratio"] is None for row in comparison["rows"])
    assert _comparison.table_lines(comparison)


def test_every_difference_of_configuration_is_named():
    found = {(item["area"], item["name"]): (item["before"], item["after"])
             for item in _comparison.compare(before(), after(
                 endpoint={"url": "http://127.0.0.1:30000"}, engine={"image": "engine:2"},
                 gpu={"gpus": [{"uuid": "GPU-1", "name": "H200", "memory_total_mib": 143771, "memory_free_mib": 9}]},
                 host_facts={"kernel": "6.2"}))["configuration"]}
    assert found == {
        ("endpoint", "url"): ("http://127.0.0.1:8000", "http://127.0.0.1:30000"),
        ("engine", "image"): ("engine:1", "engine:2"),
        ("flag", "max-num-seqs"): ("1", "16"), ("flag", "kv-cache-dtype"): (None, "fp8"),
        ("kernel setting", "net.ipv4.tcp_congestion_control"): ("cubic", "bbr"),
        ("host", "kernel"): ("6.1", "6.2"), ("GPU", "gpus"): ("none", "H200 (143771 MiB)")}


def test_unknown_flags_are_not_a_difference_of_every_flag():
    found = _comparison.compare(before(engine={"flags": None}), after())["configuration"]
    assert [item for item in found if item["area"] == "flag"] == [
        {"area": "flag", "name": "(all)", "before": "not known", "after": "known"}]


def test_free_memory_of_the_gpus():
    gpus = [{"uuid": "a", "name": "H200", "memory_total_mib": 143771, "memory_free_mib": free} for free in (1000, 2000)]
    rows = rows_of(before(gpu={"gpus": gpus}), after(gpu={"gpus": gpus[1:]}))
    assert (rows["gpu_memory"]["before"], rows["gpu_memory"]["after"]) == (3000, 2000)


def test_caveats():
    caveats = " ".join(_comparison.compare(
        before(notes=["Something."]),
        after(host="llm2", endpoint={"via": "gateway"}, workload={"ignore_eos": False},
              levels=[level(1, 1.0, 1.0, output_tokens_total=20), level(16, 1.0, 1.0, output_tokens_total=20)]))["caveats"])
    for text in ("before: Something.", "ignore_eos = True before and False after", "two hosts: llm1 and llm2",
                 "direct before and through the gateway after", "Answers differ in length"):
        assert text in caveats


def test_captions():
    assert _comparison.compare(before(), after())["captions"] == ["Measured on CPU, without a GPU."]
    assert _comparison.compare(before(caption="CPU, small random model"), after(caption="CPU, small random model"))[
        "captions"] == ["CPU, small random model"]


@pytest.mark.parametrize("value, unit, text", [
    (None, "ms", "-"), (0.4321, "ms", "0.43 ms"), (12.34, "ms", "12.3 ms"), (1234.5, "ms", "1234 ms"), (12345.0, "ms", "12.3 s"),
    (512, "MiB", "512 MiB"), (46694, "MiB", "45.6 GiB"), (16, "users", "16"), (256.4, "tok/s", "256 tok/s")])
def test_shown(value, unit, text):
    assert _comparison.shown(value, unit) == text


def test_the_terminal_table_is_aligned():
    lines = _comparison.table_lines(_comparison.compare(before(), after()))
    body = [line for line in lines if line.startswith(("Tokens/s", "Time"))]
    assert len(body) == 4 and len(set(len(line) for line in body)) == 1
    assert body[1].endswith("8.00x")
