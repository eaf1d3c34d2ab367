"""Engines on a server: one after the other, adopted, restarted, drained, refused. The stub obeys, the rest is real."""
from __future__ import annotations

import json
import time

import pytest
import testinfra

KEY = "0123456789abcdef"
PORTS = {"one": 30001, "two": 30002, "never": 30003, "foreign": 30004}
ENGINES = "/etc/indiaai-inference/engines"
RUN = "/run/indiaai-inference"


class Server:
    """The server's engines, asked through systemd, Docker and inferctl."""

    def __init__(self, host):
        self.host = host

    def run(self, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}\n{self.journal()}"
        return done.stdout

    def journal(self):
        return self.host.run("journalctl --no-pager -n 60 -o short-precise -u 'inference-engine@*'").stdout

    def unit(self, slug, *names):
        shown = self.run(f"systemctl show --property={','.join(names)} inference-engine@{slug}.service")
        values = dict(line.split("=", 1) for line in shown.splitlines())
        return values[names[0]] if len(names) == 1 else [values[name] for name in names]

    def life(self, slug):
        return self.run(f"docker inspect -f '{{{{.State.StartedAt}}}} {{{{.State.Pid}}}}' inference-{slug}").strip()

    def wait(self, what, seconds=30):
        end = time.monotonic() + seconds
        while True:
            found = what()
            if found:
                return found
            assert time.monotonic() < end, "not in time\n" + self.journal()
            time.sleep(0.3)

    def wait_active(self, slug, seconds=30):
        self.wait(lambda: self.unit(slug, "ActiveState") == "active", seconds)

    def script(self, slug, **script):
        """Tell the stub what to do from now on."""
        self.run(f"curl -sSf -X PUT -d '{json.dumps(script)}' http://127.0.0.1:{PORTS[slug]}/stub/script")

    def failure(self, slug):
        file = self.host.file(f"{RUN}/{slug}.failure.json")
        return json.loads(file.content_string) if file.exists else None

    def kill_inferctl(self, slug):
        self.run(f"systemctl kill --signal=KILL --kill-whom=main inference-engine@{slug}.service")


@pytest.fixture
def server(host):
    """Both engines ready, with their whole restart budget."""
    # straight through Docker: these tests ask often, and an Ansible module for each question takes most of their time
    server = Server(testinfra.get_host("docker://" + host.backend.host))
    server.run("systemctl reset-failed && systemctl start inference-engine@one.service inference-engine@two.service")
    return server


def moment(server, slug, text):
    """When inferctl said it first, in seconds."""
    lines = server.run(f"journalctl --no-pager -o short-unix -u inference-engine@{slug}.service").splitlines()
    return float(next(line for line in lines if line.endswith(text)).split()[0])


def test_engines_on_one_device_load_one_after_the_other(server):
    spans = sorted((moment(server, slug, ": container started (create)"), moment(server, slug, ": ready")) for slug in ("one", "two"))
    assert spans[0][1] - spans[0][0] >= 0.5, "loading takes its time"
    assert spans[1][0] >= spans[0][1], "the second began before the first was ready"


def test_the_units_are_well_formed(server):
    done = server.host.run("systemd-analyze verify /etc/systemd/system/inference-engine@.service /etc/systemd/system/ai-stack.target")
    assert (done.rc, done.stderr) == (0, "")
    assert server.run("systemctl is-enabled ai-stack.target inference-engine@one.service").split() == ["enabled", "enabled"]


def test_the_container_is_confined_and_holds_no_secret(server):
    (found,) = json.loads(server.run("docker inspect inference-one"))
    config = found["HostConfig"]
    assert config["CapDrop"] == ["ALL"] and "no-new-privileges" in config["SecurityOpt"]
    assert config["RestartPolicy"]["Name"] == "no" and config["NetworkMode"] == "host" and not config["Privileged"]
    assert all(not mount["RW"] for mount in found["Mounts"])
    assert KEY not in json.dumps(found)
    assert KEY not in server.run("ps axww -o args")
    assert server.host.socket("tcp://127.0.0.1:30001").is_listening and not server.host.socket("tcp://0.0.0.0:30001").is_listening


def test_status_for_people_and_programs(server):
    document = json.loads(server.run("inferctl status --json"))
    engines = {engine["slug"]: engine for engine in document["engines"]}
    assert set(engines) == {"one", "two", "never", "foreign"}
    one = engines["one"]
    assert one["healthy"] and one["active"] == "active" and one["config_current"] and one["container"]["running"] and not one["warnings"]
    assert not engines["never"]["healthy"] and engines["never"]["active"] == "inactive"
    assert "serving_plan has not run" in " ".join(document["notes"])
    header, first = server.run("inferctl status").splitlines()[:2]
    assert header.startswith("ENGINE") and first.split()[0] == "foreign"


def test_status_without_the_right_to_it(server):
    done = server.host.run("setpriv --reuid=65534 --clear-groups inferctl status")
    assert done.rc == 77 and "Run it as root" in done.stderr


def test_a_killed_inferctl_leaves_the_engine_alone_and_the_next_adopts_it(server):
    life, before = server.life("one"), server.unit("one", "MainPID")
    server.kill_inferctl("one")
    server.wait(lambda: server.unit("one", "MainPID") not in (before, "0"))
    server.wait_active("one")
    assert server.life("one") == life
    assert "adopted" in server.journal()


def test_a_restart_of_docker_changes_nothing(server):
    before = [server.life(slug) for slug in ("one", "two")] + [server.unit(slug, "MainPID", "ActiveState") for slug in ("one", "two")]
    server.run("systemctl restart docker")
    server.run("docker info")
    time.sleep(2)
    assert [server.life(slug) for slug in ("one", "two")] + [server.unit(slug, "MainPID", "ActiveState") for slug in ("one", "two")] == before


