"""The GPUs are as nobody ever set them, and the daemon starts as its distribution has it."""
from __future__ import annotations

import pytest


@pytest.fixture
def server(host):
    if not host.exists("stub-gpu-ctl"):
        pytest.skip("for the server with GPUs")
    return host


def test_nothing_is_locked_and_the_limit_is_the_boards(server):
    for number in (0, 1):
        for key in ("sm_lock", "mem_lock"):
            assert server.run(f"stub-gpu-ctl get gpu.{number}.{key}").stdout.strip() == ""
        assert server.run(f"stub-gpu-ctl get gpu.{number}.power_limit_mw").stdout.strip() in ("", "700000")
        assert server.run(f"stub-gpu-ctl get gpu.{number}.persistence").stdout.strip() == "0"


def test_the_daemon_has_its_own_command_again_and_is_at_rest(server):
    assert "--no-persistence-mode" in server.run("systemctl show -p ExecStart nvidia-persistenced.service").stdout
    assert not server.service("nvidia-persistenced").is_running
