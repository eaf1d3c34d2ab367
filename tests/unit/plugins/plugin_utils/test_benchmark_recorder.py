# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the callback collects, without Ansible's callback objects."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.filter.benchmark_message import HINT, benchmark_message
from ansible_collections.indiaai.inference.plugins.plugin_utils._benchmark_record import BenchmarkCollection, folder_name
from ansible_collections.indiaai.inference.tests.unit.plugins.plugin_utils.test_bench_samples import after, before


def collection(*results, host="llm1"):
    made = BenchmarkCollection()
    for result in results:
        made.add(host, result)
    return made


def test_a_play_that_measures_both():
    made = collection({"measured": True, "record": before(), "stored": {"before": before(), "after": None}},
                      {"measured": True, "record": after(), "stored": {"before": before(), "after": after()}})
    assert made.hosts() == ["llm1"]
    assert sorted(made.files("llm1")) == ["after.json", "before.json", "report.html", "report.json"]
    report = json.loads(made.files("llm1")["report.json"])
    assert report["comparison"]["comparable"] and report["table"] == made.table("llm1")
    assert made.table("llm1")[0] == "demo on llm1: before and after"


def test_a_play_that_measures_nothing_reports_the_stored_records():
    made = collection({"measured": False, "reason": "exists", "stored": {"before": before(), "after": after()}})
    assert "report.html" in made.files("llm1")


def test_what_was_measured_wins_over_what_was_stored():
    made = collection({"record": after(created_at="2027-01-01T00:00:00Z"), "stored": {}},
                      {"measured": False, "stored": {"after": after()}})
    assert made.records("llm1")["after"]["created_at"] == "2027-01-01T00:00:00Z"


@pytest.mark.parametrize("result", [
    {}, {"skipped": True}, {"failed": True, "msg": "no server"}, {"measured": False, "stored": {"before": None, "after": None}},
    {"stored": None}, {"record": "text"}, {"record": {"label": 3}}, {"results": [{"skipped": True}, "text", None]},
])
def test_results_without_a_record(result):
    made = collection(result)
    assert made.hosts() == [] and made.table("llm1") == [] and made.files("llm1") == {}


def test_loops_and_other_labels():
    made = collection({"results": [{"record": before()}, {"record": after(label="burst")}]})
    assert sorted(made.files("llm1")) == ["before.json", "burst.json", "report.html", "report.json"]


def test_only_another_label_makes_no_report():
    assert sorted(collection({"record": after(label="burst")}).files("llm1")) == ["burst.json"]


def test_formats():
    made = collection({"record": after()})
    assert sorted(made.files("llm1", ["html"])) == ["report.html"]
    assert sorted(made.files("llm1", ["json"])) == ["after.json", "report.json"]


def test_no_log_and_unknown_versions_are_said():
    made = collection({"censored": "the output has been hidden"}, {"record": after(schema_version=2)})
    assert made.hosts() == [] and len(made.problems) == 2


def test_hosts_are_kept_apart():
    made = collection({"record": before()})
    made.add("llm2", {"record": after()})
    assert made.hosts() == ["llm1", "llm2"] and list(made.records("llm2")) == ["after"]


@pytest.mark.parametrize("host, name", [("llm1.example.in", "llm1.example.in"), ("../x", "_x"), ("..", "_"), ("a/b", "a_b"),
                                        ("[::1]", "___1_")])
def test_folder_name(host, name):
    assert folder_name(host) == name


def test_message_of_a_measurement():
    lines = benchmark_message({"measured": True, "record": after(notes=["Careful."]), "summary": ["table"],
                               "stored": {"before": before(), "after": after()}}, "after")
    assert lines == ["'after' measured at http://127.0.0.1:8000, model demo", "table", "Careful."]


def test_message_without_the_callback_compares_and_says_how_to_enable_it():
    lines = benchmark_message({"measured": False, "reason": "exists", "stored": {"before": before(), "after": after()}},
                              "after", False)
    assert lines[0] == "'after' not measured: exists" and lines[1].startswith("demo on llm1") and lines[-1] == HINT


def test_message_of_a_skipped_task():
    assert "inference_replaces" in benchmark_message({"skipped": True}, "before")[0]
    assert "llm_benchmark_url" in benchmark_message({"skipped": True}, "after")[0]
