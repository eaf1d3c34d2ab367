"""Which of the two servers a test is for, and the role once more with other settings."""
from __future__ import annotations

import json
import os
import subprocess

import pytest


class Converge:
    """Runs converge.yml on one server."""

    def __init__(self, host):
        self.host = host
        self.name = host.backend.get_hostname()

    def run(self, **variables):
        """-> CompletedProcess with the output on one line, so that wrapped messages can be searched."""
        done = subprocess.run(
            ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--limit", self.name,
             "--extra-vars", json.dumps(variables), os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "converge.yml")],
            capture_output=True, text=True, check=False)
        done.text = " ".join((done.stdout + done.stderr).split())
        return done

    def fact(self):
        return json.loads(self.host.file("/tmp/driver.json").content_string)

    def packages(self):
        return self.host.run("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'").stdout


@pytest.fixture
def converge(host):
    return Converge(host)


@pytest.fixture
def local(host):
    if host.file("/opt/key").exists:
        pytest.skip("for the server with the folder")
    return host


@pytest.fixture
def vendor(host):
    if not host.file("/opt/key").exists:
        pytest.skip("for the server with the repository")
    return host
