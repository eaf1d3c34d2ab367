"""Interpreters: the one that runs now, and a second one for the other ansible-core."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

# ansible-core 2.19 is the newest that Python 3.11 can run; from 3.12 on pip takes 2.21.
OLD_CORE = ("3.11",)
NEW_CORE = ("3.13", "3.12", "3.14")


def version(python: str) -> str | None:
    """``3.11`` and so on; None where this does not run (a version manager's shim) or cannot make environments."""
    code = "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def second() -> tuple[str | None, str]:
    """Path of an interpreter for the other ansible-core, or None; and what was looked for, in words."""
    current = "%d.%d" % sys.version_info[:2]
    wanted = NEW_CORE if current in OLD_CORE else OLD_CORE
    for release in wanted:
        for candidate in _candidates(release):
            if version(candidate) == release:
                return os.path.realpath(candidate), f"Python {release}"
    return None, "Python " + " or ".join(sorted(wanted))


def _candidates(release: str) -> list[str]:
    found = [path for path in (shutil.which(f"python{release}", path=without_shims(os.environ.get("PATH", ""))),) if path]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT") or os.path.expanduser("~/.pyenv"))
    found += sorted((str(path) for path in pyenv.glob(f"versions/{release}*/bin/python{release}")), key=_by_numbers, reverse=True)
    return found


def _by_numbers(path: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path)]


def without_shims(path: str) -> str:
    """PATH without version managers' folders: Ansible's discovery and ansible-test trip over shims of missing versions."""
    return os.pathsep.join(folder for folder in path.split(os.pathsep) if folder and not re.search(r"/(\.?pyenv|\.?asdf)/", folder + "/"))
