"""What the tests of a whole site share: the server's address, its certificate and key, and a second run of the play."""
from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

from tests.support import servers

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Site:
    """A server that site.yml has set up, seen from outside. `host` is testinfra's handle on the container of that name."""

    def __init__(self, host, folder):
        self.host = host
        self.name = servers.name(host)
        self.address = servers.address(self.name)
        self.plan = json.loads(self.read("/etc/indiaai-inference/plan.json"))
        self.engine = self.plan["engines"][0]
        self.certificate = str(pathlib.Path(folder, "server.pem"))
        pathlib.Path(self.certificate).write_text(self.read("/etc/indiaai-inference/tls/server.crt"), encoding="utf-8")
        self.key = self.read("/etc/indiaai-inference/keys/demo.key").strip()

    def read(self, path):
        return self.run("cat", path)

    def run(self, *argv):
        """Run a command on the server that must succeed; its standard output."""
        done = subprocess.run(["docker", "exec", self.name, *argv], text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def usage_rows(self):
        return json.loads(self.run("docker", "exec", "inference-gateway", "python3", "-m", "indiaai_gateway", "usage", "--json"))

    def engine_started(self):
        return self.run("docker", "inspect", "-f", "{{.Id}} {{.State.StartedAt}}", self.engine["container"]).strip()


def playbook(name, *arguments):
    """Run a playbook of the checkout on the scenario's inventory; (exit status, output)."""
    done = subprocess.run(
        ["ansible-playbook", "-i", os.environ["MOLECULE_INVENTORY_FILE"], str(ROOT / "playbooks" / f"{name}.yml"), *arguments],
        text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=os.environ["MOLECULE_EPHEMERAL_DIRECTORY"],
    )
    return done.returncode, done.stdout


def variables(server):
    """What the scenario's inventory says of a server, not yet templated."""
    command = ["ansible-inventory", "-i", os.environ["MOLECULE_INVENTORY_FILE"], "--host", server]
    return json.loads(subprocess.run(command, text=True, check=True, capture_output=True).stdout)


def changed(output):
    """Number of changed tasks in a play's recap, summed over hosts."""
    return sum(int(number) for number in re.findall(r"changed=(\d+)", output))


def changed_tasks(output):
    """Names of the tasks that reported a change, for a failure's message."""
    task, found = "", []
    for line in output.splitlines():
        if line.startswith(("TASK [", "RUNNING HANDLER [")):
            task = line.split("[", 1)[1].split("]")[0]
        elif line.startswith("changed:"):
            found.append(task)
    return found
