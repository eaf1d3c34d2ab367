"""A numbered stream survives what happens around its engine, event for event."""
from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import site as support  # noqa: E402
from tests.support import streams  # noqa: E402

EVENTS = 4000


@pytest.fixture(scope="module")
def site(host, tmp_path_factory):
    return support.Site(host, tmp_path_factory.mktemp("site"))


def test_every_numbered_event_arrives_once_and_in_order(site):
    body = {"model": "stub", "stream": True, "messages": [{"role": "user", "content": "count"}],
            "stub": {"tokens": EVENTS, "inter_token_seconds": 0.04}}
    started = site.engine_started()
    stream = streams.Background(site.address, 443, body, key=site.key, tls=site.certificate, timeout=900)
    assert stream.started()
    site.run("systemctl", "restart", "docker")
    site.run("systemctl", "kill", "--signal", "KILL", "--kill-who", "main", site.engine["unit"])
    status, output = support.playbook("site")
    assert status == 0, output[-6000:]
    assert support.changed(output) == 0, support.changed_tasks(output)
    assert stream.is_alive(), "the stream ended before the second run did; make it longer"
    answer = stream.result(900)
    assert answer.done
    assert answer.text.split() == [f"e{number:06d}" for number in range(1, EVENTS + 1)]
    assert site.engine_started() == started
    row = site.usage_rows()[-1]
    assert (row["completion_tokens"], row["completed"]) == (EVENTS, True)
