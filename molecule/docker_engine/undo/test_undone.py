"""The foreign settings are back byte for byte, the container runs on, and a Docker that the role brought is at rest."""
from __future__ import annotations

import json


def test_settings_are_as_before(live):
    assert live.file("/etc/docker/daemon.json").content_string == (
        '{"registry-mirrors":   ["https://mirror.example"], "log-opts": {"tag": "{{.Name}}"}, "labels": ["site=dc1"]}')
    info = json.loads(live.run_expect([0], "docker info --format '{{json .}}'").stdout)
    assert info["LiveRestoreEnabled"] is False


def test_the_container_never_noticed(live):
    now = live.run("docker inspect -f '{{.Id}} {{.State.StartedAt}} {{.State.Pid}}' somebody").stdout.strip()
    assert now == live.file("/root/somebody").content_string.strip()


def test_packages_stay_and_are_let_go(host):
    assert host.run_expect([0], "apt-mark showhold").stdout == ""


def test_docker_that_the_role_brought_is_stopped_and_stays_installed(bare):
    assert not bare.service("docker").is_running and not bare.service("docker").is_enabled
    assert not bare.file("/etc/docker/daemon.json").exists
    assert bare.package("docker.io").is_installed
