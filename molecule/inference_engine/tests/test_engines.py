"""The planned engines on a server: they answer whom they should, and a change that fails puts back what ran. The stub obeys, the rest is real."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

ENGINES = "/etc/indiaai-inference/engines"
PORTS = {"team-one": 30000, "two": 30001}
CONVERGE = pathlib.Path(__file__).resolve().parents[1] / "converge.yml"
MODELS = [
    {"name": "Team/One", "engine": "vllm", "source": "/srv/models/one", "aliases": ["one"], "max_running_requests": 4},
    {"name": "two", "engine": "vllm", "source": "/srv/models/two", "context_length": 4096, "args": {"seed": 7}},
]


class Server:
    """The server's engines, as their users and its operator see them."""

    def __init__(self, host):
        self.host = host

    def run(self, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout

    def key(self, slug):
        return self.run(f"cat {ENGINES}/{slug}.key").strip()

    def chat(self, slug, model, key=None):
        """(status, body) of a request with one token."""
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
        header = f"-H 'Authorization: Bearer {key}'" if key else ""
        answer = self.run(f"curl -sS {header} -w '\\n%{{http_code}}' -d '{body}' http://127.0.0.1:{PORTS[slug]}/v1/chat/completions")
        text, status = answer.rsplit("\n", 1)
        return int(status), text

    def lives(self):
        """When each engine's container was started."""
        names = self.run("docker ps --filter label=indiaai.inference.managed=true --format '{{.Names}}'").split()
        return {name: self.run(f"docker inspect -f '{{{{.Id}}}} {{{{.State.StartedAt}}}}' {name}") for name in names}


@pytest.fixture
def server(host):
    return Server(host)


def play(**extra):
    """Run the role again with these variables -> (exit status, output)."""
    argv = ["ansible-playbook", "--diff", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--extra-vars", json.dumps(extra), str(CONVERGE)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def test_who_has_the_key_gets_an_answer(server):
    status, text = server.chat("team-one", "Team/One", server.key("team-one"))
    assert status == 200 and json.loads(text)["choices"]
    assert server.chat("team-one", "one", server.key("team-one"))[0] == 200
    assert server.chat("two", "two", server.key("two"))[0] == 200


def test_nobody_else_does(server):
    assert server.chat("two", "two")[0] == 401
    assert server.chat("two", "two", server.key("team-one"))[0] == 401


def test_the_engines_listen_on_loopback_alone(server):
    listening = server.run("ss -Hltn")
    for port in PORTS.values():
        addresses = [line.split()[3] for line in listening.splitlines() if line.split()[3].endswith(f":{port}")]
        assert addresses == [f"127.0.0.1:{port}"]


def test_the_key_shows_nowhere(server):
    key = server.key("team-one")
    for command in ("ps axwwe -o args", "docker inspect inference-team-one", "docker logs inference-team-one 2>&1", f"cat {ENGINES}/team-one.json",
                    "cat /etc/indiaai-inference/plan.json", "journalctl --no-pager -u 'inference-engine@*'"):
        assert key not in server.run(command), command
    for name in ("team-one.key", "team-one.secret.yaml", "team-one.json"):
        file = server.host.file(f"{ENGINES}/{name}")
        assert (file.user, file.mode) == ("root", 0o600), name
    assert server.host.file(ENGINES).mode == 0o700


def test_the_command_line_is_the_plans(server):
    (found,) = json.loads(server.run("docker inspect inference-two"))
    assert found["Config"]["Cmd"] == [
        "--model", "/model", "--served-model-name", "two", "--host", "127.0.0.1", "--port", "30001", "--config", "/run/secrets/engine.yaml",
        "--max-model-len", "4096", "--shutdown-timeout", "15", "--enforce-eager", "--seed", "7",
    ]
    assert found["HostConfig"]["DeviceRequests"] in (None, [])


def test_the_units_come_up_at_boot(server):
    assert server.run("systemctl is-enabled inference-engine@team-one.service inference-engine@two.service").split() == ["enabled", "enabled"]


def test_the_image_is_recorded(server):
    lock = json.loads(server.run("cat /etc/indiaai-inference/inference.lock.json"))
    image_id = server.run("docker image inspect -f '{{.Id}}' indiaai-test/stub-engine:1").strip()
    assert {slug: entry["image_id"] for slug, entry in lock["images"].items()} == {"team-one": image_id, "two": image_id}


def test_an_engine_that_does_not_get_ready_is_replaced_by_the_earlier_one(server):
    before, key = server.lives(), server.key("two")
    broken = dict(MODELS[1], env={"STUB_SCRIPT": json.dumps({"crash_after_seconds": 1, "crash_code": 3, "load_seconds": 30})})
    status, output = play(inference_models=[MODELS[0], broken])
    assert status != 0
    assert "engine 'two' is not ready: it failed 2 times since it was started" in output
    assert "exit code 3" in output and "container inference-two said last:" in output and "change: " in output
    assert "two: the earlier engine is put back and answers" in output
    assert key not in output
    assert server.chat("two", "two", key)[0] == 200
    after = server.lives()
    assert after["inference-team-one"] == before["inference-team-one"], "the other engine was touched"


def test_a_new_engine_that_never_gets_ready_is_stopped_and_leaves_the_others_alone(server):
    before = server.lives()
    new = {"name": "new", "engine": "vllm", "source": "/srv/models/two", "env": {"STUB_SCRIPT": json.dumps({"never_ready": True})}}
    status, output = play(inference_models=MODELS + [new], inference_ready_timeout=3)
    assert status != 0
    assert "engine 'new' is not ready" in output and "new: stopped, since no earlier engine of this name ever answered here" in output
    assert server.run("systemctl show -p ActiveState --value inference-engine@new.service").strip() in ("inactive", "failed")
    assert server.lives() == before


def test_a_second_run_takes_away_what_is_not_planned_and_changes_nothing_else(server):
    before = server.lives()
    status, output = play()
    assert status == 0, output
    assert "new" not in server.run(f"ls {ENGINES}")
    assert server.lives() == before


def test_another_image_of_the_same_name_is_refused(server):
    before = server.lives()
    image = "indiaai-test/stub-engine:1"
    server.run(f"docker tag {image} kept:1; docker create --name changed {image}; docker commit -m changed changed {image}; docker rm changed")
    try:
        status, output = play()
        assert status != 0
        assert "was recorded as sha256:" in output and "inference_engine_accept_new_image: true" in output
        assert server.lives() == before
    finally:
        server.run(f"docker tag kept:1 {image}; docker rmi kept:1")


def test_a_model_that_is_not_there_changes_nothing(server):
    before = server.run(f"cat {ENGINES}/*.json")
    status, output = play(inference_models=[MODELS[0], dict(MODELS[1], source="/srv/models/absent")])
    assert status != 0 and "/srv/models/absent is not a folder on this host" in output, output
    assert server.run(f"cat {ENGINES}/*.json") == before


def test_an_image_comes_from_an_archive(server, tmp_path):
    """On the control node the archive holds an image that the server does not have and that no registry knows."""
    name, archive = f"indiaai-test/from-archive:{os.getpid()}", tmp_path / "image.tar"
    container = f"indiaai-test-archive-{os.getpid()}"
    try:
        subprocess.run(["docker", "create", "--name", container, "--network", "none", "indiaai-test/stub-engine:1"], check=True, capture_output=True)
        subprocess.run(["docker", "commit", "-m", "for a test", container, name], check=True, capture_output=True)
        subprocess.run(["docker", "save", "-o", str(archive), name], check=True, capture_output=True)
    finally:
        subprocess.run(["docker", "rm", "-f", container], check=False, capture_output=True)
        subprocess.run(["docker", "rmi", name], check=False, capture_output=True)
    other = server.lives()["inference-team-one"]
    models = [MODELS[0], dict(MODELS[1], image=name, image_archive=str(archive))]
    status, output = play(inference_models=models)
    assert status == 0, output
    assert server.run("docker inspect -f '{{.Config.Image}}' inference-two").strip() == name
    assert len(json.loads(server.run("cat /etc/indiaai-inference/inference.lock.json"))["images"]["two"]["archive_sha256"]) == 64
    assert not server.host.file("/var/lib/indiaai-inference/images").exists
    assert server.chat("two", "two", server.key("two"))[0] == 200
    assert server.lives()["inference-team-one"] == other
