"""What the boot scenario compares: the settings as planned, the guest as it is, and which of them a boot did not bring back."""
from __future__ import annotations

import dataclasses
import functools
import json
import pathlib
import subprocess
import sys
from typing import NamedTuple

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "molecule" / "boot"

# In a Python that sees the standard library and this checkout, whatever else goes by the collection's name here.
_PRINT_ROWS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl_keys as keys
print(json.dumps([[row.name, row.value, row.mode, row.module] for group in keys.GROUPS.values() for row in group]))
"""


class Row(NamedTuple):
    """What a boot has to bring back of one setting. The value of some is a text that says how it is computed."""

    name: str
    value: str
    mode: str
    module: str | None


@functools.cache
def rows() -> dict[str, Row]:
    """Name -> row of every setting of the role, from the role's own data."""
    words = [sys.executable, "-I", "-S", "-c", _PRINT_ROWS, str(ROOT / "playbooks" / "collections")]
    printed = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return {found[0]: Row(*found) for found in json.loads(printed)}


@dataclasses.dataclass(frozen=True)
class Planted:
    """The wrong values that stand in an earlier file, and the settings that cannot be wrong on this kernel, with the reason."""

    values: dict[str, str]
    cannot_be_wrong: dict[str, str]

    @classmethod
    def read(cls, path: pathlib.Path = SCENARIO / "vars" / "wrong_values.yml") -> Planted:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
        values = {name: str(value) for name, value in found["boot_wrong_values"].items()}
        return cls(values, found["boot_cannot_be_wrong"] or {})


def holds(mode: str, wanted: str, value: str | None) -> bool:
    """Whether a value is as planned; a ceiling may be higher."""
    if value is None:
        return False
    if mode.startswith("at_least"):
        have, want = ([int(part) for part in text.split()] for text in (value, wanted))
        return len(have) == len(want) and all(a >= b for a, b in zip(have, want))
    return value.split() == wanted.split()


def deviations(planned: dict[str, str], state: dict[str, str | None]) -> dict[str, str]:
    """Settings that are not as planned -> what is wanted and what is there.

    planned: name -> value that the role said it would keep. state: name -> value in the guest, in any spacing.
    """
    modes = {name: row.mode for name, row in rows().items()}
    return {name: f"wanted {wanted}, found {state.get(name)}" for name, wanted in planned.items()
            if not holds(modes.get(name, "exact"), wanted, state.get(name))}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the role reported, and how the guest was right after it."""

    outcome: list[dict]
    state: dict

    @classmethod
    def read(cls, folder: pathlib.Path) -> Plan:
        outcome = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
        return cls(outcome, json.loads((folder / "planned.json").read_text(encoding="utf-8")))

    @property
    def settings(self) -> dict[str, str]:
        return {item["name"]: item["wanted"] for item in self.outcome}
