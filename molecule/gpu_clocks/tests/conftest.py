"""Which of the two servers a test is for, and the questions that tests ask the stub GPUs."""
from __future__ import annotations

import pytest
import testinfra


class Server:
    """The server with the GPUs. Straight through Docker: these tests ask often."""

    def __init__(self, host):
        self.host = testinfra.get_host("docker://" + host.backend.host)

    def run(self, command):
        done = self.host.run(command)
        assert done.rc == 0, f"{command}: {done.stdout} {done.stderr}"
        return done.stdout.strip()

    def gpu(self, number, key):
        """One key of one stub GPU; empty for a lock that is not there."""
        return self.host.run(f"stub-gpu-ctl get gpu.{number}.{key}").stdout.strip()

    def locked(self):
        return [self.gpu(number, "sm_lock") for number in (0, 1)] == ["1980 1980"] * 2

    def reboot(self, fault=""):
        """What a reboot does to GPUs and to /run, without the reboot. The daemon and the unit have not been started yet."""
        self.run("systemctl stop gpu-init.service nvidia-persistenced.service")
        self.run(f"stub-gpu-ctl set fault '{fault}' && stub-gpu-ctl reboot && rm -f /run/indiaai-inference/gpu-clocks.json")
        assert not self.locked() and self.gpu(0, "persistence") == "0"


@pytest.fixture
def server(host):
    if not host.exists("stub-gpu-ctl"):
        pytest.skip("for the server with GPUs")
    return Server(host)


@pytest.fixture
def bare(host):
    if host.exists("stub-gpu-ctl"):
        pytest.skip("for the server without a GPU")
    return host
