# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module's measurement as a whole, against a server that plays a part."""

from __future__ import annotations

import asyncio
import json
import pathlib
import threading

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _bench_probe
from ansible_collections.indiaai.inference.plugins.modules import llm_benchmark


class Engine:
    """An OpenAI server in a thread. Its behaviour is set by attributes."""

    def __init__(self):
        self.models = [{"id": "demo", "owned_by": "vllm"}]
        self.key = "sk-1"
        self.running = 0
        self.refuses_ignore_eos = False
        self.fails_every = 0
        self.wait = 0.0
        self.requests = []
        self.paths = []
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()
        assert self._ready.wait(10)

    def _serve(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._handle, "127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _handle(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = [int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length")]
                body = json.loads(await reader.readexactly(length[0])) if length else None
                path = head.split()[1]
                self.paths.append(path)
                if path == "/metrics":
                    self._answer(writer, 200, "vllm:num_requests_running %d\n" % self.running)
                elif "Authorization: Bearer " + self.key not in head:
                    self._answer(writer, 401, '{"error": {"message": "bad key"}}')
                elif path == "/v1/models":
                    self._answer(writer, 200, json.dumps({"data": self.models}))
                elif path == "/version":
                    self._answer(writer, 200, '{"version": "9.9"}')
                elif path == "/v1/chat/completions":
                    await self._chat(writer, body)
                else:
                    self._answer(writer, 404, "")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _chat(self, writer, body):
        self.requests.append(body)
        if self.refuses_ignore_eos and "ignore_eos" in body:
            return self._answer(writer, 400, '{"error": {"message": "unknown field ignore_eos"}}')
        if self.fails_every and len(self.requests) % self.fails_every == 0:
            return self._answer(writer, 500, '{"error": {"message": "out of luck"}}')
        await asyncio.sleep(self.wait)
        events = [{"choices": [{"delta": {"content": "a"}}]}] * body["max_tokens"]
        events.append({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": body["max_tokens"]}})
        text = "".join("data: %s\n\n" % json.dumps(event) for event in events) + "data: [DONE]\n\n"
        self._answer(writer, 200, text)

    @staticmethod
    def _answer(writer, status, text):
        data = text.encode()
        writer.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(data), data))


@pytest.fixture(name="engine")
def engine_fixture():
    made = Engine()
    yield made
    made.close()


@pytest.fixture(name="options")
def options_fixture(engine, tmp_path, monkeypatch):
    monkeypatch.setattr(_bench_probe, "TRAFFIC_PAUSE_SECONDS", 0.0)
    (tmp_path / "key").write_text("sk-1\n")
    params = {name: spec.get("default") for name, spec in llm_benchmark.argument_spec().items()}
    params.update(url=engine.url, api_key_file=str(tmp_path / "key"), levels=[2, 1], requests=2, max_tokens=4, max_seconds=20,
                  host="llm1", nvidia_smi=None)
    return params


def measure(params):
    llm_benchmark.validate(params)
    measurement = llm_benchmark.Measurement(params, {})

    async def main():
        await measurement.ask()
        return await measurement.run()
    return asyncio.run(main()), measurement


