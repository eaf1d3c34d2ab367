# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests, headers, errors, routing and admission through a running gateway: H, E, S18-S21, X3, X4."""

from __future__ import annotations

import asyncio
import json
import socket
import time

import pytest
from conftest import ENGINE_KEY, in_background, until
from fake_engine import STREAM_HEAD, answer, delta, well_behaved


def raw_exchange(gateway, data: bytes, tcp: bool = True) -> bytes:
    connection = gateway.connect(tcp)
    connection.connect()
    connection.sock.sendall(data)
    received = b""
    try:
        while piece := connection.sock.recv(65536):
            received += piece
            head, _blank, rest = received.partition(b"\r\n\r\n")
            length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if length and len(rest) >= int(length[0].split(b":")[1]):
                break
    except (ConnectionResetError, socket.timeout):
        pass
    connection.close()
    return received


# --- plain answers and routing ---


def test_plain_answer_passes_and_is_recorded(gateway):
    found = gateway.chat()
    assert (found.status, found.body) == (200, answer())
    assert found.headers["content-length"] == str(len(answer()))
    row = gateway.row(found)
    assert (row["prompt_tokens"], row["completion_tokens"], row["stream"], row["completed"]) == (7, 6, 0, 1)


@pytest.mark.parametrize("path", ["/v1/completions", "/v1/embeddings"])
def test_other_endpoints(gateway, engine, path):
    body = {"input": [[1, 2, 3]]} if path.endswith("embeddings") else {"prompt": "x"}
    found = gateway.request("POST", path, {"model": "demo", **body})
    assert found.status == 200 and engine.requests[-1].path == path
    assert gateway.row(found)["endpoint"] == path


@pytest.mark.parametrize("how", ["length", "chunked"])
def test_large_plain_answer_passes_and_its_usage_is_found(gateway, engine, how):
    data = b'{"object":"list","data":["' + b"x" * 3_000_000 + b'"],"model":"demo","usage":{"prompt_tokens":12,"total_tokens":12}}'

    async def large(_request, wire):
        if how == "length":
            await wire.plain(data)
        else:
            await wire.raw(STREAM_HEAD.replace(b"text/event-stream; charset=utf-8", b"application/json"))
            for at in range(0, len(data), 70_000):
                await wire.chunk(data[at:at + 70_000])
            await wire.end()

    engine.use(large)
    found = gateway.request("POST", "/v1/embeddings", {"model": "demo", "input": "x"})
    assert found.body == data
    row = gateway.row(found)
    assert (row["prompt_tokens"], row["completion_tokens"]) == (12, None)


def test_large_plain_answer_that_breaks_is_cut_for_the_client_too(gateway, engine):
    async def breaks(_request, wire):
        await wire.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9000000\r\n\r\n" + b"x" * 3_000_000)
        wire.reset()

    engine.use(breaks)
    connection, response = gateway.open("POST", "/v1/embeddings", {"model": "demo", "input": "x"}, headers={"X-Request-Id": "broken"})
    with pytest.raises((ConnectionError, __import__("http.client").client.IncompleteRead)):
        response.read()
    connection.close()
    assert gateway.usage("broken")[0]["status"] == 502


def test_models_are_filtered_per_key(gateway):
    narrow = gateway.key("narrow", ("named",))
    names = [item["id"] for item in gateway.request("GET", "/v1/models").json()["data"]]
    assert names == ["demo", "named", "nick", "other"]
    found = gateway.request("GET", "/v1/models", key=narrow).json()
    assert found["object"] == "list" and [item["id"] for item in found["data"]] == ["named", "nick"]
    assert {"id", "object", "created", "owned_by"} == set(found["data"][0])


def test_R8_unknown_and_forbidden_models_look_alike(gateway, engine):
    narrow = gateway.key("narrow", ("named",))
    unknown = gateway.chat(model="nobody", key=narrow)
    forbidden = gateway.chat(model="demo", key=narrow)
    assert unknown.status == forbidden.status == 404
    assert unknown.error()["code"] == forbidden.error()["code"] == "model_not_found"
    assert unknown.error()["message"].replace("nobody", "demo") == forbidden.error()["message"]
    assert engine.requests == []
    assert gateway.chat(model="nick", key=narrow).status == 200


