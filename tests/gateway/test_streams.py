# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Streams through a running gateway: S (bytes and events), C (client's lifetime)."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from conftest import in_background, rss_bytes, until
from fake_engine import (
    DONE, FINISH, OPENING, STREAM_HEAD, WORDS, answer, delta, event, polite, streamed, usage_event, well_behaved,
)

WANTED = OPENING + b"".join(delta(word) for word in WORDS) + FINISH + usage_event(7, 6) + DONE


def asked(**more):
    return {"stream_options": {"include_usage": True}, **more}


# --- S ---


@pytest.mark.parametrize("tcp", [False, True])
def test_S1_bytes_pass_unchanged_and_the_row_holds_the_engines_counts(gateway, tcp):
    found = gateway.chat(stream=True, body=asked(), tcp=tcp)
    assert (found.status, found.body) == (200, WANTED)
    assert found.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert found.headers["x-accel-buffering"] == "no"
    row = gateway.row(found)
    assert (row["prompt_tokens"], row["completion_tokens"], row["estimated"], row["completed"]) == (7, 6, 0, 1)
    assert (row["status"], row["error_code"], row["model"], row["endpoint"]) == (200, None, "demo", "/v1/chat/completions")
    assert row["bytes_out"] == len(WANTED) and 0 < row["ttft_ms"] <= row["duration_ms"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
def test_S1_S2_split_on_the_wire(gateway, engine, size):
    engine.use(streamed([WANTED[at:at + size] for at in range(0, len(WANTED), size)]))
    found = gateway.chat(stream=True, body=asked())
    assert found.body == WANTED
    assert gateway.row(found)["completion_tokens"] == 6


def test_S5_an_event_of_5_MB_passes(gateway, engine):
    stream = OPENING + delta("x" * 5_000_000) + usage_event(4, 2) + DONE
    engine.use(streamed([stream[at:at + 100_000] for at in range(0, len(stream), 100_000)]))
    found = gateway.chat(stream=True, body=asked())
    assert found.body == stream
    assert gateway.row(found)["completion_tokens"] == 2


def test_S6_continuous_usage_is_not_summed(gateway, engine):
    chunks = [usage_event(9, count, choices=[{"index": 0, "delta": {"content": "a"}}]) for count in (1, 2, 3)]
    engine.use(streamed([*chunks, usage_event(9, 3, prompt_tokens_details={"cached_tokens": 4},
                                              completion_tokens_details={"reasoning_tokens": 2}), DONE]))
    row = gateway.row(gateway.chat(stream=True, body=asked(stream_options={"include_usage": True, "continuous_usage_stats": True})))
    assert (row["prompt_tokens"], row["completion_tokens"], row["cached_tokens"], row["reasoning_tokens"]) == (9, 3, 4, 2)


def test_S8_usage_is_injected_and_its_event_hidden(gateway, engine):
    found = gateway.chat(stream=True, body={"stream_options": {"other": 1, "continuous_usage_stats": True}})
    assert engine.requests[-1].json()["stream_options"] == {"other": 1, "include_usage": True}
    assert found.body == WANTED.replace(usage_event(7, 6), b"")
    row = gateway.row(found)
    assert (row["completion_tokens"], row["estimated"]) == (6, 0)


def test_S9_nothing_is_injected_without_stream(gateway, engine):
    gateway.chat()
    gateway.chat(body={"stream": False})
    assert all("stream_options" not in request.json() for request in engine.requests)


def test_S9_an_engine_without_stream_options(own_gateway, engine):
    gateway = own_gateway()
    gateway.key()
    gateway.config["models"][0]["inject_usage"] = False
    gateway.write_config()
    gateway.signal(1)
    until(lambda: any(line.get("event") == "configuration in force" for line in gateway.log()), 3)
    found = gateway.chat(stream=True)
    assert "stream_options" not in engine.requests[-1].json()
    row = gateway.row(found)
    assert (row["completion_tokens"], row["estimated"], row["prompt_tokens"]) == (7, 1, None)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"message": "too long", "type": "BadRequestError", "code": 400}, 400, "400"),
        ({"message": "no slot", "type": "overloaded", "code": "busy"}, 502, "busy"),
        ("plain text", 502, "engine_error"),
    ],
)
def test_S10_error_as_first_event_becomes_a_status(gateway, engine, error, status, code):
    engine.use(streamed([event(error=error), DONE]))
    found = gateway.chat(stream=True)
    assert found.status == status and found.error()["code"] == code
    row = gateway.row(found)
    assert (row["status"], row["error_code"], row["completed"]) == (status, code, 0)


