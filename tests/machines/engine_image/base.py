# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image below the engine images: Debian 12 with its Python 3.11, from Debian's packages only.

Both engines (vLLM and the stub) stand on it, so a server that holds both stores it once.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
import time

from servers import docker_host, image, names, packages
from servers.shell import MachineError, lock, run, say

TAG = "indiaai-test/python:12"
PACKAGES = (
    "python3",
    "python3-venv",  # brings the pip that installs the wheels
    "libnuma1",  # vLLM's CPU worker asks it about memory nodes
)
# An image has no reader for manuals and one language.
EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*")


def inputs_hash(*parts: str | bytes | pathlib.Path) -> str:
    """Hash of texts, bytes and files, in this order; a file counts with its name and content."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, pathlib.Path):
            part = part.name.encode() + b"\0" + part.read_bytes()
        elif isinstance(part, str):
            part = part.encode()
        digest.update(str(len(part)).encode() + b"\0" + part)
    return digest.hexdigest()[:16]


def changes(inputs: str, *more: str) -> list[str]:
    """The ``-c`` arguments of ``docker import`` and ``docker commit``: our labels, then ``more`` instructions."""
    key, value = names.OWNER_LABEL.split("=")
    lines = (f'LABEL {key}="{value}"', f'LABEL {names.INPUTS_LABEL}="{inputs}"') + more
    return [word for line in lines for word in ("-c", line)]


def build_once(tag: str, inputs: str, build) -> bool:
    """Call ``build()`` unless the image ``tag`` exists with these inputs. Returns whether it was built now."""
    docker_host.ensure()
    if image.current(tag, inputs):
        return False
    with lock("image-" + tag.replace("/", "-").replace(":", "-")):
        if image.current(tag, inputs):
            return False
        started = time.monotonic()
        say(f"Building {tag}")
        build()
        say(f"Built {tag} in {time.monotonic() - started:.0f} s")
    return True


def base_hash() -> str:
    return inputs_hash(names.SUITE, *PACKAGES, *EXCLUDED)


def ensure() -> str:
    """The tag of the base image, which exists afterwards."""
    build_once(TAG, base_hash(), _build)
    return TAG


def _build() -> None:
    if os.geteuid() != 0:
        raise MachineError("Found: a user other than root. Wanted: root, to build the engines' base image with mmdebstrap "
                           "(once; afterwards the image is kept by Docker).")
    packages.ensure("mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="indiaai-base-") as work:
        archive = os.path.join(work, "base.tar")
        run(["mmdebstrap", "--quiet", "--variant=minbase", "--include=" + ",".join(PACKAGES), "--dpkgopt=force-unsafe-io"]
            + [f"--dpkgopt=path-exclude={path}" for path in EXCLUDED] + [names.SUITE, archive])
        run(["docker", "import"] + changes(base_hash(), 'CMD ["python3"]') + [archive, TAG])
