"""The gateway as clients, the web server and an intruder on the host meet it, with the stub in the engine's place."""
from __future__ import annotations

import json
import os
import subprocess
import textwrap
import time

import pytest

SOCKET = "/run/indiaai-inference/gateway/gateway.sock"
CONTAINER = "inference-gateway"
CLIENT = textwrap.dedent("""
    import http.client, json, socket, sys
    class Connection(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(20)
            self.sock.connect("%s")
    method, path, key, body = sys.argv[1:5]
    connection = Connection("gateway")
    headers = {"X-Real-IP": "203.0.113.9"}
    if key:
        headers["Authorization"] = "Bearer " + key
    connection.request(method, path, body or None, headers)
    response = connection.getresponse()
    print(json.dumps([response.status, dict((k.lower(), v) for k, v in response.getheaders()), response.read().decode()]))
""") % SOCKET
CHAT = {"model": "demo", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 5}


def ask(host, method, path, key="", body=None, user="www-data"):
    """-> (status, headers, body) of a request over the socket by this user."""
    done = host.run("runuser -u %s -- python3 -c %s %s %s %s %s", user, CLIENT, method, path, key, json.dumps(body) if body else "")
    assert done.rc == 0, done.stderr
    return json.loads(done.stdout)


def secret(host, name):
    file = host.file(f"/etc/indiaai-inference/keys/{name}.key")
    assert (file.user, file.mode) == ("root", 0o600)
    return file.content_string.strip()


def rows(host):
    return json.loads(host.check_output(f"docker exec {CONTAINER} python3 -m indiaai_gateway usage --json"))


def inspect(host):
    return json.loads(host.check_output(f"docker inspect {CONTAINER}"))[0]


def test_ready_and_only_for_the_web_servers_group(host):
    status, _headers, body = ask(host, "GET", "/ready")
    assert status == 200 and json.loads(body)["status"] == "ready"
    refused = host.run("runuser -u nobody -- python3 -c %s GET /ready '' ''", CLIENT)
    assert refused.rc != 0 and "PermissionError" in refused.stderr


def test_a_key_is_needed_and_a_wrong_one_is_refused_in_openais_form(host):
    for key in ("", "sk-ind-wrong", secret(host, "pilot")):
        status, headers, body = ask(host, "POST", "/v1/chat/completions", key, CHAT)
        assert status == 401 and json.loads(body)["error"]["code"] == "invalid_api_key" == headers["x-gateway-error"]


@pytest.mark.parametrize("stream", [False, True])
def test_chat_and_its_usage_row(host, stream):
    status, headers, body = ask(host, "POST", "/v1/chat/completions", secret(host, "agriculture"), {**CHAT, "stream": stream})
    assert status == 200 and headers["x-stub"] == "indiaai"
    assert ("data: [DONE]" in body) == stream and "usage" not in body.split("[DONE]")[0] or not stream
    time.sleep(0.5)
    row = [row for row in rows(host) if row["request_id"] == headers["x-request-id"]][0]
    assert (row["completion_tokens"], row["estimated"], row["completed"], row["client_ip"]) == (5, 0, 1, "203.0.113.9")


def test_alias_and_models_per_key(host):
    status, _headers, body = ask(host, "POST", "/v1/chat/completions", secret(host, "agriculture"), {**CHAT, "model": "nick"})
    assert status == 200 and json.loads(body)["model"] == "nick"
    _status, _headers, body = ask(host, "GET", "/v1/models", secret(host, "health"))
    assert [item["id"] for item in json.loads(body)["data"]] == ["away"]
    status, _headers, body = ask(host, "POST", "/v1/chat/completions", secret(host, "health"), CHAT)
    assert status == 404 and json.loads(body)["error"]["code"] == "model_not_found"


def test_an_engine_that_is_not_there_is_503(host):
    status, headers, _body = ask(host, "POST", "/v1/chat/completions", secret(host, "health"), {**CHAT, "model": "away"})
    assert status == 503 and int(headers["retry-after"]) >= 1


