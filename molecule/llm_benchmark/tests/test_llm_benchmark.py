"""Records, their rules, and the report, as somebody finds them who ran the role."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

FOLDER = "/var/lib/indiaai-inference/benchmarks"
HERE = pathlib.Path(__file__).parent


def record(host, label):
    return json.loads(host.file(f"{FOLDER}/{label}.json").content_string)


def history(host):
    return sorted(host.file(f"{FOLDER}/history").listdir())


def play(*arguments):
    """Run the role once more, as molecule does -> (return code, output)."""
    command = ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], str(HERE / "measure.yml"), *arguments]
    environment = dict(os.environ, ANSIBLE_NOCOLOR="1", INDIAAI_BENCHMARK_OUTPUT_DIR=os.environ["MOLECULE_EPHEMERAL_DIRECTORY"] + "/again")
    done = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    return done.returncode, done.stdout


def test_both_records_are_there_and_were_made_once(host):
    # The second run of converge, and the previews, measured nothing.
    assert len([name for name in history(host) if name.endswith("-before.json")]) == 1
    assert len([name for name in history(host) if name.endswith("-after.json")]) == 1
    assert record(host, "before")["endpoint"]["url"] == "http://127.0.0.1:39001"
    assert record(host, "after")["endpoint"]["url"] == "http://127.0.0.1:39002"


@pytest.mark.parametrize("label", ["before", "after"])
def test_the_record_says_stub_and_counts_tokens_as_the_server_does(host, label):
    found = record(host, label)
    assert found["stub"] is True
    for level in found["levels"]:
        assert level["errors"] == {} and level["cut_off"] == 0 and level["tokens_estimated"] == 0
        assert level["output_tokens_total"] == 16 * level["requests"]
        assert level["ttft_ms"]["p50"] >= 20


def test_the_record_knows_the_host(host):
    found = record(host, "after")
    assert found["tuning"]["net.core.somaxconn"] == host.file("/proc/sys/net/core/somaxconn").content_string.strip()
    assert found["host_facts"]["memory_available_mib"] > 0


def test_what_the_gateway_adds(host):
    overhead = record(host, "after")["gateway_overhead"]
    assert overhead["requests"] == 5 and overhead["failed"] == 0
    # The stub that stands for the gateway waits 40 ms longer.
    assert 25 < overhead["added_ms_p50"] < 80
    assert record(host, "before")["gateway_overhead"] is None


def test_no_key_is_in_any_record(host):
    for name in history(host):
        assert "sk-" not in host.file(f"{FOLDER}/history/{name}").content_string


def test_the_report(host):
    reports = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "reports"
    folders = list(reports.iterdir())
    assert len(folders) == 1
    page = (folders[0] / "report.html").read_text(encoding="utf-8")
    assert "<h1>STUB" in page
    comparison = json.loads((folders[0] / "report.json").read_text(encoding="utf-8"))["comparison"]
    rows = {row["key"]: row for row in comparison["rows"]}
    assert comparison["comparable"] and rows["users"]["before"] == 1 and rows["users"]["after"] == 4
    assert rows["throughput_4"]["ratio"] > 2
    for label in ("before", "after"):
        assert json.loads((folders[0] / f"{label}.json").read_text(encoding="utf-8")) == record(host, label)


def test_a_busy_server_is_left_alone_unless_forced(host):
    before = history(host)
    # Somebody else's stream of some minutes.
    body = json.dumps({"model": "chat", "stream": True, "max_tokens": 60000, "messages": [{"role": "user", "content": "x"}]})
    host.run("systemd-run --quiet --unit=test-client curl -sN -H 'Authorization: Bearer sk-engine' "
             f"-H 'Content-Type: application/json' -d '{body}' -o /dev/null http://127.0.0.1:39002/v1/chat/completions")
    assert host.run("sleep 1; systemctl is-active test-client").rc == 0
    try:
        code, text = play("-e", "llm_benchmark_label=busy", "-e", "llm_benchmark_required=true")
        assert code == 2 and "working on 1 requests of somebody else" in text and history(host) == before
        code, text = play("-e", "llm_benchmark_label=forced", "-e", '{"llm_benchmark_force": true, "llm_benchmark_levels": [1]}')
        assert code == 0, text
        assert any("1 other requests" in note for note in record(host, "forced")["notes"])
    finally:
        host.run("systemctl stop test-client")


def test_a_change_measures_again_and_keeps_the_old_record(host):
    first = record(host, "after")
    code, text = play("-e", '{"llm_benchmark_stack_changed": true, "llm_benchmark_levels": [1]}')
    assert code == 0 and "changed=0" in text, text
    assert record(host, "after")["created_at"] > first["created_at"]
    assert len([name for name in history(host) if name.endswith("-after.json")]) == 2


def test_before_is_never_overwritten(host):
    first = record(host, "before")
    code, text = play("-e", "llm_benchmark_label=before", "-e", "llm_benchmark_when=always", "-e", "llm_benchmark_stack_changed=true")
    assert code == 0 and "is never overwritten" in text
    assert record(host, "before") == first


def test_what_cannot_be_measured_is_said(host):
    code, text = play("-e", "llm_benchmark_label=x", "-e", "llm_benchmark_model=other")
    assert code == 2 and "found the models chat, wanted 'other'" in " ".join(text.split())
