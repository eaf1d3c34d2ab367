"""A daemon.json that is not valid stops the role before anything is written, and Docker goes on."""
from __future__ import annotations

import os
import subprocess

BROKEN = '{\n  "live-restore": true,\n  "labels": ["site=dc1"],\n}\n'


def converge():
    return subprocess.run(
        ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--limit", "live",
         os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "converge.yml")],
        capture_output=True, text=True, check=False)


def test_malformed_file_stops_the_role(live):
    container = live.run("docker inspect -f '{{.State.StartedAt}}' somebody").stdout
    live.run_expect([0], "cp -p /etc/docker/daemon.json /root/good.json")
    live.run_expect([0], "printf %s > /etc/docker/daemon.json", BROKEN)
    try:
        done = converge()
        assert done.returncode != 0
        assert "line 4, column 1" in done.stdout + done.stderr and "/etc/docker/daemon.json" in done.stdout + done.stderr
        assert "changed=0" in done.stdout
        assert live.file("/etc/docker/daemon.json").content_string == BROKEN
        assert live.service("docker").is_running
        assert live.run("docker inspect -f '{{.State.StartedAt}}' somebody").stdout == container
    finally:
        live.run_expect([0], "mv /root/good.json /etc/docker/daemon.json")
