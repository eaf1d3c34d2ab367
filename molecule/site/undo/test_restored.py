"""After restore.yml the old engine serves again; and a new engine that never becomes ready gives way to it."""
from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import site as support  # noqa: E402
from tests.support import streams  # noqa: E402


@pytest.fixture(scope="module")
def address(host):
    name = host.backend.name if hasattr(host.backend, "name") else host.backend.host
    done = support.subprocess.run(["docker", "inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}", name],
                                  check=True, text=True, capture_output=True)
    return done.stdout.strip()


def old_engine_answers(address):
    body = {"model": "chat", "stream": True, "max_tokens": 8, "messages": [{"role": "user", "content": "Are you there?"}]}
    answer = streams.post(address, 8000, body)
    return answer.status == 200 and answer.done and bool(answer.text)


def test_the_old_engine_serves_again(address):
    assert old_engine_answers(address)


def test_a_new_engine_that_never_becomes_ready_gives_way_to_the_old_one(address):
    models = [{"name": "chat", "engine": "vllm", "image": "indiaai-test/vllm-cpu:0.32.0", "source": "/srv/models/chat",
               "context_length": 65536, "args": {"enforce-eager": True, "dtype": "float32", "kv-cache-memory-bytes": 4096}}]
    status, output = support.playbook("site", "-e", json.dumps({"inference_models": models, "inference_benchmark": False}))
    assert status != 0
    assert "serving again" in output and "kv" in output.lower()
    assert old_engine_answers(address)
