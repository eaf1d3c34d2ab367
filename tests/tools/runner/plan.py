"""Which stages there are, and which ones a word on the command line means."""
from __future__ import annotations

from servers.shell import MachineError

from . import on_servers, places, static
from .stage import Stage

LINT = ("ansible-lint", "changelog", "docs", "shell", "syntax", "sanity", "syntax-second", "sanity-second")
UNIT = ("unit", "unit-second")
ALONE = ("boot", "site")  # scenarios that measure, or need the whole machine
# Only when asked for by name: where the processor is emulated, a kernel's own boot takes both cores for minutes.
BY_NAME = ("molecule-boot",)


def all_stages() -> dict[str, Stage]:
    """Name -> stage, in the order in which they start."""
    stages = [
        Stage("ansible-lint", static.ansible_lint),
        Stage("changelog", static.changelog, needs="changelogs"),
        Stage("docs", static.docs),
        Stage("shell", static.shell),
        Stage("unit", static.unit, needs="tests/unit"),
        Stage("unit-second", static.unit, needs="tests/unit", second_core=True),
        Stage("syntax", static.syntax, needs="playbooks"),
        Stage("syntax-second", static.syntax, needs="playbooks", second_core=True),
        Stage("sanity", static.sanity),
        Stage("sanity-second", static.sanity, second_core=True),
        Stage("gateway", static.gateway, needs="tests/gateway"),
    ]
    for name in places.scenarios():
        if name not in ALONE:
            stages.append(Stage(f"molecule-{name}", on_servers.scenario(name), servers=True, seconds=900))
    stages.append(Stage("galaxy", on_servers.galaxy, needs="playbooks/audit.yml", servers=True, seconds=600))
    for name in ALONE:
        stages.append(Stage(f"molecule-{name}", on_servers.scenario(name), needs=f"molecule/{name}/molecule.yml",
                            servers=True, alone=True, seconds=1800))
    return {stage.name: stage for stage in stages}


def chosen(words: list[str]) -> list[Stage]:
    """The stages that these words mean, each once, in starting order."""
    stages = all_stages()
    groups = {
        "lint": LINT, "unit": UNIT, "check": LINT + UNIT, "site": ("molecule-site",),
        "molecule": tuple(name for name in stages if name.startswith("molecule-") and name not in BY_NAME),
        "test": tuple(name for name in stages if name not in BY_NAME),
    }
    wanted: set[str] = set()
    for word in words:
        if word not in groups and word not in stages:
            known = ", ".join([*groups, *(name for name in stages if name not in groups)])
            raise MachineError(f"Found: no stage '{word}'. Wanted: one of {known}.")
        wanted.update(groups.get(word, (word,)))
    return [stage for name, stage in stages.items() if name in wanted]
