"""Stages that bring up disposable servers."""
from __future__ import annotations

from servers import packages

from . import places
from .stage import Run


def scenario(name: str):
    """The action of the molecule scenario ``name``."""
    def action(run: Run) -> None:
        folder = places.checkout_cache() / "molecule" / name
        # Named, since molecule finds the shared file by itself only in a git work tree.
        run.command("molecule", "--base-config", str(places.ROOT / ".config/molecule/config.yml"), "test", "--scenario-name", name,
                    variables={"MOLECULE_EPHEMERAL_DIRECTORY": str(folder)})
    return action


def galaxy(run: Run) -> None:
    packages.ensure("ssh")
    run.command(str(places.ROOT / "tests/galaxy/run.sh"), str(run.env.collections), checkout=False)
