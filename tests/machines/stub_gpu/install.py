# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give a running disposable server stub GPUs, change them, or take them away.

    install.py NAME [--profile h200] [--count 8]     install, or start anew with other GPUs
    install.py NAME --remove
    install.py --archive FILE                        a tar to unpack at / of another machine; then run its INSTALL line

Docker of the server is restarted when it runs: it looks only at its start whether it can give GPUs to containers.
"""
from __future__ import annotations

import argparse
import io
import pathlib
import platform
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from servers import server  # noqa: E402
from servers.shell import MachineError, run, say  # noqa: E402
from stub_gpu import build  # noqa: E402
from stub_gpu.guest.stubgpu import profiles  # noqa: E402

GUEST = HERE / "guest"
LIBRARY = f"usr/lib/{platform.machine()}-linux-gnu/{build.SONAME}"
# Path on the server: the file here.
FILES = {
    "usr/bin/nvidia-smi": GUEST / "bin" / "nvidia-smi",
    "usr/bin/nvidia-container-runtime-hook": GUEST / "bin" / "nvidia-container-runtime-hook",
    "usr/local/bin/stub-gpu-ctl": GUEST / "bin" / "stub-gpu-ctl",
    "etc/systemd/system/stub-gpu.service": GUEST / "stub-gpu.service",
    **{f"usr/local/lib/stub-gpu/stubgpu/{path.name}": path for path in sorted((GUEST / "stubgpu").glob("*.py"))},
}
FOLDERS = ("usr/local/lib/stub-gpu", "usr/local/lib/stub-gpu/stubgpu", "var/lib/stub-gpu")
CDI = "/etc/cdi/stub-gpu.yaml"

# On the server, after the archive is unpacked. $1 profile, $2 count, $3 library, $4 CDI specification
INSTALL = """set -eu
stub-gpu-ctl reset "$1" "$2"
stub-gpu-ctl set devices /dev
stub-gpu-ctl set library "$3"
stub-gpu-ctl set cdi "$4"
systemctl daemon-reload
systemctl --quiet enable stub-gpu.service
if systemctl --quiet is-active docker.service; then systemctl restart docker.service; fi
"""
# $1 library, $2 CDI specification, then the other files
REMOVE = """set -u
systemctl --quiet disable stub-gpu.service 2>/dev/null
if [ -e /run/stub-gpu/state ]; then stub-gpu-ctl set fault nodriver; fi
rm -f "$1.aside" "$@"
rm -rf /run/stub-gpu /var/lib/stub-gpu /usr/local/lib/stub-gpu
rmdir /etc/cdi 2>/dev/null
systemctl daemon-reload
if systemctl --quiet is-active docker.service; then systemctl restart docker.service; fi
"""


def archive() -> bytes:
    """A tar of everything, to unpack at /."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder in FOLDERS:
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for name, path in {LIBRARY: build.ensure() / build.SONAME, **FILES}.items():
            data = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o755 if path.stat().st_mode & 0o100 else 0o644
            tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _shell(container: str, script: str, *words: str) -> None:
    run(["docker", "exec", container, "sh", "-c", script, "sh", *words])


def install(name: str, profile: str, count: int) -> None:
    container = server.find(name)["container"]
    copied = subprocess.run(["docker", "cp", "-", f"{container}:/"], input=archive(), capture_output=True, check=False)
    if copied.returncode != 0:
        raise MachineError(f"Could not copy the stub GPU into {container}: {copied.stderr.decode().strip()}")
    _shell(container, INSTALL, profile, str(count), "/" + LIBRARY, CDI)


def remove(name: str) -> None:
    _shell(server.find(name)["container"], REMOVE, "/" + LIBRARY, CDI, *("/" + path for path in FILES))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="install.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?")
    parser.add_argument("--profile", choices=profiles.NAMES, default="h200")
    parser.add_argument("--count", type=int, choices=range(1, profiles.MAX_GPUS + 1), default=profiles.MAX_GPUS)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--remove", action="store_true")
    what.add_argument("--archive", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if bool(options.name) == bool(options.archive):
        parser.error("give the name of a server, or --archive FILE")
    try:
        if options.archive:
            options.archive.write_bytes(archive())
            print(f"sh -c '{INSTALL}' sh {options.profile} {options.count} /{LIBRARY} {CDI}")
        elif options.remove:
            remove(options.name)
            say(f"{options.name}: no stub GPUs")
        else:
            install(options.name, options.profile, options.count)
            say(f"{options.name}: {options.count} stub GPUs ({options.profile})")
    except MachineError as error:
        say(f"install.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
