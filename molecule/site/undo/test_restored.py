"""After restore.yml the old engine serves again."""
from __future__ import annotations

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