def test_S10_error_later_passes_in_band_and_is_recorded(gateway, engine):
    stream = OPENING + delta("a") + event(error={"message": "boom", "type": "InternalServerError", "code": 500}) + DONE
    engine.use(streamed([stream]))
    found = gateway.chat(stream=True, body=asked())
    assert (found.status, found.body) == (200, stream)
    row = gateway.row(found)
    assert (row["status"], row["error_code"], row["completed"]) == (500, "500", 0)


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("partial", [b"", b'data: {"choices":[{"delta":{"content":"half'])
def test_S11_engine_dies_mid_stream(gateway, engine, how, partial):
    async def dies(_request, wire):
        await wire.raw(STREAM_HEAD)
        await wire.chunk(OPENING + delta("one") + delta("two") + partial)
        await asyncio.sleep(0.1)
        getattr(wire, how)()

    engine.use(dies)
    found = gateway.chat(stream=True)
    assert found.status == 200 and b"[DONE]" not in found.body
    events = found.body.split(b"\n\n")
    assert b"\n\n".join(events[:3]) + b"\n\n" == OPENING + delta("one") + delta("two")
    assert events[3].startswith(b'data: {"error":{"message":') and events[4:] == [b""]
    assert b'"type":"upstream_error"' in events[3] and b'"code":"upstream_disconnected"' in events[3]
    row = gateway.row(found)
    assert (row["status"], row["error_code"], row["completed"]) == (502, "upstream_disconnected", 0)
    assert (row["completion_tokens"], row["estimated"]) == (2, 1)


def test_S12_end_without_done_is_truncated(gateway, engine):
    engine.use(streamed([OPENING, delta("a"), FINISH]))
    found = gateway.chat(stream=True)
    assert found.body == OPENING + delta("a") + FINISH
    row = gateway.row(found)
    assert (row["error_code"], row["completed"]) == ("truncated", 0)


def test_S13_unknown_fields_pass_byte_for_byte(gateway, engine):
    odd = (b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\\"a\\": 1.0"}}],'
           b'"reasoning_content":"\\u0928"},"logprobs":{"x":-1e-7}}],   "z":[ ]}\n\n')
    engine.use(streamed([OPENING, odd, odd, DONE]))
    assert gateway.chat(stream=True).body == OPENING + odd + odd + DONE


@pytest.mark.parametrize("stream", [True, False])
def test_S14_alias_answers_under_the_name_asked_for(gateway, engine, stream):
    for name in ("nick", "named"):
        found = gateway.chat(stream=stream, model=name, body=asked() if stream else None)
        assert engine.requests[-1].json()["model"] == "demo"
        assert b'"demo"' not in found.body and f'"{name}"'.encode() in found.body
        row = gateway.row(found)
        assert (row["model"], row["upstream_model"]) == ("named", "demo")


