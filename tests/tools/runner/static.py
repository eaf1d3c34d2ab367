"""Stages that need no server: linters, sanity, syntax, unit tests."""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import tempfile

from servers import packages
from servers.shell import lock

from . import copies, places
from .stage import Run, StageFailed, StageSkipped


def ansible_lint(run: Run) -> None:
    packages.ensure("git")
    run.command("ansible-lint", "--offline", "--project-dir", ".", "-q", cwd=copies.collection("lint"))


def changelog(run: Run) -> None:
    run.command("antsibull-changelog", "lint")


def docs(run: Run) -> None:
    packages.ensure("git")
    run.command("antsibull-docs", "lint-collection-docs", "--plugin-docs", "--skip-rstcheck", ".", cwd=copies.collection("docs"))


def shell(run: Run) -> None:
    packages.ensure("shellcheck")
    scripts = [name for name in copies.files() if _is_shell_script(places.ROOT / name)]
    run.command("shellcheck", "--external-sources", *scripts)


def _is_shell_script(path: pathlib.Path) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as handle:
        return re.match(rb"#!.*\b(ba)?sh\b", handle.readline()) is not None


def sanity(run: Run) -> None:
    packages.ensure("git", "shellcheck")
    core = run.env.core_version()
    folder = copies.collection(f"sanity-{core}")
    with lock(f"ansible-test-{core}"):
        home = _ansible_test_home(run, core)
        run.command("ansible-test", "sanity", "--venv", "--color", "no", cwd=folder, variables={"HOME": str(home)})


def _ansible_test_home(run: Run, core: str) -> pathlib.Path:
    """A home folder for ansible-test, which keeps its virtual environments there; all checkouts share it."""
    home = places.cache() / f"ansible-test-{core}"
    downloads = home / ".ansible" / "test" / "cache"
    downloads.mkdir(parents=True, exist_ok=True)
    source = run.env.site_packages / "ansible_test" / "_internal" / "python_requirements.py"
    for release in re.findall(r"\bpip='([0-9.]+)'", source.read_text(encoding="utf-8")):
        shutil.copy(places.ROOT / "tests/tools/get_pip.py", downloads / f"get_pip_{release.replace('.', '_')}.py")
    for name in (".config/pip", ".pip"):  # the user's own pip settings stay in force
        own, link = pathlib.Path.home() / name, home / name
        if own.exists() and not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(own)
    return home


def syntax(run: Run) -> None:
    """Every playbook by path, from a clone in a folder of any name, where only the committed link names the collection."""
    playbooks = sorted(path.name for path in (places.ROOT / "playbooks").glob("*.yml"))
    if not playbooks:
        raise StageSkipped("no playbooks yet")
    with tempfile.TemporaryDirectory(prefix="indiaai-clone-") as folder:
        clone = copies.make(pathlib.Path(folder) / "any name", with_own_link=True)
        run.command("ansible-playbook", "--syntax-check", "-i", "localhost,", *(f"playbooks/{name}" for name in playbooks),
                    cwd=clone, checkout=False)


def unit(run: Run) -> None:
    if not any((places.ROOT / "tests/unit").rglob("test_*.py")):
        raise StageSkipped("no unit tests yet")
    run.command("python", "-m", "pytest", "-q", "tests/unit", variables={
        "PYTHONPATH": str(run.env.view), "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(places.checkout_cache() / "hypothesis")})


def gateway(run: Run) -> None:
    script = places.ROOT / "tests/gateway/run.sh"
    if not os.access(script, os.X_OK):
        raise StageFailed(f"{script.relative_to(places.ROOT)} is missing or not executable")
    run.command(str(script))
