# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a record says of its host, and the rules that say when it is made."""

from __future__ import annotations

import json
import os
import stat

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _bench_host, _bench_record, _bench_store

MEMINFO = "MemTotal:       24684528 kB\nMemFree:          123456 kB\nMemAvailable:   22799360 kB\nHugePages_Total:       0\n"


def test_meminfo():
    assert _bench_host.parse_meminfo(MEMINFO) == {"memory_total_mib": 24105, "memory_available_mib": 22265}
    assert _bench_host.parse_meminfo("") == {"memory_total_mib": None, "memory_available_mib": None}


def test_cpu_model():
    assert _bench_host.parse_cpu_model("processor : 0\nmodel name\t: AMD  EPYC 9654\n") == "AMD EPYC 9654"
    assert _bench_host.parse_cpu_model("CPU architecture: 8\n") is None


def test_gpu_memory():
    text = "GPU-1, 143771, 98101\nGPU-2, 143771, [N/A]\n"
    assert _bench_host.parse_gpu_memory(text) == {"GPU-1": {"memory_total_mib": 143771, "memory_free_mib": 98101}}


def test_gpu_facts_get_the_memory_of_now():
    facts = {"backend": "nvml", "state": "ok", "driver_version": "590.1", "gpus": [
        {"index": 0, "uuid": "GPU-1", "name": "H200", "memory_total_mib": 143771, "memory_free_mib": 1, "processes": []}]}
    found = _bench_host.gpu_subset(facts, {"GPU-1": {"memory_total_mib": 143771, "memory_free_mib": 98101}})
    assert found["gpus"] == [
        {"index": 0, "uuid": "GPU-1", "name": "H200", "memory_total_mib": 143771, "memory_free_mib": 98101}]
    assert _bench_host.gpu_subset({}, {}) == {"backend": "none", "state": "no_gpu", "driver_version": None, "gpus": []}


def test_flags_hide_secrets_and_keep_limits():
    command = ["python3", "-m", "server", "--max-num-seqs", "16", "--enable-prefix-caching", "--api-key=sk-1",
               "--hf-token", "hf-2", "--max-tokens", "9", "--tokenizer", "x"]
    assert _bench_host.flags_from_command(command) == {
        "max-num-seqs": "16", "enable-prefix-caching": True, "api-key": "(hidden)", "hf-token": "(hidden)",
        "max-tokens": "9", "tokenizer": "x"}


def test_container():
    document = {"Config": {"Image": "ollama/ollama:0.9", "Entrypoint": ["/bin/ollama"], "Cmd": ["serve"],
                           "Env": ["PATH=/bin", "OLLAMA_NUM_PARALLEL=1", "VLLM_API_KEY=sk-1"]}}
    assert _bench_host.describe_inspect(document) == {
        "image": "ollama/ollama:0.9", "flags": {"env:OLLAMA_NUM_PARALLEL": "1", "env:VLLM_API_KEY": "(hidden)"}}
    assert _bench_host.describe_inspect({}) == {"image": None, "flags": {}}


def test_tuning(tmp_path):
    folder = tmp_path / "net" / "ipv4"
    folder.mkdir(parents=True)
    (folder / "tcp_rmem").write_text("4096\t131072\t6291456\n")
    assert _bench_host.read_tuning(["net.ipv4.tcp_rmem", "net.ipv4.absent"], str(tmp_path)) == {
        "net.ipv4.tcp_rmem": "4096 131072 6291456"}


@pytest.mark.parametrize("label, policy, exists, changed, wanted", [
    ("before", "always", False, False, True),
    ("before", "always", True, True, False),
    ("before", "changed", False, False, True),
    ("before", "never", False, False, False),
    ("after", "always", True, False, True),
    ("after", "changed", False, False, True),
    ("after", "changed", True, False, False),
    ("after", "changed", True, True, True),
    ("after", "missing", True, True, False),
    ("after", "missing", False, False, True),
    ("after", "never", False, True, False),
])
def test_when_a_record_is_made(label, policy, exists, changed, wanted):
    decided, reason = _bench_store.decide(label, policy, exists, changed)
    assert decided is wanted and reason


def test_records_on_disk(tmp_path):
    folder = str(tmp_path / "benchmarks")
    assert _bench_store.load(folder, "after") is None
    for number in (1, 2):
        record = {"schema_version": 1, "label": "after", "created_at": "2026-01-01T00:00:0%dZ" % number, "n": number}
        paths = _bench_store.save(folder, record)
    assert _bench_store.load(folder, "after")["n"] == 2
    assert sorted(os.listdir(folder)) == ["after.json", "history"]
    assert sorted(os.listdir(os.path.join(folder, "history"))) == ["20260101T000001Z-after.json", "20260101T000002Z-after.json"]
    assert all(stat.S_IMODE(os.stat(path).st_mode) == 0o644 for path in paths)


@pytest.mark.parametrize("text", ["{", "[]", "{}", ""])
def test_a_damaged_record_is_named_not_replaced(tmp_path, text):
    (tmp_path / "before.json").write_text(text)
    with pytest.raises(ValueError, match="before.json"):
        _bench_store.load(str(tmp_path), "before")


def test_a_write_that_fails_leaves_nothing(tmp_path):
    with pytest.raises(OSError):
        _bench_store.write_atomically(str(tmp_path / "no" / "x"), "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        _bench_store.write_atomically(str(tmp_path / "folder"), "text")
    assert os.listdir(tmp_path) == ["folder"]


LEVEL = {"concurrency": 1, "completed": 4, "errors": {}, "cut_off": 0, "tokens_estimated": 0}
CLIENT = {"cpu_percent": 5.0}


def test_notes_say_what_limits_trust():
    assert _bench_record.notes([LEVEL], CLIENT, False, 0, False) == []
    found = " ".join(_bench_record.notes(
        [dict(LEVEL, completed=0, cut_off=3, tokens_estimated=2)], {"cpu_percent": 93.0}, True, None, False))
    for text in ("93 % of a core", "refused ignore_eos", "2 answers came without usage", "3 requests were cut",
                 "No request was answered at 1 users", "other traffic cannot be excluded"):
        assert text in found
    assert "5 other requests" in " ".join(_bench_record.notes([LEVEL], CLIENT, False, 5, True))


def test_all_failed():
    assert _bench_record.all_failed([LEVEL]) == {}
    assert _bench_record.all_failed([dict(LEVEL, completed=0, errors={"http_500": 3}, cut_off=1),
                                     dict(LEVEL, completed=0, errors={"http_500": 2})]) == {
        "http_500": 5, "not answered in time": 1}


def test_client_share():
    assert _bench_record.client_share(1.0, 4.0) == {"cpu_seconds": 1.0, "wall_seconds": 4.0, "cpu_percent": 25.0}
    assert json.dumps(_bench_record.client_share(0.0, 0.0))
