"""A disposable server behaves like one, and cannot change the kernel of the machine that it runs on."""
from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import servers  # noqa: E402


def test_systemd_is_pid_1_and_content(host):
    assert host.file("/proc/1/comm").content_string.strip() == "systemd"
    assert host.run("systemctl is-system-running").stdout.strip() == "running"


def test_sshd_listens(host):
    assert host.socket("tcp://0.0.0.0:22").is_listening


def test_network_keys_are_writable_and_the_rest_of_the_kernel_is_not(host):
    assert host.run("sysctl -w net.ipv4.tcp_slow_start_after_idle=0").rc == 0
    for key in ("kernel.panic", "vm.swappiness", "fs.aio-max-nr"):
        before = host.run(f"sysctl -n {key}").stdout
        assert host.run(f"sysctl -w {key}=7").rc != 0
        assert host.run(f"sysctl -n {key}").stdout == before


def test_no_docker_before_a_role_brings_it(host):
    if "docker" in servers.name(host):
        pytest.skip("for the server that comes without Docker")
    assert not host.exists("docker")
    assert host.file("/var/lib/docker").listdir() == []
