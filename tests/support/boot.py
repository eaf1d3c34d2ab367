"""What the boot scenario compares: the settings as planned, the guest as it is, and which of them a boot did not bring back."""
from __future__ import annotations

import collections
import dataclasses
import importlib.util
import json
import pathlib

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENARIO = ROOT / "molecule" / "boot"
KEYS = ROOT / "plugins" / "module_utils" / "_sysctl_keys.py"


def rows() -> dict[str, collections.namedtuple]:
    """Name -> row of every setting of the role, from the role's own data."""
    spec = importlib.util.spec_from_file_location("sysctl_keys_for_boot", KEYS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {row.name: row for group in module.GROUPS.values() for row in group}


@dataclasses.dataclass(frozen=True)
class Planted:
    """The wrong values that stand in an earlier file, and the settings that cannot be wrong on this kernel, with the reason."""

    values: dict[str, str]
    cannot_be_wrong: dict[str, str]

    @classmethod
    def read(cls, path: pathlib.Path = SCENARIO / "wrong_values.yml") -> Planted:
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
