"""Which of the two servers a test is for, and the role again and again with other settings."""
from __future__ import annotations

import base64
import json
import os
import re
import subprocess

import pytest


class Attempts:
    """Runs attempts.yml on one server, once for all attempts."""

    def __init__(self, host):
        self.host = host

    def run(self, **attempts):
        """name: {"machine", "vars", "ready"} -> ({name: {"failed", "msg", "required", "reason"}}, output, whether anything changed)."""
        listed = [dict(attempt, name=name) for name, attempt in attempts.items()]
        done = subprocess.run(
            ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--extra-vars",
             json.dumps({"attempts": listed, "attempt_host": self.host.backend.get_hostname()}),
             os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "attempts.yml")],
            capture_output=True, text=True, check=False)
        text = " ".join((done.stdout + done.stderr).split())
        found = re.search(r"OUTCOME ([A-Za-z0-9+/= ]+) END", text)
        assert done.returncode == 0 and found, text
        return json.loads(base64.b64decode(found.group(1).replace(" ", ""))), text, "changed=0" not in text

    def packages(self):
        return self.host.run("dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\\n'").stdout


@pytest.fixture
def attempts(host):
    return Attempts(host)


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
