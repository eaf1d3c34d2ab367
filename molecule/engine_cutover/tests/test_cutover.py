"""Engines of somebody else: stopped as a whole and gently, kept, put back as they were. Stubs play them, the rest is real."""
from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

SCENARIO = pathlib.Path(__file__).resolve().parents[1]
URLS = {"chat": "http://127.0.0.1:8000", "embed": "http://127.0.0.1:8001"}


class Server:
    """The server's old engines."""

    def __init__(self, host):
        self.host = host

    def run(self, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout.strip()

    def container(self):
        return self.run("docker inspect -f '{{.State.Running}} {{.HostConfig.RestartPolicy.Name}}' old-llm").split()

    def unit(self):
        return self.run("systemctl show -p ActiveState,UnitFileState --value old-embed.service").split()

    def listening(self):
        return {int(line.split()[3].rsplit(":", 1)[1]) for line in self.run("ss -Hltn").splitlines()}

    def answers(self, model):
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
        return self.run(f"curl -sS -o /dev/null -w '%{{http_code}}' -d '{body}' {URLS[model]}/v1/chat/completions") == "200"


@pytest.fixture
def server(host):
    return Server(host)


def play(name, **extra):
    """Run a playbook of this scenario -> (exit status, output)."""
    argv = ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--extra-vars", json.dumps(extra), str(SCENARIO / name)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


def assert_away(server):
    assert server.container() == ["false", "no"]
    assert server.unit() == ["inactive", "disabled"]
    assert not server.listening() & {8000, 8001}


def assert_back(server):
    assert server.container() == ["true", "always"]
    assert server.unit() == ["active", "enabled"]
    assert server.answers("chat") and server.answers("embed")


def test_both_are_away_and_still_there(server):
    assert_away(server)
    assert server.run("docker ps -aq --filter name=old-llm")
    assert server.host.file("/etc/systemd/system/old-embed.service").exists


def test_the_journal_knows_what_they_were(server):
    lines = [json.loads(line) for line in server.run("cat /var/lib/indiaai-inference/undo/journal.jsonl").splitlines()]
    recorded = {line["id"] for line in lines if line["op"] == "record" and line["role"].startswith("engine_cutover")}
    assert {"container old-llm", "unit old-embed.service"} <= recorded


def test_put_back_refused_without_permission_and_away_again_after_the_running_request(server):
    status, output = play("entry.yml", entry="put_back")
    assert status == 0, output
    assert_back(server)

    status, output = play("converge.yml", inference_cutover=False)
    assert status != 0
    assert "may not be stopped; set inference_cutover: true" in output
    assert_back(server)

    body = json.dumps({"model": "chat", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "stub": {"first_token_seconds": 15}})
    server.run(f"(curl -sS -o /dev/null -w '%{{http_code}}' -d '{body}' {URLS['chat']}/v1/chat/completions > /tmp/answer 2>&1 &) ; sleep 0.5")
    status, output = play("converge.yml")
    assert status == 0, output
    assert server.host.file("/tmp/answer").content_string == "200", "the running request was cut"
    assert_away(server)
    server.run("rm /tmp/answer")


def test_after_a_confirmation_a_failed_run_brings_nothing_back(server):
    status, output = play("entry.yml", entry="confirm")
    assert status == 0 and "changed=1" in output, output
    for entry in ("confirm", "put_back"):
        status, output = play("entry.yml", entry=entry)
        assert status == 0 and "changed=0" in output, output
    assert_away(server)


def test_who_still_holds_the_port_is_named(server):
    server.run("docker start old-llm")
    # The kernel lets two programs listen on one port of two loopback addresses.
    server.run("systemd-run --unit=squatter python3 -m http.server --bind 127.0.0.2 8000")
    try:
        status, output = play("converge.yml", engine_cutover_free_seconds=2)
        assert status != 0
        assert "port 8000 is still held by python3 (pid" in output
    finally:
        server.run("systemctl stop squatter")
    status, output = play("converge.yml")
    assert status == 0, output
    assert_away(server)
