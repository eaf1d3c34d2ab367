"""Docker keeps containers alive across its restarts, and got there without touching one."""
from __future__ import annotations

import json

ULIMIT = "docker run --rm --network none test-sleep:1 /bin/sh -c 'ulimit -Hn'"


def info(host):
    return json.loads(host.run_expect([0], "docker info --format '{{json .}}'").stdout)


def config(host):
    return json.loads(host.file("/etc/docker/daemon.json").content_string)


def somebody(host):
    return host.run("docker inspect -f '{{.Id}} {{.State.StartedAt}} {{.State.Pid}}' somebody").stdout.strip()


def held(host):
    return set(host.run_expect([0], "apt-mark showhold").stdout.split())


def test_the_running_daemon_has_live_restore(host):
    assert info(host)["LiveRestoreEnabled"] is True
    assert host.service("docker").is_enabled and host.service("docker").is_running


def test_modules_of_community_docker_find_requests(host):
    host.run_expect([0], "/usr/bin/python3 -c 'import requests'")


def test_docker_is_held_at_its_version(host):
    assert {"docker.io", "containerd", "runc"} <= held(host)


def test_ids_and_start_times_of_running_containers_are_unchanged(live):
    assert somebody(live) == live.file("/root/somebody").content_string.strip()


def test_report_19_foreign_settings_keep_their_bytes_and_their_order(live):
    text = live.file("/etc/docker/daemon.json").content_string
    assert text.startswith(
        '{"registry-mirrors":   ["https://mirror.example"], '
        '"log-opts": {"tag": "{{.Name}}", "max-size": "100m", "max-file": "3"}, "labels": ["site=dc1"], "live-restore": true')
    assert list(config(live)) == ["registry-mirrors", "log-opts", "labels", "live-restore", "default-ulimits", "runtimes"]
    assert live.file("/etc/docker/daemon.json").mode == 0o644


def test_the_toolkit_of_a_directory_has_the_pinned_version_and_is_held(live):
    names = {"nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1"}
    assert {live.package(name).version for name in names} == {"1.18.2-1"}  # a newer one lies there too
    assert names <= held(live)
    assert not live.package("unrelated").is_installed


def test_a_docker_without_cdi_got_the_runtime_by_reload(live):
    assert "nvidia" in info(live)["Runtimes"] and info(live)["DefaultRuntime"] == "runc"
    done = live.run_expect([0], "docker run --rm --network none --runtime nvidia test-sleep:1 /bin/sh -c 'echo works'")
    assert done.stdout.strip() == "works"


def test_a_restart_of_docker_keeps_the_container(live):
    live.run_expect([0], "systemctl reset-failed docker; systemctl restart docker")
    assert somebody(live) == live.file("/root/somebody").content_string.strip()


def test_default_limits_are_lowered_to_what_a_container_can_get(live):
    """After the restart, which loads them. What was asked for keeps a container from starting."""
    granted = config(live)["default-ulimits"]["nofile"]["Hard"]
    assert 0 < granted < 2000000000
    assert live.run_expect([0], ULIMIT).stdout.strip() == str(granted)
    assert live.run(ULIMIT.replace("--rm", "--rm --ulimit nofile=2000000000")).rc != 0


def test_fresh_docker_runs_with_every_setting(bare):
    assert config(bare) == {"live-restore": True, "log-opts": {"max-size": "100m", "max-file": "3"}}
    # Nothing ran, so the daemon was restarted for the log limits: it is younger than the file.
    started = bare.run("stat -c %Y /run/docker.pid").stdout.strip()
    written = bare.run("stat -c %Y /etc/docker/daemon.json").stdout.strip()
    assert int(started) >= int(written)


def test_no_gpu_no_toolkit(bare):
    assert not bare.package("nvidia-container-toolkit").is_installed