# --- H ---


def test_H1_request_headers(gateway, engine):
    gateway.chat(headers={
        "Connection": "keep-alive, X-Named", "X-Named": "1", "Keep-Alive": "5", "Proxy-Authorization": "x", "TE": "trailers",
        "Cookie": "a=b", "X-API-Key": "sk-other", "X-Data-Parallel-Rank": "1", "traceparent": "00-aa-bb-01", "User-Agent": "tester",
    })
    sent = engine.requests[-1].headers
    assert sent["authorization"] == f"Bearer {ENGINE_KEY}"
    assert sent["traceparent"] == "00-aa-bb-01" and sent["user-agent"] == "tester"
    assert set(sent) == {"host", "content-type", "accept-encoding", "x-request-id", "authorization", "traceparent", "user-agent", "content-length"}
    assert sent["host"] == f"127.0.0.1:{engine.port}"


def test_H2_response_headers(gateway, engine):
    async def chatty(_request, wire):
        await wire.plain(answer(), extra=b"server: uvicorn\r\ndate: yesterday\r\nconnection: x-hop\r\nx-hop: 1\r\nkeep-alive: 5\r\nx-stub: indiaai\r\n"
                                         b"x-gateway-error: lie\r\nset-cookie: a=b\r\nx-request-id: engine\r\n")

    engine.use(chatty)
    found = gateway.chat()
    assert not {"server", "x-hop", "keep-alive", "x-gateway-error", "set-cookie"} & set(found.headers)
    assert found.headers["x-stub"] == "indiaai" and found.headers.get("date") != "yesterday"
    assert found.headers["x-request-id"].startswith("req-")


def test_H3_request_id_is_set_not_appended(gateway, engine):
    found = gateway.chat(headers={"X-Request-Id": "mine-1"})
    assert found.headers["x-request-id"] == "mine-1"
    assert engine.requests[-1].headers["x-request-id"].startswith("mine-1-")
    for hostile in ("a b", "x" * 200, "a\tb", "ü"):
        found = gateway.chat(headers={"X-Request-Id": hostile.encode("utf-8").decode("latin-1")})
        assert found.headers["x-request-id"].startswith("req-")


def test_H4_pool_lets_go_before_the_engine_does(own_gateway, engine):
    gateway = own_gateway(timeouts={"pool_idle_seconds": 0.3})
    gateway.key()
    numbers = []
    for pause in (0, 0, 0.6):
        time.sleep(pause)
        assert gateway.chat().status == 200
        numbers.append(engine.requests[-1].connection)
    assert numbers[0] == numbers[1] != numbers[2]


@pytest.mark.parametrize("how", ["close", "reset"])
def test_H5_reset_of_a_reused_connection_is_retried_once(gateway, engine, how):
    assert gateway.chat().status == 200
    first = engine.requests[-1].connection

    async def dies_when_reused(request, wire):
        if request.connection == first:
            getattr(wire, how)()
        else:
            await well_behaved(request, wire)

    engine.use(dies_when_reused)
    # Whichever idle connection the pool hands out: use them until it is the one.
    for _unused in range(20):
        assert gateway.chat().status == 200
        if first in [request.connection for request in engine.requests]:
            break
    numbers = [request.connection for request in engine.requests]
    assert numbers.count(first) == 1 and numbers[numbers.index(first) + 1] != first


def test_H5_no_second_retry_and_none_on_a_fresh_connection(own_gateway, engine):
    gateway = own_gateway(timeouts={"pool_idle_seconds": 3})
    gateway.key()

    async def dies(_request, wire):
        wire.reset()

    engine.use(dies)
    found = gateway.chat()
    assert found.status == 502 and found.error()["code"] == "upstream_disconnected" and len(engine.requests) == 1
    engine.use(well_behaved)
    assert gateway.chat().status == 200
    engine.use(dies)
    assert gateway.chat().status == 502 and len(engine.requests) == 2