def test_a_record_follows_the_contract(engine, options):
    jsonschema = pytest.importorskip("jsonschema")
    # An answer at once would make the client, in whose process this server runs, the busiest part.
    engine.wait = 0.1
    record, measurement = measure(options)
    root = pathlib.Path(__file__).resolve().parents[4]
    schema = json.loads((root / "docs" / "contracts" / "benchmark_record.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(record)))
    assert [level["concurrency"] for level in record["levels"]] == [1, 2]
    assert [level["completed"] for level in record["levels"]] == [2, 4]
    assert record["levels"][0]["output_tokens_total"] == 8
    assert record["engine"] == {"name": "vllm", "version": "9.9", "flags": None, "image": None}
    assert (record["endpoint"]["model"], record["stub"], record["notes"]) == ("demo", False, [])
    assert len(engine.requests) == 2 + 6


def test_the_same_seed_asks_the_same_but_for_the_opening_words(engine, options):
    first = measure(options)[0]
    second = measure(options)[0]
    half = len(engine.requests) // 2
    words = [body["messages"][0]["content"].split() for body in engine.requests]
    assert [item[6:] for item in words[:half]] == [item[6:] for item in words[half:]]
    assert all(one[:6] != other[:6] for one, other in zip(words[:half], words[half:])) or first["created_at"] == second["created_at"]


def test_a_server_that_refuses_ignore_eos_is_measured_without(engine, options):
    engine.refuses_ignore_eos = True
    record = measure(options)[0]
    assert record["workload"]["ignore_eos"] is False and record["levels"][0]["errors"] == {}
    assert any("refused ignore_eos" in note for note in record["notes"])


def test_a_server_that_fails_half_of_the_requests_is_a_result(engine, options):
    engine.fails_every = 2
    record = measure(dict(options, levels=[1], requests=6))[0]
    assert record["levels"][0]["errors"] == {"http_500": 3} and record["levels"][0]["completed"] == 3
    assert "First failure of kind http_500: out of luck" in record["notes"]


def test_a_server_that_fails_all_is_a_failure_with_its_reason(engine, options):
    engine.fails_every = 1
    with pytest.raises(llm_benchmark.Unusable, match="http_500 x 6.*out of luck"):
        measure(options)


def test_a_server_too_slow_for_the_time_is_cut(engine, options):
    engine.wait = 60
    with pytest.raises(llm_benchmark.Unusable, match="not answered in time"):
        measure(dict(options, max_seconds=1, warmup_requests=0, levels=[1]))


def test_stub_is_marked(engine, options):
    engine.models = [{"id": "demo", "owned_by": "indiaai-stub"}]
    assert measure(options)[0]["stub"] is True


def test_traffic_of_others_is_seen(engine, options):
    engine.running = 3
    record, measurement = measure(dict(options, force=True))
    assert measurement.traffic == 3 and any("3 other requests" in note for note in record["notes"])


def test_metrics_elsewhere(engine, options):
    measure(dict(options, metrics_url=engine.url + "/elsewhere"))
    assert "/elsewhere" in engine.paths and "/metrics" not in engine.paths


def test_gateway_overhead(engine, options):
    gateway = Engine()
    gateway.wait = 0.05
    try:
        target = {"url": gateway.url, "api_key_file": options["api_key_file"], "model": "", "ca_file": None,
                  "validate_certs": True, "connect_to": "", "requests": 4}
        overhead = measure(dict(options, gateway=target))[0]["gateway_overhead"]
        assert overhead["requests"] == 4 and overhead["added_ms_p50"] > 25
        assert len(gateway.requests) == 5
        gateway.key = "another"
        record = measure(dict(options, gateway=target))[0]
        assert record["gateway_overhead"] is None and "bad key" in record["notes"][-1]
    finally:
        gateway.close()


@pytest.mark.parametrize("change, text", [
    ({"url": "http://127.0.0.1:9"}, "found no server at"),
    ({"url": "127.0.0.1:9"}, "wanted http://"),
    ({"model": "other"}, "found the models demo, wanted 'other'"),
    ({"api_key_file": "/nonexistent/key"}, "no readable API key file"),
    ({"ca_file": "/nonexistent/ca"}, "no readable CA file"),
    ({"api_key_file": None}, "found HTTP 401"),
    ({"api": "ollama"}, "found HTTP 404"),
    ({"levels": []}, "at least one number of users"),
    ({"levels": [0], "label": "Bad Label", "max_tokens": 0}, "found label 'Bad Label'.*found levels.*found max_tokens 0"),
])
def test_what_cannot_be_measured_says_found_and_wanted(engine, options, change, text):
    with pytest.raises((llm_benchmark.Unusable, _bench_probe.ProbeError), match=text):
        measure(dict(options, **change))


def test_the_specification_and_its_documentation_agree():
    yaml = pytest.importorskip("yaml")
    documented = yaml.safe_load(llm_benchmark.DOCUMENTATION)["options"]
    assert set(documented) == set(llm_benchmark.argument_spec())
