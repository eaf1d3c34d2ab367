"""After the undo the old engines serve as before, and come back at boot as before."""
from __future__ import annotations

import json


def test_the_container_runs_and_comes_back(host):
    shown = host.run("docker inspect -f '{{.State.Running}} {{.HostConfig.RestartPolicy.Name}}' old-llm")
    assert shown.stdout.split() == ["true", "always"]


def test_the_unit_runs_and_comes_back(host):
    assert host.run("systemctl show -p ActiveState,UnitFileState --value old-embed.service").stdout.split() == ["active", "enabled"]


def test_both_answer(host):
    for port, model in ((8000, "chat"), (8001, "embed")):
        body = json.dumps({"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1})
        done = host.run(f"curl -sSf -d '{body}' http://127.0.0.1:{port}/v1/chat/completions")
        assert done.rc == 0 and json.loads(done.stdout)["choices"], done.stderr


def test_nothing_of_the_cut_over_is_left(host):
    assert not host.file("/var/lib/indiaai-inference").exists
