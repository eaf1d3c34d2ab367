"""Engines on GPUs. The GPUs are stubs; Docker's GPU requests and the engines' supervision are real."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

CONVERGE = pathlib.Path(__file__).resolve().parents[1] / "converge.yml"
ENGINES = ("one", "two")


class Server:
    def __init__(self, host):
        self.host = host

    def run(self, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout

    def inspect(self, engine):
        return json.loads(self.run(f"docker inspect inference-{engine}"))[0]

    def uuid(self, number):
        return self.run(f"stub-gpu-ctl get gpu.{number}.uuid").strip()


@pytest.fixture
def server(host):
    server = Server(host)
    yield server
    server.run("stub-gpu-ctl set gpu.0.fault '' && stub-gpu-ctl set gpu.1.fault ''")


def plan_again(**extra):
    """Run the roles in check mode -> (exit status, output)."""
    argv = ["ansible-playbook", "--check", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--extra-vars", json.dumps(extra), str(CONVERGE)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_each_engine_asks_docker_for_its_gpu_by_uuid(server):
    asked = [server.inspect(engine)["HostConfig"]["DeviceRequests"][0] for engine in ENGINES]
    assert sorted(one["DeviceIDs"][0] for one in asked) == sorted(server.uuid(number) for number in (0, 1))
    assert all(one["Driver"] == "nvidia" and len(one["DeviceIDs"]) == 1 for one in asked)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_sees_its_own_gpu_and_no_other(server, engine):
    (wanted,) = server.inspect(engine)["HostConfig"]["DeviceRequests"][0]["DeviceIDs"]
    assert server.run(f"docker exec inference-{engine} nvidia-smi -L") == f"GPU 0: NVIDIA H200 (UUID: {wanted})\n"


def test_an_engine_cannot_change_its_gpu(server):
    done = server.host.run("docker exec inference-one nvidia-smi -lgc 1980")
    assert done.rc == 4 and "does not have permission" in done.stdout


@pytest.mark.parametrize("engine, port, share", [("one", 30000, 100000 / 143771), ("two", 30001, 71885 / 143771)])
def test_an_engine_answers_and_is_told_its_share_of_the_memory(server, engine, port, share):
    key = server.run(f"cat /etc/indiaai-inference/engines/{engine}.key").strip()
    body = json.dumps({"model": engine, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
    answer = server.run(f"curl -sS -H 'Authorization: Bearer {key}' -d '{body}' http://127.0.0.1:{port}/v1/chat/completions")
    assert json.loads(answer)["choices"]
    words = server.inspect(engine)["Config"]["Cmd"]
    # Two digits, never more than planned.
    assert 0 <= share - float(words[words.index("--gpu-memory-utilization") + 1]) < 0.01


def test_no_model_is_planned_onto_a_gpu_that_is_lost(server):
    server.run("stub-gpu-ctl set gpu.1.fault lost")
    status, output = plan_again()
    assert status != 0 and server.uuid(1) in output and "lost" in output


def test_a_driver_that_is_missing_is_no_server_without_gpus(server):
    server.run("stub-gpu-ctl set fault mismatch")
    try:
        status, output = plan_again()
    finally:
        server.run("stub-gpu-ctl set fault ''")
    assert status != 0 and "Driver/library version mismatch" in output