def test_H5_no_retry_after_a_byte(own_gateway, engine):
    gateway = own_gateway(timeouts={"pool_idle_seconds": 3})
    gateway.key()
    assert gateway.chat().status == 200

    async def starts_and_dies(_request, wire):
        await wire.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        await asyncio.sleep(0.05)
        wire.close()

    engine.use(starts_and_dies)
    assert gateway.chat().status == 502 and len(engine.requests) == 1


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404), ("GET", "/v1/chat/completions", 405), ("OPTIONS", "/v1/chat/completions", 405),
        ("HEAD", "/v1/models", 405), ("POST", "/v1/models", 405), ("DELETE", "/v1/nothing", 404),
    ],
)
def test_H8_unknown_paths_and_methods(gateway, method, path, status):
    found = gateway.request(method, path, key=None)
    assert found.status == status
    if method != "HEAD":
        assert found.error()["code"] in ("unknown_url", "method_not_allowed")


def test_H8_expect_100_continue(gateway):
    body = b'{"model":"demo","messages":[]}'
    head = (b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n"
            % (gateway.key().encode(), len(body)))
    connection = gateway.connect(True)
    connection.connect()
    connection.sock.sendall(head)
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 100")
    connection.sock.sendall(body)
    assert connection.sock.recv(100).startswith(b"HTTP/1.1 200")
    connection.close()


@pytest.mark.parametrize(
    "path",
    ["/sleep", "/metrics", "/flush_cache", "/v1/load_lora_adapter", "/v1/%2e%2e/sleep", "//v1/chat/completions", "/V1/chat/completions",
     "/v1/chat/completions/", "/v1/chat/completions/../../../sleep", "/docs", "/openapi.json", "/tokenize", "/v1/models/demo"],
)
def test_H10_only_the_listed_paths_exist(gateway, engine, path):
    for method in ("GET", "POST"):
        found = raw_exchange(gateway, b"%s %s HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\ncontent-length: 2\r\n\r\n{}"
                             % (method.encode(), path.encode(), gateway.key().encode()))
        assert found.startswith(b"HTTP/1.1 404"), found
    assert engine.requests == []


# --- E ---


def test_E1_E3_gateway_errors_carry_their_header(gateway):
    for found, status, code in (
        (gateway.chat(key=None), 401, "invalid_api_key"),
        (gateway.chat(model="nobody"), 404, "model_not_found"),
        (gateway.request("GET", "/nothing"), 404, "unknown_url"),
        (gateway.request("POST", "/v1/chat/completions", b"{"), 400, "invalid_json"),
    ):
        assert found.status == status and found.error()["code"] == code == found.headers["x-gateway-error"]
        assert found.headers["x-request-id"]


def test_E_engine_not_there(own_gateway, engine):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    gateway = own_gateway()
    gateway.key()
    gateway.config["models"][0]["url"] = f"http://127.0.0.1:{free}"
    gateway.write_config()
    gateway.signal(1)
    until(lambda: gateway.chat().status == 503, 3)
    found = gateway.chat()
    assert found.error()["code"] == "engine_unavailable" and int(found.headers["retry-after"]) >= 1
    assert str(free) not in found.body.decode() and "127.0.0.1" not in found.body.decode()
    assert gateway.row(found)["status"] == 503


@pytest.mark.parametrize(
    ("engine_status", "body", "status", "message"),
    [
        ("400 Bad Request", b'{"error":{"message":"context too long","type":"BadRequestError","param":null,"code":400}}', 400, "context too long"),
        ("404 Not Found", b'{"detail":"Not Found"}', 404, "does not offer"),
        ("422 Unprocessable", b'{"error":"input too long","error_type":"Validation"}', 422, "input too long"),
        ("500 Internal Server Error", b"Internal Server Error at /srv/engine.py line 3", 500, "status 500"),
        ("401 Unauthorized", b'{"error":"Unauthorized"}', 502, "operator"),
        ("307 Temporary Redirect", b"", 502, "operator"),
    ],
)
def test_E2_engine_errors_pass_in_openai_shape_without_internals(gateway, engine, engine_status, body, status, message):
    async def refuses(_request, wire):
        await wire.plain(body, engine_status, extra=b"location: http://elsewhere/\r\n" if "307" in engine_status else b"")

    engine.use(refuses)
    for stream in (False, True):
        found = gateway.chat(stream=stream)
        assert found.status == status and message in found.json()["error"]["message"]
        assert b"/srv" not in found.body and ("x-gateway-error" in found.headers) == (status == 502)
        assert gateway.row(found)["completed"] == 0


def test_R5_engines_retry_after_passes(gateway, engine):
    async def busy(_request, wire):
        await wire.plain(b'{"error":{"message":"busy","type":"x","param":null,"code":"429"}}', "429 Too Many Requests", b"retry-after: 7\r\n")

    engine.use(busy)
    found = gateway.chat()
    assert (found.status, found.headers["retry-after"]) == (429, "7")


def test_admission_limit_of_a_model(own_gateway, engine):
    gateway = own_gateway()
    gateway.key()
    gateway.config["models"][0]["max_concurrent"] = 2
    gateway.write_config()
    gateway.signal(1)
    until(lambda: any(line.get("event") == "configuration in force" for line in gateway.log()), 3)
    hold = asyncio.Event()

    async def waits(request, wire):
        while not hold.is_set():
            await asyncio.sleep(0.01)
        await well_behaved(request, wire)

    engine.use(waits)
    results = []
    threads = [in_background(lambda: results.append(gateway.chat())) for _unused in range(2)]
    until(lambda: gateway.ready()["in_flight"] == 2, 3)
    refused = gateway.chat()
    assert refused.status == 503 and refused.error()["code"] == "overloaded" and refused.headers["retry-after"] == "1"
    hold.set()
    for thread in threads:
        thread.join(5)
    assert [found.status for found in results] == [200, 200] and gateway.chat().status == 200


# --- bodies ---


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"null", b"[]", b'"x"', b"{}", b'{"model":3}', b'{"model":""}', b'{"model":null}', b'{"model":"demo","stream":"yes"}',
     b'{"model":"demo","stream_options":[]}', b'{"model":"demo","stream":true,"stream_options":{"include_usage":1}}',
     b'{"model":"demo","x":' + b"[" * 5000 + b"]" * 5000 + b"}", b'{"model":"demo","x":"\xff"}', b'{"model":"demo","x":NaN}', b"\x00" * 50],
)
def test_S20_wrong_bodies_are_400(gateway, engine, body):
    found = gateway.request("POST", "/v1/chat/completions", body)
    assert found.status == 400 and found.error()["type"] == "invalid_request_error"
    assert engine.requests == []


def test_S21_the_authorised_model_is_the_one_sent(gateway, engine):
    narrow = gateway.key("narrow", ("named",))
    for body in (b'{"model":"demo","messages":[],"model":"named"}', b'{"model":"named","messages":[],"mod\\u0065l":"demo"}'):
        found = gateway.request("POST", "/v1/chat/completions", body, key=narrow)
        for request in engine.requests:
            assert request.body.count(b'"model"') == 1
        assert found.status == (200 if body.endswith(b'"named"}') else 404)


@pytest.mark.parametrize("chunked", [False, True])
def test_413_body_over_the_limit(own_gateway, engine, chunked):
    gateway = own_gateway(limits={"max_body_bytes": 1000})
    gateway.key()
    body = json.dumps({"model": "demo", "x": "y" * 3000}).encode()
    headers = {"Authorization": f"Bearer {gateway.key()}"}
    connection = gateway.connect()
    if chunked:
        connection.request("POST", "/v1/chat/completions", iter([body[:1500], body[1500:]]), headers, encode_chunked=True)
    else:
        connection.request("POST", "/v1/chat/completions", body, headers)
    response = connection.getresponse()
    assert response.status == 413 and json.loads(response.read())["error"]["code"] == "request_too_large"
    connection.close()
    assert engine.requests == [] and gateway.chat().status == 200


