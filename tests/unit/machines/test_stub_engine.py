# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stub engine over real sockets: the protocol, the queue, and each scripted fault as a client sees it."""

from __future__ import annotations

import http.client
import json
import pathlib
import socket
import sys
import time
import zlib

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "machines"))

from stub_engine.running import StubEngine  # noqa: E402

CHAT = "/v1/chat/completions"


@pytest.fixture(scope="module")
def shared():
    with StubEngine() as stub:
        yield stub


@pytest.fixture
def stub(shared):
    shared.put_script()
    shared.forget()
    return shared


def connect(stub, timeout=10):
    return http.client.HTTPConnection("127.0.0.1", stub.port, timeout=timeout)


def post(stub, path=CHAT, script=None, headers=None, connection=None, in_body=None, **body):
    """Send one generation request; the response object, its header read. A script goes into a header, ``in_body`` into the body."""
    body.update({"stub": in_body} if in_body else {})
    body.setdefault("messages", [{"role": "user", "content": "one two"}])
    body.setdefault("max_tokens", 3)
    connection = connection or connect(stub)
    sent = {"x-stub-script": json.dumps(script)} if script else {}
    connection.request("POST", path, json.dumps(body), {**sent, **(headers or {})})
    return connection.getresponse()


def stream(stub, script=None, **body):
    """The raw bytes of a streamed answer."""
    return post(stub, script=script, stream=True, **body).read()


def events(raw):
    """The JSON objects of a stream, [DONE] as the text."""
    found = [block[len(b"data: "):] for block in raw.split(b"\n\n") if block.startswith(b"data: ")]
    return [item.decode() if item == b"[DONE]" else json.loads(item) for item in found]


def text_of(objects):
    return "".join(choice["delta"].get("content", "") for item in objects if item != "[DONE]" for choice in item.get("choices", []))


# --- protocol


def test_it_says_what_it_is(stub):
    connection = connect(stub)
    connection.request("GET", "/v1/models")
    answer = connection.getresponse()
    assert answer.headers["x-stub"] == "indiaai"
    assert json.load(answer)["data"][0]["owned_by"] == "indiaai-stub"
    assert stub.log().startswith("stub-engine: THIS IS A STUB")


def test_whole_answer_counts_its_tokens(stub):
    answer = json.load(post(stub))
    assert answer["choices"][0]["message"] == {"role": "assistant", "content": "e000001 e000002 e000003 "}
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6, "prompt_tokens_details": None}


def test_text_completion_and_embeddings(stub):
    assert json.load(post(stub, "/v1/completions", prompt="a b"))["choices"][0]["text"] == "e000001 e000002 e000003 "
    answer = json.load(post(stub, "/v1/embeddings", input=["a", "b", "a"]))
    vectors = [item["embedding"] for item in answer["data"]]
    assert vectors[0] == vectors[2] != vectors[1]


