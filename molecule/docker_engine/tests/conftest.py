"""Which of the two servers a test is for, and another run of the role."""
from __future__ import annotations

import json
import os
import subprocess

import pytest


@pytest.fixture
def live(host):
    if not host.file("/root/somebody").exists:
        pytest.skip("for the server that had Docker")
    return host


@pytest.fixture
def bare(host):
    if host.file("/root/somebody").exists:
        pytest.skip("for the server that the role brought Docker to")
    return host


@pytest.fixture
def play():
    """Run a playbook of this scenario on one group -> (exit status, all that it said)."""
    def run(group, playbook="converge.yml", **variables):
        done = subprocess.run(
            ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--limit", group,
             "--extra-vars", json.dumps(variables), os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], playbook)],
            capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    return run
