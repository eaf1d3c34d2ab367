"""Copies of the checkout in the folder layout that collection tools insist on (…/ansible_collections/indiaai/inference).

ansible-test refuses a linked root, and both it and ansible-lint write beside what they read; a copy keeps the checkout clean.
"""
from __future__ import annotations

import os
import pathlib
import shutil
import subprocess

from . import places

LEFT_OUT = ("playbooks/collections",)  # a link from the repository to itself: tools that walk would never end
NOT_OURS = {".git", ".ansible", ".cache", ".pytest_cache", ".hypothesis", "__pycache__", "reports"}


def files() -> list[str]:
    """Relative paths of all files and links that git would track; outside a git work tree, all but the usual litter."""
    listing = subprocess.run(["git", "-C", str(places.ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             capture_output=True, check=False)
    top = subprocess.run(["git", "-C", str(places.ROOT), "rev-parse", "--show-toplevel"], capture_output=True, text=True, check=False)
    if listing.returncode == 0 and os.path.realpath(top.stdout.strip()) == str(places.ROOT):
        found = [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    else:
        found = list(_walk())
    return sorted({name for name in found if os.path.lexists(places.ROOT / name)})


def _walk():
    for folder, folders, names in os.walk(places.ROOT):
        relative = pathlib.Path(folder).relative_to(places.ROOT)
        links = [name for name in folders if (pathlib.Path(folder) / name).is_symlink()]
        folders[:] = [name for name in folders if name not in NOT_OURS and name not in links]
        for name in names + links:
            yield str(relative / name)


def make(folder: pathlib.Path, with_own_link: bool = False) -> pathlib.Path:
    """A fresh copy at ``folder``; returns it. ``with_own_link`` keeps playbooks/collections."""
    shutil.rmtree(folder, ignore_errors=True)
    for name in files():
        if name.startswith(LEFT_OUT) and not with_own_link:
            continue
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(places.ROOT / name, target, follow_symlinks=False)
    return folder


def collection(purpose: str) -> pathlib.Path:
    """A copy in collection layout that is a git work tree, for one purpose (two tools never share one)."""
    folder = make(places.checkout_cache() / "copies" / purpose / "ansible_collections" / "indiaai" / "inference")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder
