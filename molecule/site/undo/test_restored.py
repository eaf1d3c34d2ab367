"""After restore.yml the old engine serves again; and a new engine that never becomes ready gives way to it."""
from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import servers, streams  # noqa: E402
from tests.support import site as support  # noqa: E402

OLD_PORT = 8000


@pytest.fixture(scope="module")
def address(host):
    return servers.address(servers.name(host))


def old_engine_answers(address):
    body = {"model": "chat", "stream": True, "max_tokens": 8, "messages": [{"role": "user", "content": "Are you there?"}]}
    answer = streams.post(address, OLD_PORT, body)
    return answer.status == 200 and answer.done and bool(answer.text)


def test_the_old_engine_serves_again(address):
    assert old_engine_answers(address)


def test_a_new_engine_that_never_becomes_ready_gives_way_to_the_old_one(host, address):
    """4 KiB of KV cache hold no request of any length: vLLM refuses to start, each time."""
    models = support.variables(servers.name(host))["inference_models"]
    models[0]["args"]["kv-cache-memory-bytes"] = 4096
    status, output = support.playbook("site", "-e", json.dumps({"inference_models": models, "inference_benchmark": False}))
    said = " ".join(output.split())
    assert status != 0
    assert "The engine that served before is serving again." in said, output[-6000:]
    assert "No available memory for the cache blocks" in said, "the reason that the engine gave is missing"
    assert old_engine_answers(address)