def test_stream_has_role_tokens_usage_and_done(stub):
    objects = events(stream(stub, stream_options={"include_usage": True}))
    assert objects[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [item["stub"]["n"] for item in objects[1:4]] == [1, 2, 3]
    assert objects[3]["choices"][0]["finish_reason"] == "length"
    assert objects[4]["choices"] == [] and objects[4]["usage"]["completion_tokens"] == 3
    assert objects[5:] == ["[DONE]"]


def test_stream_without_include_usage_has_none(stub):
    assert all("usage" not in item for item in events(stream(stub)) if item != "[DONE]")


def test_keep_alive_serves_several_requests_on_one_connection(stub):
    connection = connect(stub)
    first = connection.sock
    for _number in range(3):
        post(stub, connection=connection, stream=True).read()
        assert first is None or connection.sock is first
        first = connection.sock


def test_unknown_model_and_unknown_path(stub):
    answer = post(stub, model="other")
    assert (answer.status, json.load(answer)["error"]["type"]) == (404, "NotFoundError")
    assert post(stub, "/v1/nothing").status == 404


def test_context_length_is_enforced():
    with StubEngine("--max-model-len", "10") as small:
        answer = post(small, max_tokens=9)
        assert answer.status == 400 and "maximum context length is 10 tokens" in json.load(answer)["error"]["message"]


@pytest.mark.parametrize("where", ["config", "argument", "environment"])
def test_key(where, tmp_path):
    config = tmp_path / "engine.yaml"
    config.write_text('# secret\napi-key: "k 1"\nenforce-eager: true\n', encoding="utf-8")
    arguments = {"config": ["--config", str(config)], "argument": ["--api-key", "k 1"], "environment": []}[where]
    with StubEngine(*arguments, environment={"VLLM_API_KEY": "k 1" if where == "environment" else ""}) as guarded:
        refused = post(guarded)
        assert (refused.status, json.load(refused)) == (401, {"error": "Unauthorized"})
        assert post(guarded, headers={"authorization": "Bearer wrong"}).status == 401
        assert post(guarded, headers={"authorization": "Bearer k 1"}).status == 200
        guarded.requests()  # needs no key


# --- queue and bookkeeping


def test_one_at_a_time_is_seen_in_the_metrics():
    with StubEngine("--max-num-seqs", "1", script={"inter_token_seconds": 0.3}) as single:
        first, second = (post(single, stream=True), connect(single))
        second.request("POST", CHAT, json.dumps({"stream": True, "max_tokens": 1}))
        report = single.wait_for(lambda found: found["waiting"] == 1)
        assert report["running"] == 1
        connection = connect(single)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        assert 'vllm:num_requests_running{engine="0",model_name="stub"} 1.0' in metrics
        assert 'vllm:num_requests_waiting{engine="0",model_name="stub"} 1.0' in metrics
        assert first.read().endswith(b"[DONE]\n\n") and second.getresponse().read().endswith(b"[DONE]\n\n")
        assert single.requests()["counts"] == {"finished": 2}


@pytest.mark.parametrize("streamed", [True, False])
def test_a_client_that_leaves_is_seen(stub, streamed):
    connection = connect(stub)
    script = {"tokens": 1000, "inter_token_seconds": 0.02}
    connection.request("POST", CHAT, json.dumps({"stream": streamed, "stub": script}))
    stub.wait_for(lambda found: found["running"] == 1)
    connection.close() if not streamed else connection.getresponse().close() or connection.close()
    report = stub.wait_for(lambda found: found["running"] == 0)
    assert report["counts"] == {"cancelled": 1}
    assert report["requests"][0]["events"] < 1000
    assert json.loads(report["requests"][0]["body"])["stub"] == script


def test_a_client_that_leaves_the_queue_frees_its_place():
    with StubEngine("--max-num-seqs", "1", script={"inter_token_seconds": 0.2}) as single:
        first = post(single, stream=True)
        waiting = connect(single)
        waiting.request("POST", CHAT, "{}")
        single.wait_for(lambda found: found["waiting"] == 1)
        waiting.close()
        single.wait_for(lambda found: found["waiting"] == 0)
        first.read()
        assert single.requests()["counts"] == {"cancelled": 1, "finished": 1}
        assert post(single, max_tokens=1).status == 200


def test_128_streams_at_once_keep_their_order(stub):
    answers = [post(stub, script={"tokens": 10, "inter_token_seconds": 0.02}, stream=True) for _number in range(128)]
    expected = "".join("e%06d " % number for number in range(1, 11))
    assert {text_of(events(answer.read())) for answer in answers} == {expected}
    assert stub.requests()["counts"] == {"finished": 128}


# --- faults


def test_an_unknown_key_or_a_wrong_type_is_refused(stub):
    for script in ({"reset_after": 1}, {"reset_at": "1"}, {"load_seconds": 1}, {"space": 1}):
        answer = post(stub, script=script)
        assert (answer.status, "stub script" in json.load(answer)["error"]["message"]) == (400, True)
    with pytest.raises(Exception, match="400"):
        stub.put_script(lod_seconds=1)


def test_pacing(stub):
    started = time.monotonic()
    stream(stub, {"first_token_seconds": 0.2, "inter_token_seconds": 0.1, "tokens": 3})
    assert 0.4 <= time.monotonic() - started < 5


def test_body_script_and_header_script(stub):
    assert text_of(events(stream(stub, in_body={"tokens": 1}))) == "e000001 "
    assert text_of(events(stream(stub, {"tokens": 2}, in_body={"tokens": 1}))) == "e000001 e000002 "


def test_reset(stub):
    answer = post(stub, script={"reset_at": 2}, stream=True)
    with pytest.raises(ConnectionResetError):
        answer.read()
    assert stub.wait_for(lambda found: not found["running"])["counts"] == {"reset_at": 1}


def test_truncated_body(stub):
    with pytest.raises(http.client.IncompleteRead) as caught:
        stream(stub, {"truncate_at": 2})
    assert text_of(events(caught.value.partial)) == "e000001 e000002 "


def test_end_without_done(stub):
    assert events(stream(stub, {"eof_at": 2}))[-1]["stub"]["n"] == 2
    assert events(stream(stub, {"done": False}))[-1]["choices"][0]["finish_reason"] == "length"


def test_error_as_first_event(stub):
    objects = events(stream(stub, {"error_at": 0, "role_event": False}))
    assert objects[0]["error"]["code"] == 500 and objects[1] == "[DONE]"


@pytest.mark.parametrize("mode, last", [("none", None), ("null", {"usage": None}), ("continuous", 3), ("wrong", 4)])
def test_usage(stub, mode, last):
    objects = events(stream(stub, {"usage": mode}, stream_options={"include_usage": True}))[:-1]
    if mode == "none":
        assert all("usage" not in item for item in objects)
    elif mode == "null":
        assert all(item["usage"] is None for item in objects)
    else:
        assert objects[-1]["usage"]["completion_tokens"] == last
        assert ("usage" in objects[1]) == (mode == "continuous")


def test_framing(stub):
    raw = stream(stub, {"space": False, "line_end": "\r\n", "comment_every": 2, "tokens": 4})
    assert raw.startswith(b'data:{"id"') and raw.count(b"\r\n\r\n") == 8 and raw.count(b": ping\r\n\r\n") == 2
    assert raw.endswith(b"data:[DONE]\r\n\r\n")


def _chunks(stub, script):
    """The pieces of a chunked body as they were sent."""
    with socket.create_connection(("127.0.0.1", stub.port), timeout=10) as raw:
        body = json.dumps({"stream": True, "max_tokens": 2, "stub": script}).encode()
        raw.sendall(b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%s" % (CHAT.encode(), len(body), body))
        data = b"".join(iter(lambda: raw.recv(65536), b""))
    data, pieces = data.split(b"\r\n\r\n", 1)[1], []
    while data:
        size, data = data.split(b"\r\n", 1)
        pieces.append(data[:int(size, 16)])
        data = data[int(size, 16) + 2:]
    return pieces[:-1]


def test_events_are_cut_and_joined(stub):
    whole = _chunks(stub, {"stamps": False, "multibyte": True})
    assert len(whole) == 4  # role, two tokens, [DONE]
    cut = _chunks(stub, {"stamps": False, "multibyte": True, "split_every": 1, "split_pause_seconds": 0})
    assert all(len(piece) == 1 for piece in cut) and len(cut) == sum(len(piece) for piece in whole)
    at = _chunks(stub, {"stamps": False, "split": [3, 10], "split_pause_seconds": 0})
    assert [len(piece) for piece in at[:2]] == [3, 7]
    assert len(_chunks(stub, {"coalesce": 3})) == 2


def test_big_event(stub):
    objects = events(stream(stub, {"big_event_at": 1, "big_event_bytes": 3 << 20}))
    assert len(objects[2]["choices"][0]["delta"]["content"]) == 3 << 20


@pytest.mark.parametrize("streamed", [True, False])
def test_gzip(stub, streamed):
    answer = post(stub, script={"gzip": True}, stream=streamed)
    assert answer.headers["content-encoding"] == "gzip"
    assert b"e000003" in zlib.decompress(answer.read(), 31)


def test_refusals(stub):
    answer = post(stub, script={"error_status": 429, "retry_after": 7})
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert post(stub, script={"reject_stream_options": True}, stream_options={}).status == 400
    assert post(stub, script={"reject_stream_options": True}).status == 200
    stub.put_script(refuse_seconds=60)
    assert post(stub).status == 503
    assert stub.requests()["counts"] == {"refused": 3, "finished": 1}


def test_slow_headers(stub):
    started = time.monotonic()
    answer = post(stub, script={"header_trickle_seconds": 0.3, "close_after": True})
    assert time.monotonic() - started >= 0.3 and answer.headers["connection"] == "close"


def test_hang_in_the_middle_and_idle_connections(stub):
    answer = post(stub, script={"hang_at": 1}, stream=True, connection=connect(stub, timeout=0.5))
    with pytest.raises(TimeoutError):
        answer.read()
    stub.put_script(keep_alive_seconds=0.1)
    with socket.create_connection(("127.0.0.1", stub.port), timeout=10) as idle:
        assert idle.recv(1) == b""


# --- life


def health(stub):
    connection = connect(stub, timeout=1)
    connection.request("GET", "/health")
    return connection.getresponse().status


def test_loading(stub):
    stub.put_script(load_seconds=60)
    assert (health(stub), post(stub).status) == (503, 503)
    stub.put_script(never_ready=True)
    assert health(stub) == 503
    stub.put_script()
    assert health(stub) == 200


def test_silent_while_loading():
    with StubEngine(script={"load_seconds": 0.5, "load_silent": True}, wait=False) as silent:
        started = time.monotonic()
        silent.wait_listening()
        assert time.monotonic() - started >= 0.4 and health(silent) == 200


def test_hanging_process(stub):
    stub.put_script(hang_after_seconds=0)
    with pytest.raises(TimeoutError):
        health(stub)
    stub.put_script()
    assert health(stub) == 200


def test_crash():
    with StubEngine(script={"crash_after_seconds": 0.2, "crash_code": 9}) as doomed:
        assert doomed.process.wait(10) == 9
    with StubEngine(script={"crash_at": 1}) as doomed:
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            stream(doomed)
        assert doomed.process.wait(10) == 1


@pytest.mark.parametrize("arguments, complete", [((), False), (("--shutdown-timeout", "10"), True)])
def test_sigterm_cuts_off_or_drains(arguments, complete):
    with StubEngine(*arguments, script={"inter_token_seconds": 0.1, "tokens": 5}) as stopped:
        answer = post(stopped, stream=True)
        answer.read(1)
        assert stopped.stop() == 0
        try:
            assert answer.read().endswith(b"[DONE]\n\n") and complete
        except (http.client.IncompleteRead, ConnectionResetError):
            assert not complete


def test_bad_start_up_script_is_refused():
    with pytest.raises(RuntimeError, match="unknown key 'loadseconds'"):
        with StubEngine(script={"loadseconds": 1}):
            pass
