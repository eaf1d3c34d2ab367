# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The client against a scripted server whose answers and delays are known exactly."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _bench, _bench_load, _bench_probe
from ansible_collections.indiaai.inference.plugins.module_utils._bench_http import ProtocolError, ResponseReader, Target
from ansible_collections.indiaai.inference.plugins.module_utils._bench_prompts import PromptMaker
from ansible_collections.indiaai.inference.plugins.module_utils._bench_stream import APIS

SSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"
DROP = object()


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(document):
    text = document if isinstance(document, str) else json.dumps(document)
    return chunk(b"data: " + text.encode() + b"\n\n")


def token(text, **more):
    return event(dict({"choices": [{"index": 0, "delta": {"content": text}}]}, **more))


ROLE = event({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
PING = chunk(b": ping\n\n")
STOP = event({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]})
DONE = event("[DONE]")


def usage(tokens, prompt=9):
    return event({"choices": [], "usage": {"completion_tokens": tokens, "prompt_tokens": prompt}})


class Server:
    """Answers request number n with script number n: numbers are seconds to wait.

    ``stamps`` has the times of each answer: of its request, then of every step's end. Expected
    figures come from there, since a busy machine sleeps longer than it was asked to.
    """

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.bodies = []
        self.stamps = []
        self.connections = 0

    async def handle(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
                self.bodies.append(json.loads(await reader.readexactly(length[0])) if length else head)
                stamps = [time.perf_counter()]
                self.stamps.append(stamps)
                for step in self.scripts[(len(self.bodies) - 1) % len(self.scripts)]:
                    if step is DROP:
                        return
                    if isinstance(step, bytes):
                        writer.write(step)
                        await writer.drain()
                    else:
                        await asyncio.sleep(step)
                    stamps.append(time.perf_counter())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def run(server, api="openai", concurrency=1, requests=1, seconds=20.0, request_seconds=10.0):
    async def main():
        listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
        port = listener.sockets[0].getsockname()[1]
        shape = _bench_load.Shape(APIS[api], "demo", 8, 1, True, PromptMaker(1, 40, "x"), request_seconds)
        result = await _bench_load.run_level(
            Target("http://127.0.0.1:%d" % port, "sk-test"), shape, concurrency, requests, time.perf_counter() + seconds)
        listener.close()
        return result
    return asyncio.run(main())


def one(*script, **options):
    outcomes, dummy, dummy2 = run(Server(script), **options)
    assert len(outcomes) == 1
    return outcomes[0]


def test_known_times_give_exactly_the_figures_that_arithmetic_gives():
    # Comments and the role do not count as the first token; the first token does not count as decoding.
    def answer(start, wait, step):
        outcome = _bench.Outcome(start)
        reading = APIS["openai"].reading(outcome)
        at = start + wait
        for now, data in ((start, PING), (start, ROLE), (at, token("a")), (at + step, token("b")), (at + 2 * step, token("c")),
                          (at + 2 * step, STOP), (at + 2 * step, usage(3)), (at + 2 * step, DONE)):
            reading.feed(now, data[data.index(b"\r\n") + 2:-2])
        reading.finish(at + 2 * step + 0.01)
        return outcome

    found = _bench.summarise_level(1, [answer(0, 0.1, 0.05), answer(1, 0.3, 0.07), answer(2, 0.2, 0.06)], 0.0, 3.0)
    assert found["ttft_ms"] == {"p50": 200.0, "p90": 280.0, "p95": 290.0, "p99": 298.0, "mean": 200.0}
    assert found["time_per_output_token_ms"] == {"p50": 60.0, "p90": 68.0, "p95": 69.0, "p99": 69.8, "mean": 60.0}
    assert found["end_to_end_ms"] == {"p50": 330.0, "p90": 426.0, "p95": 438.0, "p99": 447.6, "mean": 330.0}
    assert (found["output_tokens_total"], found["prompt_tokens_total"], found["output_tokens_per_second"]) == (9, 27, 3.0)


def test_known_delays_over_a_socket():
    def script(wait):
        return [SSE_HEAD, PING, ROLE, wait, token("a"), 0.05, token("b"), 0.05, token("c"), STOP, usage(3), DONE, END]

    server = Server(script(0.10), script(0.40))
    outcomes, started, ended = run(server, requests=4)
    found = _bench.summarise_level(1, outcomes, started, ended)
    # Steps: 0 request, 5 first token, 9 third token, 13 end. The room is for a machine that is busy with other things.
    waits = sorted(1000 * (stamps[5] - stamps[0]) for stamps in server.stamps)
    rates = sorted(1000 * (stamps[9] - stamps[5]) / 2 for stamps in server.stamps)
    totals = [1000 * (stamps[13] - stamps[0]) for stamps in server.stamps]
    assert waits[0] >= 100 and waits[2] >= 400
    assert found["ttft_ms"]["p50"] == pytest.approx((waits[1] + waits[2]) / 2, abs=40)
    assert found["time_per_output_token_ms"]["p50"] == pytest.approx((rates[1] + rates[2]) / 2, abs=20)
    assert found["end_to_end_ms"]["mean"] == pytest.approx(sum(totals) / 4, abs=40)
    assert found["output_tokens_total"] == 12 and found["prompt_tokens_total"] == 36
    assert found["output_tokens_per_second"] == pytest.approx(12 / found["duration_seconds"], rel=0.001)
    assert server.connections == 1


def test_users_work_side_by_side():
    server = Server([SSE_HEAD, 0.2, token("a"), STOP, usage(1), DONE, END])
    outcomes, started, ended = run(server, concurrency=32, requests=64)
    assert len(outcomes) == 64 and all(outcome.succeeded for outcome in outcomes)
    # One after the other they would take 12.8 s.
    assert 0.4 <= ended - started < 4.0
    assert server.connections == 32


def test_prompts_differ_and_the_request_is_greedy_and_asks_for_usage():
    server = Server([SSE_HEAD, token("a"), usage(1), DONE, END])
    run(server, requests=5)
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert len(set(prompts)) == 5 and len(set(prompt.split()[0:3].__str__() for prompt in prompts)) == 5
    body = server.bodies[0]
    assert (body["temperature"], body["stream"], body["stream_options"], body["ignore_eos"], body["max_tokens"]) == (
        0, True, {"include_usage": True}, True, 8)


def test_one_chunk_with_many_tokens_is_counted_by_usage():
    outcome = one(SSE_HEAD, token("many tokens in one piece"), STOP, usage(64), DONE, END)
    assert (outcome.tokens, outcome.chunks, outcome.error) == (64, 1, None)


def test_running_usage_is_not_summed():
    running = {"usage": {"completion_tokens": 1, "prompt_tokens": 4}}
    outcome = one(SSE_HEAD, token("a", **running), token("b", usage={"completion_tokens": 2, "prompt_tokens": 4}), usage(2, 4), DONE, END)
    assert (outcome.output_tokens, outcome.prompt_tokens) == (2, 4)


def test_missing_usage_falls_back_to_chunks_and_says_so():
    outcome = one(SSE_HEAD, token("a"), token("b", usage=None), STOP, DONE, END)
    assert outcome.succeeded and outcome.output_tokens is None and outcome.tokens == 2


def test_text_that_looks_like_usage_is_text():
    outcome = one(SSE_HEAD, token('"usage":{"completion_tokens": 999}'), STOP, usage(1), DONE, END)
    assert outcome.tokens == 1


def test_done_without_newline():
    outcome = one(SSE_HEAD, token("a"), usage(1), chunk(b"data: [DONE]"), END)
    assert outcome.succeeded


def test_a_stream_that_drops_is_truncated():
    outcome = one(SSE_HEAD, token("a"), token("b"), DROP)
    assert (outcome.error, outcome.succeeded) == ("truncated", False)


def test_a_stream_that_ends_without_its_last_event_is_truncated():
    assert one(SSE_HEAD, token("a"), END).error == "truncated"


def test_an_error_inside_the_stream():
    outcome = one(SSE_HEAD, event({"error": {"message": "out of memory", "code": 500}}), DONE, END)
    assert (outcome.error, outcome.detail) == ("in_band", "out of memory")


def test_an_error_inside_the_stream_then_a_drop():
    outcome = one(SSE_HEAD, token("a"), event({"error": {"message": "engine died"}}), DROP)
    assert (outcome.error, outcome.detail) == ("in_band", "engine died")


def test_an_http_error_keeps_its_message():
    body = b'{"error": {"message": "queue full"}}'
    outcome = one(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    assert (outcome.error, outcome.detail) == ("http_503", "queue full")


def test_an_answer_without_content_is_an_error():
    assert one(SSE_HEAD, ROLE, STOP, usage(0), DONE, END).error == "empty"


def test_tokens_without_text_still_have_a_time():
    outcome = one(SSE_HEAD, ROLE, 0.05, token(""), STOP, usage(3), DONE, END)
    assert outcome.succeeded and outcome.first - outcome.start >= 0.05


def test_nobody_listens():
    async def main():
        shape = _bench_load.Shape(APIS["openai"], "demo", 8, 1, True, PromptMaker(1, 40), 5.0)
        return await _bench_load.User(Target("http://127.0.0.1:9"), shape).ask(time.perf_counter() + 5)
    assert asyncio.run(main()).error == "connect"


def test_an_answer_that_never_comes_is_a_timeout():
    assert one(5.0, request_seconds=0.2).error == "timeout"


def test_the_deadline_cuts_and_does_not_blame_the_server():
    outcome = one(SSE_HEAD, token("a"), 5.0, seconds=0.3)
    assert outcome.cut and outcome.error is None and not outcome.succeeded


def test_no_request_is_started_that_cannot_end_in_time():
    server = Server([SSE_HEAD, 0.3, token("a"), usage(1), DONE, END])
    outcomes, started, ended = run(server, requests=50, seconds=1.0)
    assert 1 <= len(outcomes) <= 3 and sum(outcome.cut for outcome in outcomes) <= 1
    assert ended - started < 1.2


def test_time_in_which_only_cut_requests_ran_is_not_counted():
    server = Server([SSE_HEAD, token("a"), usage(1), DONE, END], [SSE_HEAD, 9.0])
    outcomes, started, ended = run(server, concurrency=2, requests=2, seconds=1.0)
    assert sorted(outcome.cut for outcome in outcomes) == [False, True]
    assert ended - started < 0.9


def test_half_of_the_requests_fail():
    server = Server([SSE_HEAD, token("a"), usage(1), DONE, END], [b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"])
    found = _bench.summarise_level(4, *run(server, concurrency=4, requests=20))
    assert found["errors"] == {"http_500": 10} and found["completed"] == 10


def test_a_kept_connection_that_was_closed_is_opened_again_once():
    class Closing(Server):
        async def handle(self, reader, writer):
            self.connections += 1
            await reader.readuntil(b"\r\n\r\n")
            self.bodies.append(None)
            for step in self.scripts[0]:
                writer.write(step)
            await writer.drain()
            await asyncio.sleep(0.05)
            writer.close()
    server = Closing([SSE_HEAD, token("a"), usage(1), DONE, END])
    outcomes, dummy, dummy2 = run(server, requests=4)
    assert [outcome.error for outcome in outcomes] == [None] * 4


def test_a_body_that_ends_with_the_connection():
    outcome = one(b"HTTP/1.0 200 OK\r\n\r\n", b'data: {"choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]', DROP)
    assert outcome.succeeded


def test_ollama():
    lines = [{"message": {"content": "a"}, "done": False}, {"message": {"content": "b"}, "done": False},
             {"message": {"content": ""}, "done": True, "eval_count": 17, "prompt_eval_count": 31}]
    script = [SSE_HEAD, 0.1] + [chunk(json.dumps(line).encode() + b"\n") for line in lines] + [END]
    server = Server(script)
    outcomes, dummy, dummy2 = run(server, api="ollama")
    assert (outcomes[0].error, outcomes[0].tokens, outcomes[0].prompt_tokens) == (None, 17, 31)
    assert server.bodies[0]["options"]["num_predict"] == 8
    assert one(SSE_HEAD, chunk(b'{"error": "model is too large"}\n'), END, api="ollama").error == "in_band"
    assert one(SSE_HEAD, chunk(b'{"message": {"content": "a"}, "done": false}\n'), END, api="ollama").error == "truncated"


def test_pairs_alternate():
    stamps = []

    async def main():
        slow = Server([SSE_HEAD, 0.13, token("a"), usage(1), DONE, END])
        fast = Server([SSE_HEAD, 0.03, token("a"), usage(1), DONE, END])
        users = []
        stamps.extend([fast.stamps, slow.stamps])
        for server in (fast, slow):
            listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
            shape = _bench_load.Shape(APIS["openai"], "demo", 8, 1, True, PromptMaker(1, 40), 5.0)
            users.append(_bench_load.User(Target("http://127.0.0.1:%d" % listener.sockets[0].getsockname()[1]), shape))
        return await _bench_load.run_pairs(users[0], users[1], 6, time.perf_counter() + 10)
    found = _bench.summarise_overhead(*asyncio.run(main()))
    # The first request to each opens its connection and is not counted.
    fast, slow = [sorted(1000 * (times[2] - times[0]) for times in side[1:]) for side in stamps]
    assert found["requests"] == 6
    assert found["added_ms_p50"] == pytest.approx((slow[2] + slow[3] - fast[2] - fast[3]) / 2, abs=25)


RESPONSE = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\n2\r\nef\r\n0\r\nX-T: 1\r\n\r\n"


def test_chunked_framing_at_every_split():
    for cut in range(len(RESPONSE) + 1):
        reader = ResponseReader()
        assert reader.feed(RESPONSE[:cut]) + reader.feed(RESPONSE[cut:]) == b"abcdef"
        assert reader.complete and reader.reusable and reader.status == 200


def test_what_is_not_http():
    with pytest.raises(ProtocolError):
        ResponseReader().feed(b"220 mail ready\r\n\r\n")


def test_target_spellings():
    target = Target("https://llm.example.in/v1/", connect_to="127.0.0.1", validate_certs=False)
    assert (target.host, target.port, target.connect_host, target.connect_port) == ("llm.example.in", 443, "127.0.0.1", 443)
    assert target.request("GET", "/v1/models").startswith(b"GET /v1/models HTTP/1.1\r\nHost: llm.example.in\r\n")
    assert Target("http://[::1]:8000").request("GET", "/").split(b"\r\n")[1] == b"Host: [::1]:8000"
    assert Target("http://a:1", connect_to="b:2").connect_port == 2
    with pytest.raises(ValueError):
        Target("127.0.0.1:8000")


def test_running_requests():
    text = ('# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="a b"} 2.0\n'
            'vllm:num_requests_waiting{engine="0"} 1.0\nother 7\n')
    assert _bench_probe.running_requests(text) == 3
    assert _bench_probe.running_requests("other 7\n") is None


def test_choose_model():
    assert _bench_probe.choose_model("", ["a"]) == "a"
    assert _bench_probe.choose_model("b", []) == "b"
    for wanted, names in (("c", ["a", "b"]), ("", ["a", "b"]), ("", [])):
        with pytest.raises(_bench_probe.ProbeError):
            _bench_probe.choose_model(wanted, names)


def test_stub_is_recognised():
    assert _bench_probe.is_stub({}, {"data": [{"id": "a", "owned_by": "indiaai-stub"}]})
    assert _bench_probe.is_stub({"x-stub": "indiaai"}, {})
    assert not _bench_probe.is_stub({}, {"data": [{"id": "a", "owned_by": "vllm"}]})
