"""The key with which a person and Ansible enter the servers over SSH; one pair for all servers of this machine."""
from __future__ import annotations

import io
import os
import pathlib
import tarfile

from . import names, packages
from .shell import lock, run

OPTIONS = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"]


def private_key() -> pathlib.Path:
    """Path of the private key; the pair is made at the first use."""
    path = names.cache_dir() / "ssh" / "id_ed25519"
    with lock("ssh-key"):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if not path.exists():
            packages.ensure("ssh-keygen")
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "indiaai-test", "-f", str(path)])
    return path


def authorized_keys_archive() -> bytes:
    """A tar archive to unpack at /root: ``.ssh/authorized_keys``, owned by root."""
    public = private_key().with_suffix(".pub").read_bytes()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        folder = tarfile.TarInfo(".ssh")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o700
        archive.addfile(folder)
        entry = tarfile.TarInfo(".ssh/authorized_keys")
        entry.size, entry.mode = len(public), 0o600
        archive.addfile(entry, io.BytesIO(public))
    return buffer.getvalue()


def command(address: str, words: list[str]) -> list[str]:
    """The ssh command line that runs ``words`` (or a login shell) at an address."""
    packages.ensure("ssh")
    return ["ssh", "-i", os.fspath(private_key())] + OPTIONS + [f"root@{address}"] + words
