# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How an engine's answers are judged."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import health

METRICS = """# HELP vllm:num_requests_running Running.
vllm:num_requests_running{engine="0",model_name="a b"} 2.0
vllm:num_requests_running{engine="1",model_name="a b"} 1.0
vllm:num_requests_waiting 4
vllm:generation_tokens_total{engine="0"} 100.0
process_cpu_seconds_total 5.0
http_requests_total{handler="/metrics"} 7.0
"""


def test_health_is_ok_only_on_200():
    assert health.judge_health("/health", 200, "").ok
    assert not health.judge_health("/health", 503, "loading").ok
    assert "503 loading" in health.judge_health("/health", 503, "loading").detail
    assert "does not answer (refused)" in health.judge_health("/health", None, "refused").detail


def test_the_model_must_be_listed():
    assert health.judge_models("a", 200, '{"data": [{"id": "a"}]}').ok
    wrong = health.judge_models("a", 200, '{"data": [{"id": "b"}]}')
    assert not wrong.ok and wrong.definite and wrong.detail == "/v1/models lists b, not a"
    assert health.judge_models("a", 404, "").ok, "an engine without this list"
    assert health.judge_models("a", 401, "{}").definite
    assert not health.judge_models("a", 503, "").definite
    assert not health.judge_models("a", 200, "<html>").ok


@pytest.mark.parametrize("text", ['{"choices": [{}]}', '{"data": [{"embedding": [1]}]}', "[[0.1, 0.2]]"])
def test_answers_with_a_result(text):
    assert health.judge_request("/x", 200, text).ok


@pytest.mark.parametrize("text", ['{"choices": []}', '{"error": {"message": "no"}}', '{"data": []}', "{}", "[]", "<html>", "null"])
def test_answers_without_a_result(text):
    assert not health.judge_request("/x", 200, text).ok


@pytest.mark.parametrize("status,definite", [(401, True), (404, True), (400, True), (429, False), (500, False), (503, False), (None, False)])
def test_which_errors_will_stay(status, definite):
    answer = health.judge_request("/x", status, "why")
    assert not answer.ok and answer.definite is definite and "why" in answer.detail


def test_metrics_are_summed_over_their_labels():
    assert health.metric_sum(METRICS, ["vllm:num_requests_running"]) == 3
    assert health.metric_sum(METRICS, ["vllm:num_requests_running", "vllm:num_requests_waiting"]) == 7
    assert health.metric_sum(METRICS, ["vllm:num"]) is None
    assert health.metric_sum("broken\nbroken{", ["broken"]) is None


def test_progress_is_not_made_by_asking():
    asked = METRICS.replace("5.0", "6.0").replace("7.0", "8.0")
    worked = METRICS.replace("100.0", "101.0")
    assert health.progress_mark(asked) == health.progress_mark(METRICS)
    assert health.progress_mark(worked) != health.progress_mark(METRICS)


def test_an_engine_that_listens_everywhere_is_asked_here():
    assert health.EngineHttp("0.0.0.0", 1).address == "127.0.0.1"
    assert health.EngineHttp("10.0.0.1", 1).address == "10.0.0.1"


def test_nobody_there_is_an_answer_too():
    answer = health.EngineHttp("127.0.0.1", 1).health("/health")
    assert not answer.ok and "does not answer" in answer.detail
