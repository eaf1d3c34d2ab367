"""Docker on the control machine: install it where it is missing, start it where none runs, make the network."""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from . import names, packages
from .shell import MachineError, lock, run, say, until

TRIES = 3  # after dockerd and containerd were killed the first start meets a zombie containerd and fails, the second works
START_SECONDS = 60


def ready() -> bool:
    return shutil.which("docker") is not None and run(["docker", "info"], check=False).returncode == 0


def ensure() -> None:
    """Docker answers and the network exists afterwards, or MachineError says what is missing."""
    if not ready():
        with lock("docker-host"):
            if not ready():
                _refuse_what_cannot_work()
                _install()
                _start()
    _network()


def _refuse_what_cannot_work() -> None:
    found = "docker is installed but does not answer to this user" if shutil.which("docker") else "docker is not installed"
    if packages.root_prefix() is None:
        reason = run(["docker", "info"], check=False).stderr.strip().splitlines()[-1:] if shutil.which("docker") else []
        raise MachineError(
            f"Found: {found}, and user {os.environ.get('USER') or os.geteuid()} may not become root without a password"
            f"{' (' + reason[0] + ')' if reason else ''}.\n"
            "Wanted: a Docker daemon that this user may use, or the right to install and start one.\n"
            "Do one of these: run this as root; allow password-less sudo; or let an administrator run\n"
            "  apt-get install docker.io && usermod -aG docker USER   (then log in again)")
    if not shutil.which("dockerd") and not shutil.which("docker") and not shutil.which("apt-get"):
        raise MachineError("Found: docker is not installed, and this machine has no apt-get to install it with.\n"
                           "Wanted: Docker 20.10 or newer. Install it in this system's own way and run this again.")


def _install() -> None:
    packages.ensure("dockerd")
    if not shutil.which("docker"):  # from Debian 13 on the client is a package of its own
        packages.install(["docker-cli"])


def _start() -> None:
    for attempt in range(1, TRIES + 1):
        if ready():
            return
        say(f"Starting the Docker daemon (try {attempt} of {TRIES})")
        if pathlib.Path("/run/systemd/system").is_dir():
            run((packages.root_prefix() or []) + ["systemctl", "start", "docker"], check=False)
            until(ready, START_SECONDS / TRIES)
        else:
            _start_by_hand()
    if not ready():
        raise MachineError(f"The Docker daemon did not start in {TRIES} tries. Its log: {_log_path()} "
                           "(with systemd: journalctl -u docker)")


def _log_path() -> pathlib.Path:
    return names.cache_dir() / "dockerd.log"


def _start_by_hand() -> None:
    """PID 1 is not systemd: start dockerd in a session of its own, which outlives this program."""
    with open(_log_path(), "a", encoding="utf-8") as log:
        daemon = subprocess.Popen((packages.root_prefix() or []) + ["dockerd"], stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, start_new_session=True)
    until(lambda: ready() or daemon.poll() is not None, START_SECONDS)


def _network() -> None:
    """One user-defined network for all servers. Docker allows two of one name, hence the lock."""
    inspect = ["docker", "network", "inspect", names.NETWORK]
    if run(inspect, check=False).returncode == 0:
        return
    with lock("docker-network"):
        if run(inspect, check=False).returncode != 0:
            run(["docker", "network", "create", "--label", names.OWNER_LABEL, names.NETWORK])
