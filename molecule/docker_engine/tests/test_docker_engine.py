"""Docker keeps containers alive across its restarts, and got there without touching one."""
from __future__ import annotations

import json


def info(host):
    return json.loads(host.run_expect([0], "docker info --format '{{json .}}'").stdout)


def somebody(host):
    return host.run("docker inspect -f '{{.Id}} {{.State.StartedAt}} {{.State.Pid}}' somebody").stdout.strip()


def test_the_running_daemon_has_live_restore(host):
    assert info(host)["LiveRestoreEnabled"] is True
    assert host.service("docker").is_enabled and host.service("docker").is_running


def test_modules_of_community_docker_find_requests(host):
    host.run_expect([0], "/usr/bin/python3 -c 'import requests'")


def test_the_container_never_noticed(live):
    assert somebody(live) == live.file("/root/somebody").content_string.strip()


def test_foreign_settings_and_their_order_stay(live):
    config = json.loads(live.file("/etc/docker/daemon.json").content_string)
    assert list(config) == ["registry-mirrors", "log-opts", "labels", "live-restore"]
    assert config["registry-mirrors"] == ["https://mirror.example"] and config["labels"] == ["site=dc1"]
    assert config["log-opts"] == {"tag": "{{.Name}}", "max-size": "100m", "max-file": "3"}
    assert live.file("/etc/docker/daemon.json").mode == 0o644


def test_a_restart_of_docker_keeps_the_container(live):
    live.run_expect([0], "systemctl reset-failed docker; systemctl restart docker")
    assert somebody(live) == live.file("/root/somebody").content_string.strip()


def test_fresh_docker_runs_with_every_setting(bare):
    assert json.loads(bare.file("/etc/docker/daemon.json").content_string) == {
        "live-restore": True, "log-opts": {"max-size": "100m", "max-file": "3"}}
    # Nothing ran, so the daemon was restarted for the log limits: it is younger than the file.
    started = bare.run("stat -c %Y /run/docker.pid").stdout.strip()
    written = bare.run("stat -c %Y /etc/docker/daemon.json").stdout.strip()
    assert int(started) >= int(written)
