"""A control environment: an interpreter's packages, the collections, and this checkout under its collection name.

Packages and collections are kept by a hash of what they were made from, so that every clone on this machine shares them.
The view that names the checkout `indiaai.inference` is a folder of links for each checkout, so that no clone can ever run
another one's code.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from servers.shell import MachineError, lock, run, say

from . import places, pythons

REQUIREMENTS = ("requirements.txt", "tests/requirements.txt")
COLLECTIONS = "tests/tools/collections.txt"
GALAXY_REQUIREMENTS = "requirements.yml"
COMPLETE = ".complete"  # written last: a folder without it is a half-made one


class Environment:
    """One interpreter with packages and collections; ``prepare`` makes what is missing."""

    def __init__(self, python: str) -> None:
        self.base = os.path.realpath(python)
        found = pythons.version(self.base)
        if found is None:
            raise MachineError(f"Found: {self.base}, which cannot make virtual environments. Wanted: one with venv and ensurepip.")
        self.python_version = found
        self.venv = places.cache() / f"venv-{found}-{_hash(REQUIREMENTS, self.base)}"
        self.collections = places.cache() / f"collections-{_hash((COLLECTIONS, GALAXY_REQUIREMENTS))}"
        self.view = places.checkout_cache() / "collections"

    @property
    def python(self) -> str:
        return str(self.venv / "bin" / "python")

    @property
    def site_packages(self) -> pathlib.Path:
        return self.venv / "lib" / f"python{self.python_version}" / "site-packages"

    def core_version(self) -> str:
        """Release of ansible-core in this environment, for example ``2.19.14``."""
        for folder in self.site_packages.glob("ansible_core-*.dist-info"):
            return folder.name.split("-")[1].removesuffix(".dist")
        raise MachineError(f"Found: no ansible-core in {self.venv}. Remove that folder and run this again.")

    def prepare(self) -> Environment:
        with lock(self.venv.name):
            if not (self.venv / COMPLETE).exists():
                self._make_venv()
        with lock(self.collections.name):
            if not (self.collections / COMPLETE).exists():
                self._make_collections()
        self._make_view()
        return self

    def variables(self, checkout: bool = True, personal: bool = False) -> dict[str, str]:
        """The environment of commands. ``checkout=False`` leaves this checkout's collection out, dependencies stay.

        Tests see none of the user's own Ansible settings; ``personal`` keeps them, for commands that a person types.
        """
        path = pythons.without_shims(os.environ.get("PATH", os.defpath))
        collections = self.view if checkout else self.collections
        dropped = ("PYTHON",) if personal else ("ANSIBLE_", "MOLECULE_", "PYTHON")
        kept = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
        return kept | {
            "PATH": f"{self.venv / 'bin'}{os.pathsep}{path}", "VIRTUAL_ENV": str(self.venv),
            "ANSIBLE_COLLECTIONS_PATH": str(collections), "ANSIBLE_HOME": str(places.checkout_cache() / "ansible"),
            "ANSIBLE_FORCE_COLOR": "0", "NO_COLOR": "1", "LC_ALL": "C.UTF-8",
            "INDIAAI_CHECKOUT_ID": places.CHECKOUT_ID,
        }

    def _make_venv(self) -> None:
        say(f"Making the control environment for Python {self.python_version} in {self.venv}")
        shutil.rmtree(self.venv, ignore_errors=True)
        run([self.base, "-m", "venv", str(self.venv)])
        run([self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "-r", str(places.ROOT / REQUIREMENTS[-1])])
        (self.venv / COMPLETE).touch()

    def _make_collections(self) -> None:
        """From the PyPI package that carries them; from Galaxy only where that package is not to be had."""
        shutil.rmtree(self.collections, ignore_errors=True)
        self.collections.mkdir()
        try:
            self._collections_from_package()
        except MachineError as error:
            say(f"The collections did not come from PyPI, trying Galaxy.\n{error}")
            galaxy = str(self.venv / "bin" / "ansible-galaxy")
            run([galaxy, "collection", "install", "-r", str(places.ROOT / GALAXY_REQUIREMENTS), "-p", str(self.collections)])
        (self.collections / COMPLETE).touch()

    def _collections_from_package(self) -> None:
        lines = (places.ROOT / COLLECTIONS).read_text(encoding="utf-8").splitlines()
        package, *wanted = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
        prefixes = tuple(f"ansible_collections/{name.replace('.', '/')}/" for name in wanted)
        with tempfile.TemporaryDirectory() as folder:
            # The package asks for a newer Python than its collections do; naming one lets pip fetch it anyway.
            run([self.python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                 "--only-binary=:all:", "--python-version", "3.13", "--dest", folder, package])
            with zipfile.ZipFile(next(pathlib.Path(folder).glob("*.whl"))) as wheel:
                wheel.extractall(self.collections, [name for name in wheel.namelist() if name.startswith(prefixes)])

    def _make_view(self) -> None:
        """``VIEW/ansible_collections``: links to the shared collections, and to this checkout by its name."""
        with lock(f"view-{places.CHECKOUT_ID}"):
            root = self.view / "ansible_collections"
            root.mkdir(parents=True, exist_ok=True)
            targets = {path.name: path for path in (self.collections / "ansible_collections").iterdir() if path.is_dir()}
            for old in root.iterdir():
                if old.is_symlink() and old.name not in targets:
                    old.unlink()
            for name, target in targets.items():
                _link(root / name, target)
            (root / "indiaai").mkdir(exist_ok=True)
            _link(root / "indiaai" / "inference", places.ROOT)


def _link(link: pathlib.Path, target: pathlib.Path) -> None:
    """Make the link point at the target, replacing an old one in one step: a running test never finds nothing there."""
    if link.is_symlink() and os.readlink(link) == str(target):
        return
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.symlink_to(target, target_is_directory=True)
    os.replace(fresh, link)


def _hash(files: tuple[str, ...], *more: str) -> str:
    digest = hashlib.sha256("\0".join(more).encode())
    for name in files:
        digest.update(b"\0" + name.encode() + b"\0" + (places.ROOT / name).read_bytes())
    return digest.hexdigest()[:12]


def current() -> Environment:
    return Environment(sys.executable)


def execute(command: list[str]) -> int:
    """Run a command in the control environment with this terminal."""
    environment = current().prepare()
    return subprocess.run(command, env=environment.variables(personal=True), check=False).returncode
