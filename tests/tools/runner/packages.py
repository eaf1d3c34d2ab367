"""Debian packages that a stage needs, installed when their command is missing."""
from __future__ import annotations

import os
import shutil

from servers.shell import MachineError, lock, run, say

PACKAGES = {"git": "git", "shellcheck": "shellcheck", "ssh": "openssh-client", "rsync": "rsync", "curl": "curl"}


def ensure(*commands: str) -> None:
    """The commands are there afterwards, or MachineError says which package to install."""
    with lock("packages"):
        missing = [PACKAGES[command] for command in commands if not shutil.which(command)]
        if not missing:
            return
        if os.geteuid() != 0 or not shutil.which("apt-get"):
            raise MachineError(f"Found: no {', '.join(missing)}. Wanted: these packages; install them and run this again "
                               "(root on a Debian machine has it done automatically).")
        say(f"Installing {', '.join(missing)}")
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
        run(apt + ["update"])
        run(apt + ["install", "--no-install-recommends"] + missing)