def test_the_container_can_do_little(host):
    found = inspect(host)
    settings = found["HostConfig"]
    assert settings["ReadonlyRootfs"] and settings["NetworkMode"] == "host" and not settings["Privileged"]
    assert [name.lower() for name in settings["CapDrop"]] == ["all"] and "no-new-privileges" in settings["SecurityOpt"]
    assert settings["RestartPolicy"]["Name"] == "unless-stopped" and settings["Memory"] == 1024 * 1024 * 1024
    assert found["Image"] == found["Config"]["Image"]  # pinned by its id
    status = host.check_output(f"docker exec {CONTAINER} cat /proc/1/status")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    assert int(fields["CapEff"], 16) == 0 and fields["NoNewPrivs"].strip() == "1" and fields["Uid"].split()[0] != "0"


def test_nothing_listens_on_tcp(host):
    listeners = [line.split() for line in host.check_output("ss -Hltnp").splitlines()]
    assert [line[3] for line in listeners if "python3" in line[-1]] == ["127.0.0.1:30000"]  # the stub


def test_no_secret_is_where_it_does_not_belong(host):
    secrets = [secret(host, name) for name in ("agriculture", "health", "pilot")] + ["engine-key-of-demo"]
    ask(host, "POST", "/v1/chat/completions", secrets[0], CHAT)
    places = [
        host.check_output(f"docker inspect {CONTAINER}"),
        host.check_output(f"docker logs {CONTAINER} 2>&1"),
        host.check_output("ps axww -o args | grep -v stub_engine"),
        host.check_output("journalctl --no-pager -o cat"),
        host.check_output("cat /etc/indiaai-inference/gateway/gateway.json"),
    ]
    for text in places:
        for value in secrets:
            assert value not in text
    keys = host.file("/etc/indiaai-inference/gateway/engine-keys/demo.key")
    assert (keys.user, keys.group, keys.mode) == ("root", "indiaai-gateway", 0o640)


def test_the_gateway_comes_back_with_its_keys_and_rows(host):
    before = len(rows(host))
    host.check_output(f"docker restart {CONTAINER}")
    for _unused in range(60):
        if host.run("runuser -u www-data -- python3 -c %s GET /ready '' ''", CLIENT).stdout.startswith("[200"):
            break
        time.sleep(0.5)
    assert ask(host, "POST", "/v1/chat/completions", secret(host, "agriculture"), CHAT)[0] == 200
    assert len(rows(host)) >= before > 0


def converge(**variables):
    """The same playbook with other values -> its output."""
    scenario = os.environ["MOLECULE_SCENARIO_DIRECTORY"]
    done = subprocess.run(
        ["ansible-playbook", "--diff", "-vv", "-i", os.environ["MOLECULE_INVENTORY_FILE"], "-e", json.dumps(variables), f"{scenario}/converge.yml"],
        capture_output=True, text=True, check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_change_is_reloaded_without_a_restart_and_without_a_secret_in_the_output(host):
    before = inspect(host)["State"]["StartedAt"]
    digest = json.loads(ask(host, "GET", "/ready")[2])["config"]
    output = converge(
        api_gateway_idle_seconds=99,
        api_gateway_keys=[{"name": "agriculture", "models": ["demo"]}, {"name": "health", "state": "absent"}, {"name": "newcomer"}],
    )
    assert inspect(host)["State"]["StartedAt"] == before
    assert json.loads(ask(host, "GET", "/ready")[2])["config"] != digest
    newcomer = secret(host, "newcomer")
    assert newcomer not in output and "sk-ind-" not in output and "engine-key-of-demo" not in output
    assert not host.file("/etc/indiaai-inference/keys/health.key").exists
    time.sleep(2)
    assert ask(host, "POST", "/v1/chat/completions", newcomer, CHAT)[0] == 200
    _status, _headers, body = ask(host, "GET", "/v1/models", secret(host, "agriculture"))
    assert [item["id"] for item in json.loads(body)["data"]] == ["demo", "nick"]
