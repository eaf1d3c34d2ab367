# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build libnvidia-ml.so.1 of the stub GPU unless it is there already; prints the folder that holds it."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from servers import names  # noqa: E402
from servers.shell import MachineError, lock, run, say  # noqa: E402

SONAME = "libnvidia-ml.so.1"
SOURCES = HERE / "library"
# C11 without GNU's additions: newer C libraries then give no symbol that older servers lack.
OPTIONS = ("-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra",
           "-Werror", f"-Wl,-soname,{SONAME}")


def compiler() -> str | None:
    """The C compiler of this machine."""
    return shutil.which("gcc") or shutil.which("cc")


def _sources() -> list[pathlib.Path]:
    return sorted(SOURCES.glob("*.c"))


def _hash() -> str:
    digest = hashlib.sha256("\0".join(OPTIONS).encode())
    for path in sorted(SOURCES.iterdir()):
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def ensure() -> pathlib.Path:
    """The folder of the library (fit for LD_LIBRARY_PATH), which exists afterwards."""
    folder = names.cache_dir() / "stub-gpu" / _hash()
    if (folder / SONAME).exists():
        return folder
    with lock("stub-gpu"):
        if not (folder / SONAME).exists():
            _build(folder)
    return folder


def _build(folder: pathlib.Path) -> None:
    command = compiler()
    if command is None:
        raise MachineError("Found: no C compiler on this machine. Wanted: gcc, to build the stub GPU's library "
                           "(`apt-get install gcc libc6-dev`).")
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / f"{SONAME}.{os.getpid()}"
    run([command, *OPTIONS, "-o", str(new)] + [str(path) for path in _sources()])
    new.rename(folder / SONAME)


def main() -> int:
    try:
        print(ensure())
    except MachineError as error:
        say(f"stub GPU library: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
