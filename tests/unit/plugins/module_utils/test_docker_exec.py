# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Programs in a container through Docker's API: its framed output, and every way it can refuse."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _docker_exec
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api


def frame(stream, data):
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


class Api:
    """As much of DockerApi as is used; ``answers`` by path."""

    def __init__(self, **answers):
        self.answers = dict(
            {"create": (201, {"Id": "e1"}), "start": (200, frame(1, b"out")), "json": (200, {"ExitCode": 0})}, **answers)
        self.bodies = []

    def _answer(self, name):
        answer = self.answers[name]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def request(self, method, path, body=None, timeout=None):
        self.bodies.append(body)
        if path.endswith("/json"):
            assert path == "/exec/e1/json"
            return self._answer("json")
        assert path == "/containers/gate/exec"
        return self._answer("create")

    def request_raw(self, method, path, body=None, timeout=None):
        assert path == "/exec/e1/start"
        return self._answer("start")


def test_streams_are_told_apart():
    data = frame(1, b"one ") + frame(2, b"bad") + frame(1, "नमस्ते".encode("utf-8")) + frame(2, b"")
    assert _docker_exec.split_streams(data) == ("one नमस्ते".encode("utf-8"), b"bad")


@pytest.mark.parametrize("data", [b"", b"\x01\0\0", frame(1, b"cut short")[:-1]])
def test_what_was_cut_short_is_dropped(data):
    assert _docker_exec.split_streams(data) == (b"", b"")


def test_the_programs_output_and_status():
    api = Api(start=(200, frame(2, b"why") + frame(1, b"out")), json=(200, {"ExitCode": 3}))
    assert _docker_exec.run(api, "gate", ["a", "b"]) == (3, "out", "why")
    assert api.bodies[0] == {"AttachStdout": True, "AttachStderr": True, "Cmd": ["a", "b"]}


@pytest.mark.parametrize("answers, words", [
    ({"create": (404, {"message": "No such container: gate"})}, "there is no container gate"),
    ({"create": (409, {"message": "container is paused"})}, "container gate: container is paused"),
    ({"create": (500, None)}, "Docker answered 500"),
    ({"create": docker_api.DockerUnavailable("Docker does not answer on /x")}, "does not answer"),
    ({"start": (409, b"not running")}, "not running"),
    ({"start": docker_api.DockerUnavailable("timed out")}, "timed out"),
    ({"json": (200, {"ExitCode": None})}, "status is not known"),
])
def test_refusals(answers, words):
    with pytest.raises(_docker_exec.ExecFailed, match=words):
        _docker_exec.run(Api(**answers), "gate", ["a"])