def test_an_engine_that_crashes_is_started_again_after_a_pause_and_the_other_is_left_alone(server):
    other, before = server.life("two"), server.life("one")
    server.script("one", crash_after_seconds=0, crash_code=3)
    failure = server.wait(lambda: server.failure("one"))
    assert failure["reason"] == "the container ended with exit code 3" and failure["attempt"] == 1
    server.wait_active("one")
    assert server.life("one") != before and server.life("two") == other
    assert "failures within 600 s: 1; waiting 1 s" in server.journal()
    assert server.failure("one") is None


def test_a_hung_engine_is_stopped_and_started_again(server):
    before = server.life("two")
    server.script("two", hang_after_seconds=0)
    failure = server.wait(lambda: server.failure("two"))
    assert failure["reason"].startswith("hung: no healthy answer and no progress")
    server.wait_active("two")
    assert server.life("two") != before


def test_an_engine_that_never_gets_ready_fails_with_its_reason_and_log(server):
    server.run("systemctl start --no-block inference-engine@never.service")
    failure = server.wait(lambda: server.failure("never"))
    assert failure["reason"].startswith("not ready after") and "/health" in failure["reason"]
    assert failure["log_tail"] and failure["slug"] == "never"
    assert server.host.file(f"{RUN}/never.failure.json").mode == 0o600
    assert json.loads(server.run("inferctl status --json"))["engines"][1]["failure"] == failure["reason"]
    # between two tries there is no inferctl that could stop the container
    server.run("inferctl stop never")
    assert server.unit("never", "ActiveState") == "inactive" and server.failure("never") is None


def test_a_stop_lets_a_running_request_end(server):
    body = json.dumps({"model": "two", "messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "stub": {"first_token_seconds": 3}})
    server.run(f"(curl -sS -o /dev/null -w '%{{http_code}}' -H 'Authorization: Bearer {KEY}' -d '{body}' "
               "http://127.0.0.1:30002/v1/chat/completions > /tmp/answer 2>&1 &) ; sleep 0.7")
    start = time.monotonic()
    server.run("systemctl stop inference-engine@two.service")
    assert 1.5 < time.monotonic() - start < 9
    assert server.host.file("/tmp/answer").content_string == "200"
    assert server.run("docker inspect -f '{{.State.Running}} {{.State.ExitCode}}' inference-two").split()[0] == "false"


def test_an_engine_without_its_unit_is_seen_stopped_and_can_be_adopted(server):
    server.kill_inferctl("one")
    server.run("systemctl stop inference-engine@one.service")
    (one,) = [engine for engine in json.loads(server.run("inferctl status --json"))["engines"] if engine["slug"] == "one"]
    assert one["container"]["running"] and "runs without its unit" in one["warnings"][0]
    life = server.life("one")
    server.run("systemctl start inference-engine@one.service")
    assert server.life("one") == life
    server.kill_inferctl("one")
    server.run("systemctl stop inference-engine@one.service")
    assert "stopped the container inference-one" in server.run("inferctl stop one")
    assert server.run("docker inspect -f '{{.State.Running}}' inference-one").strip() == "false"


def test_a_foreign_container_is_left_alone_and_the_unit_fails_at_once(server):
    server.run("docker create --name inference-foreign --network host indiaai-test/stub-engine:1 --port 30004")
    try:
        server.run("docker start inference-foreign")
        life = server.life("foreign")
        assert server.host.run("systemctl start inference-engine@foreign.service").rc != 0
        assert server.unit("foreign", "ActiveState", "ExecMainStatus", "NRestarts") == ["failed", "78", "0"]
        assert "It is left alone" in server.failure("foreign")["reason"]
        assert server.life("foreign") == life
    finally:
        server.run("docker rm -f inference-foreign; systemctl reset-failed")


def test_a_wrong_specification_is_named_with_file_and_key(server):
    server.run(f"sed 's/\"port\": 30004/\"port\": \"x\"/' {ENGINES}/foreign.json > {ENGINES}/wrong.json")
    try:
        done = server.host.run("inferctl run wrong")
        assert done.rc == 78
        assert f"{ENGINES}/wrong.json: key 'port': found \"x\", wanted whole number" in done.stdout
    finally:
        server.run(f"rm {ENGINES}/wrong.json {RUN}/wrong.failure.json")


def test_wanted_restarts_use_up_no_budget(server):
    for unused in range(5):
        server.run("systemctl stop inference-engine@one.service && systemctl start --no-block inference-engine@one.service")
    server.wait_active("one")


def test_a_changed_specification_makes_a_new_container_at_the_next_start(server):
    old = server.run("docker inspect -f '{{.Id}}' inference-one")
    server.run(f"cp -a {ENGINES}/one.json /tmp/one.json")
    server.run(f"sed -i 's/\"devices\"/\"labels\": {{\"team\": \"x\"}}, \"devices\"/' {ENGINES}/one.json")
    try:
        (one,) = [engine for engine in json.loads(server.run("inferctl status --json"))["engines"] if engine["slug"] == "one"]
        assert not one["config_current"] and "older configuration" in one["warnings"][0]
        server.run("systemctl restart inference-engine@one.service")
        assert server.run("docker inspect -f '{{.Id}}' inference-one") != old
        assert server.run("docker inspect -f '{{index .Config.Labels \"team\"}}' inference-one").strip() == "x"
    finally:
        server.run(f"mv /tmp/one.json {ENGINES}/one.json")