def test_S15_events_arrive_one_by_one(gateway, engine):
    engine.use(streamed([delta(str(number)) for number in range(10)] + [DONE], pause=0.05))
    connection, response = gateway.open("POST", "/v1/chat/completions", {"model": "demo", "messages": [], "stream": True})
    stamps = []
    while response.readline():
        stamps.append(time.monotonic())
    connection.close()
    gaps = [later - earlier for earlier, later in zip(stamps[::2], stamps[2::2])]
    assert len(gaps) >= 9 and sorted(gaps)[len(gaps) // 2] > 0.03


def test_S16_slow_reader_keeps_memory_flat(gateway, engine):
    sent = []

    async def flood(_request, wire):
        await wire.raw(STREAM_HEAD)
        block = delta("x" * 8000) * 8
        for _unused in range(4000):  # 256 MB, if nobody stops it
            await wire.chunk(block)
            sent.append(len(block))

    engine.use(flood)
    before = rss_bytes(gateway.process.pid)
    connection, response = gateway.open("POST", "/v1/chat/completions", {"model": "demo", "messages": [], "stream": True})
    response.read(1000)
    until(lambda: _settled(sent), 20)
    assert sum(sent) < 24_000_000, "the engine was read although the client does not read"
    assert rss_bytes(gateway.process.pid) - before < 32_000_000
    connection.close()
    until(lambda: engine.open_connections == 0 or gateway.ready()["in_flight"] == 0, 3)


def _settled(counter):
    before = len(counter)
    time.sleep(0.3)
    return before == len(counter) and before > 0


def test_S18_compressed_request_is_refused(gateway):
    found = gateway.chat(headers={"Content-Encoding": "gzip"})
    assert found.status == 415 and found.error()["code"] == "unsupported_content_encoding"


def test_S19_identity_is_asked_for_and_a_compressed_answer_stays_consistent(gateway, engine):
    import gzip

    packed = gzip.compress(answer())

    async def compresses(_request, wire):
        await wire.plain(packed, extra=b"content-encoding: gzip\r\n")

    engine.use(compresses)
    found = gateway.chat(headers={"Accept-Encoding": "gzip"})
    assert engine.requests[-1].headers["accept-encoding"] == "identity"
    assert (found.headers["content-encoding"], found.body) == ("gzip", packed)


# --- C ---


def test_C1_leaving_client_cancels_a_stream(gateway, engine):
    left = threading.Event()

    async def endless(_request, wire):
        await wire.raw(STREAM_HEAD)
        gone = asyncio.ensure_future(wire.gone())
        while not gone.done():
            await wire.chunk(delta("x"))
            await asyncio.sleep(0.02)
        left.set()

    engine.use(endless)
    connection, response = gateway.open("POST", "/v1/chat/completions", {"model": "demo", "messages": [], "stream": True},
                                        headers={"X-Request-Id": "c1-stream"})
    response.read(500)
    connection.close()
    response.close()
    assert left.wait(1), "engine connection still open 1 s after the client left"
    row = gateway.usage("c1-stream")[0]
    assert (row["status"], row["error_code"], row["completed"], row["estimated"]) == (499, "client_closed", 0, 1)
    assert row["completion_tokens"] >= 1


@pytest.mark.parametrize("stream", [False, True])
def test_C2_leaving_client_cancels_a_request_that_has_no_byte_yet(gateway, engine, stream):
    left = threading.Event()
    arrived = threading.Event()

    async def silent(_request, wire):
        arrived.set()
        await wire.gone()
        left.set()

    engine.use(silent)
    connection = gateway.connect()
    body = b'{"model":"demo","messages":[],"stream":%s}' % (b"true" if stream else b"false")
    connection.request("POST", "/v1/chat/completions", body,
                       {"Authorization": f"Bearer {gateway.key()}", "X-Request-Id": f"c2-{stream}"})
    assert arrived.wait(2)
    connection.close()
    assert left.wait(1), "engine connection still open 1 s after the client left"
    row = gateway.usage(f"c2-{stream}")[0]
    assert (row["status"], row["completed"]) == (499, 0)


def test_C4_C5_gauge_and_rows_after_success_error_cancel_timeout(own_gateway, engine):
    gateway = own_gateway(timeouts={"first_byte_seconds": 0.5, "idle_seconds": 0.5})
    gateway.key()
    ids = {}
    found = gateway.chat(headers={"X-Request-Id": "ok"})
    ids["ok"] = 200

    async def silent(_request, wire):
        await wire.gone()

    async def stalls(_request, wire):
        await wire.raw(STREAM_HEAD)
        await wire.chunk(OPENING + delta("a"))
        await wire.gone()

    engine.use(silent)
    found = gateway.chat(headers={"X-Request-Id": "first-byte"})
    assert found.status == 504 and found.error()["code"] == "upstream_timeout"
    ids["first-byte"] = 504
    engine.use(stalls)
    found = gateway.chat(stream=True, headers={"X-Request-Id": "idle"})
    assert found.status == 200 and b'"code":"upstream_timeout"' in found.body and b"[DONE]" not in found.body
    ids["idle"] = 504
    engine.use(streamed([event(error={"message": "x", "code": 400})]))
    gateway.chat(stream=True, headers={"X-Request-Id": "error"})
    ids["error"] = 400
    for name, status in ids.items():
        assert [row["status"] for row in gateway.usage(name)] == [status], name
    assert gateway.ready()["in_flight"] == 0


def test_H6_total_limit_and_long_streams(own_gateway, engine):
    gateway = own_gateway(timeouts={"first_byte_seconds": 1, "idle_seconds": 1, "total_seconds": 1.5})
    gateway.key()
    engine.use(streamed([delta("x")] * 100, pause=0.1))
    began = time.monotonic()
    found = gateway.chat(stream=True)
    assert b"upstream_timeout" in found.body and 1.3 < time.monotonic() - began < 3


def test_C7_sigterm_drains(own_gateway, engine):
    gateway = own_gateway(drain_seconds=10)
    gateway.key()
    engine.use(streamed([*[delta(str(number)) for number in range(20)], usage_event(3, 20), DONE], pause=0.1))
    result = []
    thread = in_background(lambda: result.append(gateway.chat(stream=True, body=asked(), headers={"X-Request-Id": "drained"})))
    until(lambda: gateway.ready()["in_flight"] == 1, 3)
    gateway.signal(15)
    until(lambda: gateway.request("GET", "/ready", key=None).status == 503, 1)
    refused = gateway.chat()
    assert refused.status == 503 and refused.error()["code"] == "draining" and int(refused.headers["retry-after"]) >= 1
    assert gateway.request("GET", "/health", key=None).status == 200
    assert gateway.stop() == 0
    thread.join(1)
    assert result[0].body.endswith(DONE) and result[0].body.count(b"data: ") == 22
    assert gateway.usage("drained")[0]["completion_tokens"] == 20


def test_C7_after_drain_seconds_streams_end_with_an_error_event(own_gateway, engine):
    gateway = own_gateway(drain_seconds=0.5)
    gateway.key()
    engine.use(streamed([delta("x")] * 100, pause=0.1))
    result = []
    thread = in_background(lambda: result.append(gateway.chat(stream=True, headers={"X-Request-Id": "cut"})))
    until(lambda: gateway.ready()["in_flight"] == 1, 3)
    began = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - began < 4
    thread.join(1)
    assert b'"code":"draining"' in result[0].body and b"[DONE]" not in result[0].body
    row = gateway.usage("cut")[0]
    assert (row["status"], row["error_code"], row["completed"]) == (503, "draining", 0)


def test_C7_idle_gateway_stops_at_once(own_gateway):
    gateway = own_gateway(drain_seconds=30)
    began = time.monotonic()
    assert gateway.stop() == 0
    assert time.monotonic() - began < 3


def test_H7_301_concurrent_streams(own_gateway, engine):
    gateway = own_gateway(timeouts={"idle_seconds": 60})
    gateway.key()
    release = asyncio.Event()

    async def waits(request, wire):
        await wire.raw(STREAM_HEAD)
        await wire.chunk(OPENING)
        while not release.is_set():
            await asyncio.sleep(0.02)
        for piece in polite(request)[1:]:
            await wire.chunk(piece)
        await wire.end()

    engine.use(waits)
    opened = [gateway.open("POST", "/v1/chat/completions", {"model": "demo", "messages": [], "stream": True}, timeout=20)
              for _unused in range(301)]
    assert gateway.ready()["in_flight"] == 301
    release.set()
    assert all(response.read().endswith(DONE) for _connection, response in opened)
    for connection, _response in opened:
        connection.close()
    engine.use(well_behaved)
