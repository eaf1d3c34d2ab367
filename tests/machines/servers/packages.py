"""Debian packages that the control machine needs, installed when their command is missing."""
from __future__ import annotations

import os
import shutil

from .shell import MachineError, lock, run, say

PACKAGES = {"git": "git", "shellcheck": "shellcheck", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "curl": "curl",
            "mmdebstrap": "mmdebstrap", "dockerd": "docker.io"}


def root_prefix() -> list[str] | None:
    """How to become root without being asked for a password; None where that is impossible."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and run(["sudo", "-n", "true"], check=False).returncode == 0:
        return ["sudo", "-n"]
    return None


def ensure(*commands: str) -> None:
    """The commands are there afterwards, or MachineError says which package to install."""
    with lock("packages"):
        missing = sorted({PACKAGES[command] for command in commands if not shutil.which(command)})
        if missing:
            install(missing)


def install(names: list[str]) -> None:
    """Install packages of the distribution, without what they only recommend."""
    root = root_prefix()
    if root is None or not shutil.which("apt-get"):
        raise MachineError(f"Found: no {', '.join(names)}. Wanted: these packages; install them and run this again "
                           "(root on a Debian machine has it done automatically).")
    say(f"Installing {', '.join(names)} on this machine")
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
    run(apt + ["update"])
    run(apt + ["install", "--no-install-recommends"] + names)
