"""What Docker would choke on stops the role before anything is written, and Docker goes on."""
from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("settings, words", [
    ({"default-runtime": "ghost", "runtimes": {"ghost": {"path": "/opt/ghost"}}}, "the binary of runtime ghost (/opt/ghost) does not exist"),
    ({"hosts": ["unix:///run/docker.sock"]}, "hosts is set by the flag -H of dockerd"),
], ids=["default runtime without a binary", "flag of the unit"])
def test_what_docker_would_accept_and_choke_on_is_not_written(live, play, settings, words):
    before, text = container(live), live.file("/etc/docker/daemon.json").content_string
    code, said = play("live", docker_engine_daemon_config=settings)
    assert code != 0 and words in " ".join(said.split()) and "changed=0" in said
    assert live.file("/etc/docker/daemon.json").content_string == text
    assert live.service("docker").is_running and container(live) == before