# --- X ---


@pytest.mark.parametrize(
    "value",
    [b"' OR '1'='1", b"Bearer", b"Bearer ", b"Bearer sk-ind-", b"Bearer " + b"x" * 100_000, b"Bearer sk-ind-\xff\xfe", b"Basic abc",
     b"Bearer sk-ind-" + b"A" * 38, b"bearer \xe0\xa4\xa8", b"Bearer %00", b""],
)
def test_X3_hostile_authorization(gateway, value):
    found = raw_exchange(gateway, b"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: " + value + b"\r\n\r\n")
    status = int(found.split(b" ")[1])
    assert status in (401, 431)
    assert json.loads(found.partition(b"\r\n\r\n")[2])["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize("value", [b"Bearer a\x00b", b"Bearer a\x01b\x7f"])
def test_X3_control_characters(gateway, value):
    found = raw_exchange(gateway, b"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: " + value + b"\r\n\r\n")
    assert found.split(b" ")[1] in (b"400", b"401")


def test_X3_a_header_of_1_MB(gateway):
    found = raw_exchange(gateway, b"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer " + b"x" * 1_000_000 + b"\r\n\r\n")
    assert found == b"" or found.split(b" ")[1] in (b"431", b"400", b"401")
    assert gateway.request("GET", "/health", key=None).status == 200


def test_X3_two_authorization_headers(gateway):
    key = gateway.key().encode()
    found = raw_exchange(gateway, b"GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer %s\r\nauthorization: Bearer %s\r\n\r\n" % (key, key))
    assert found.startswith(b"HTTP/1.1 401")


def test_X2_a_key_in_the_url_is_not_a_key(gateway):
    assert gateway.request("GET", f"/v1/models?api_key={gateway.key()}", key=None).status == 401


def test_X4_client_address(gateway):
    over_socket = gateway.chat(headers={"X-Real-IP": "203.0.113.9", "X-Forwarded-For": "198.51.100.1"})
    assert gateway.row(over_socket)["client_ip"] == "203.0.113.9"
    over_tcp = gateway.chat(tcp=True, headers={"X-Real-IP": "203.0.113.9", "X-Forwarded-For": "198.51.100.1"})
    assert gateway.row(over_tcp)["client_ip"] == "127.0.0.1"
    nonsense = gateway.chat(headers={"X-Real-IP": "not-an-address"})
    assert gateway.row(nonsense)["client_ip"] is None


def test_X4_trusted_proxy_on_tcp(own_gateway):
    gateway = own_gateway(trusted_proxies=["127.0.0.0/8"])
    found = gateway.chat(tcp=True, headers={"X-Real-IP": "2001:db8::7"})
    assert gateway.row(found)["client_ip"] == "2001:db8::7"


def test_half_a_request_then_gone(gateway, engine):
    connection = gateway.connect()
    connection.connect()
    connection.sock.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nx-request-id: half\r\nauthorization: Bearer "
                            + gateway.key().encode() + b"\r\ncontent-length: 100\r\n\r\n{\"mod")
    time.sleep(0.1)
    connection.close()
    assert gateway.usage("half")[0]["status"] == 499 and engine.requests == []


def test_keep_alive_and_pipelined_requests(gateway):
    one = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n"
    connection = gateway.connect(True)
    connection.connect()
    connection.sock.sendall(one * 3)
    received = b""
    until_three = time.monotonic() + 3
    while received.count(b'{"status":"ok"}') < 3 and time.monotonic() < until_three:
        received += connection.sock.recv(65536)
    connection.close()
    assert received.count(b"HTTP/1.1 200 OK") == 3


def test_deltas_of_a_stream_for_completions(gateway, engine):
    async def one(_request, wire):
        await wire.raw(STREAM_HEAD)
        await wire.chunk(delta("a") + b"data: [DONE]\n\n")
        await wire.end()

    engine.use(one)
    found = gateway.chat(stream=True, path="/v1/completions", body={"prompt": "x"})
    assert gateway.row(found)["completion_tokens"] == 1
