"""What Docker would choke on stops the role before anything is written, and Docker goes on."""
from __future__ import annotations

BROKEN = '{\n  "live-restore": true,\n  "labels": ["site=dc1"],\n}\n'


def container(host):
    return host.run("docker inspect -f '{{.State.StartedAt}}' somebody").stdout


def test_report_20_malformed_file_stops_the_role_before_it_writes(live, play):
    before = container(live)
    live.run_expect([0], "cp -p /etc/docker/daemon.json /root/good.json")
    live.run_expect([0], "printf %s > /etc/docker/daemon.json", BROKEN)
    try:
        code, said = play("live")
        assert code != 0
        assert "line 4, column 1" in said and "/etc/docker/daemon.json" in said
        assert "changed=0" in said
        assert live.file("/etc/docker/daemon.json").content_string == BROKEN
        assert live.service("docker").is_running
        assert container(live) == before
    finally:
        live.run_expect([0], "mv /root/good.json /etc/docker/daemon.json")


def test_a_default_runtime_without_its_binary_is_not_written(live, play):
    """Docker would accept it and start no container any more."""
    before, text = container(live), live.file("/etc/docker/daemon.json").content_string
    code, said = play("live", docker_engine_daemon_config={"default-runtime": "ghost", "runtimes": {"ghost": {"path": "/opt/ghost"}}})
    assert code != 0 and "the binary of runtime ghost (/opt/ghost) does not exist" in " ".join(said.split()) and "changed=0" in said
    assert live.file("/etc/docker/daemon.json").content_string == text
    assert live.service("docker").is_running and container(live) == before
