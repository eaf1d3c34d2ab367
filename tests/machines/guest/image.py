"""The disk, kernel and initrd that guests are made from: built once, kept in the cache by a hash of what they come from."""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import tempfile
import time

from servers import names, ssh
from servers.shell import MachineError, lock, run, say

SOURCES = pathlib.Path(__file__).resolve().parent / "image"
PACKAGES = {"qemu-system-x86_64": "qemu-system-x86", "qemu-img": "qemu-utils", "mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs",
            "ssh": "openssh-client"}
FILES = ("disk.img", "vmlinuz", "initrd.img")


def folder() -> pathlib.Path:
    """Everything about guests in the cache: images by hash, and the guests themselves."""
    path = names.cache_dir() / "guest"
    path.mkdir(exist_ok=True)
    return path


def ensure_tools() -> None:
    """qemu and what builds the image are there afterwards, or MachineError says which packages to install."""
    missing = sorted({package for command, package in PACKAGES.items() if not shutil.which(command)})
    if not missing:
        return
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise MachineError(f"Found: no {', '.join(missing)}. Wanted: these packages; install them and run this again "
                           "(root on a Debian machine has it done automatically).")
    with lock("packages"):
        say(f"Installing {', '.join(missing)}")
        apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y"]
        run(apt + ["update"])
        run(apt + ["install", "--no-install-recommends"] + missing)


def inputs_hash(public_key: str, sources: pathlib.Path = SOURCES) -> str:
    """Hash of what the image is built from: the scripts, the suite, and the key that opens it."""
    digest = hashlib.sha256(f"{names.SUITE}\0{public_key}".encode())
    for path in sorted(sources.iterdir()):
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def ensure() -> pathlib.Path:
    """Folder with disk.img, vmlinuz and initrd.img; built when missing or stale. Images of older inputs go."""
    ensure_tools()
    public_key = ssh.private_key().with_suffix(".pub")
    wanted = folder() / f"image-{inputs_hash(public_key.read_text(encoding='utf-8'))}"
    with lock("guest-image"):
        if not wanted.is_dir():
            _build(wanted, public_key)
            for old in folder().glob("image-*"):
                if old != wanted and not _used(old):
                    shutil.rmtree(old)
    return wanted


def _used(image: pathlib.Path) -> bool:
    """Whether a guest's disk stands on this image."""
    return any(link.resolve() == image for link in folder().glob("guests/*/image"))


def _build(wanted: pathlib.Path, public_key: pathlib.Path) -> None:
    if os.geteuid() != 0:
        raise MachineError("Found: a user other than root. Wanted: root, to build the guest's image with mmdebstrap "
                           "(once; afterwards it is kept).")
    started = time.monotonic()
    say("Building the image of the guest: Debian with a kernel of its own")
    with tempfile.TemporaryDirectory(prefix="build-", dir=folder()) as work:
        # mmdebstrap enters it as another user.
        os.chmod(work, 0o755)
        run([str(SOURCES / "build.sh"), names.SUITE, str(public_key), work])
        made = pathlib.Path(work, "made")
        made.mkdir()
        for name in FILES:
            os.replace(pathlib.Path(work, name), made / name)
        os.replace(made, wanted)
    say(f"Built the image of the guest in {time.monotonic() - started:.0f} s")
