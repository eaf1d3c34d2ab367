"""The two images that servers are made from, rebuilt when what they are built from changes."""
from __future__ import annotations

import hashlib
import os
import pathlib
import tempfile
import time

from . import names, packages
from .shell import MachineError, lock, run, say

SOURCES = pathlib.Path(__file__).resolve().parent.parent / "image"


def inputs_hash(*files: str, parent: str = "") -> str:
    """Hash of names, modes and contents of build inputs, and of what they build upon."""
    digest = hashlib.sha256(f"{names.SUITE}\0{parent}".encode())
    for name in sorted(files):
        path = SOURCES / name
        digest.update(f"\0{name}\0{path.stat().st_mode & 0o111}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def bare_hash() -> str:
    return inputs_hash("build.sh", "server-init", "ssh-host-keys.conf")


def docker_hash() -> str:
    return inputs_hash("add-docker.sh", parent=bare_hash())


def current(tag: str, wanted: str) -> bool:
    """Whether the image is there and was built from these inputs."""
    template = '{{ index .Config.Labels "' + names.INPUTS_LABEL + '" }}'
    found = run(["docker", "image", "inspect", "-f", template, tag], check=False)
    return found.returncode == 0 and found.stdout.strip() == wanted


def ensure(tag: str) -> None:
    """Build the image when it is one of ours and missing or stale; any other tag must exist already."""
    builders = {names.BARE_IMAGE: (bare_hash, _build_bare), names.DOCKER_IMAGE: (docker_hash, _build_docker)}
    if tag not in builders:
        if run(["docker", "image", "inspect", tag], check=False).returncode != 0:
            raise MachineError(f"Found: no image {tag}. Wanted: an image on this machine, or one of "
                               f"{', '.join(builders)}, which are built when needed.")
        return
    wanted, build = builders[tag]
    if current(tag, wanted()):
        return
    with lock("server-image-" + tag.replace("/", "-").replace(":", "-")):
        if not current(tag, wanted()):
            started = time.monotonic()
            say(f"Building {tag}")
            build(tag)
            say(f"Built {tag} in {time.monotonic() - started:.0f} s")


def _labels(inputs: str) -> list[str]:
    key, value = names.OWNER_LABEL.split("=")
    return [f'LABEL {key}="{value}"', f'LABEL {names.INPUTS_LABEL}="{inputs}"']


def _build_bare(tag: str) -> None:
    if os.geteuid() != 0:
        raise MachineError("Found: a user other than root. Wanted: root, to build the server image with mmdebstrap "
                           "(once; afterwards the image is kept by Docker).")
    packages.ensure("mmdebstrap")
    with tempfile.TemporaryDirectory(prefix="indiaai-image-") as work:
        archive = os.path.join(work, "server.tar")
        run([str(SOURCES / "build.sh"), names.SUITE, archive])
        changes = ['CMD ["/usr/local/sbin/server-init"]', "ENV container=docker"] + _labels(bare_hash())
        run(["docker", "import"] + [part for change in changes for part in ("-c", change)] + [archive, tag])


def _build_docker(tag: str) -> None:
    """The bare image plus Docker, made in a container and committed: no image builder is needed for one command."""
    ensure(names.BARE_IMAGE)
    container = f"{names.PREFIX}image-{os.getpid()}"
    script = SOURCES / "add-docker.sh"
    try:
        run(["docker", "create", "--name", container, "--label", names.OWNER_LABEL, "--network", names.NETWORK,
             names.BARE_IMAGE, "/tmp/add-docker.sh"])
        run(["docker", "cp", str(script), f"{container}:/tmp/add-docker.sh"])
        run(["docker", "start", "--attach", container])
        changes = ['CMD ["/usr/local/sbin/server-init"]'] + _labels(docker_hash())
        run(["docker", "commit"] + [part for change in changes for part in ("-c", change)] + [container, tag])
    finally:
        run(["docker", "rm", "-fv", container], check=False)
