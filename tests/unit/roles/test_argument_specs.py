# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every role declares what it reads, and reads what it declares.

Runs over all roles of the collection: a new one is covered the day it appears.
"""

from __future__ import annotations

import pathlib
import re

import pytest
import yaml

from ansible_collections.indiaai.inference.plugins.plugin_utils import _known_variables

ROLES = pathlib.Path(__file__).resolve().parents[3] / "roles"
NAMES = sorted(path.name for path in ROLES.iterdir() if path.is_dir())

TYPES = {
    "str": str, "path": str, "int": int, "float": (int, float), "bool": bool, "list": list, "dict": dict,
    "raw": object, "json": object, "bytes": object, "bits": object,
}
PLATFORMS = {"Debian": {"bookworm", "trixie"}, "Ubuntu": {"jammy", "noble"}}


def load(role, *parts):
    path = ROLES.joinpath(role, *parts)
    return (yaml.safe_load(path.read_text()) or {}) if path.is_file() else {}


def specs(role):
    return load(role, "meta", "argument_specs.yml").get("argument_specs") or {}


def options(role):
    """Options of all entry points of a role."""
    result = {}
    for spec in specs(role).values():
        result.update(spec.get("options") or {})
    return result


def defaults(role):
    return load(role, "defaults", "main.yml")


def is_template(value):
    return isinstance(value, str) and "{{" in value


def walk(prefix, entries):
    """(path, option) of every option and suboption."""
    for name, option in sorted((entries or {}).items()):
        yield "{0}{1}".format(prefix, name), option
        yield from walk("{0}{1}.".format(prefix, name), option.get("options"))


def texts(role):
    """(path, text) of every file of a role that Ansible may evaluate."""
    for path in sorted((ROLES / role).rglob("*")):
        if path.is_file() and path.suffix in (".yml", ".yaml", ".j2") and "files" not in path.relative_to(ROLES / role).parts[:1]:
            yield path, path.read_text(encoding="utf-8")


KNOWN = _known_variables.known([load(role, "meta", "argument_specs.yml") for role in NAMES])


@pytest.mark.parametrize("role", NAMES)
def test_a_role_is_described(role):
    readme = ROLES / role / "README.md"
    assert readme.is_file() and readme.read_text().startswith("# " + role)
    info = load(role, "meta", "main.yml").get("galaxy_info") or {}
    assert {"author", "description", "license", "min_ansible_version", "platforms"} <= set(info)
    assert info["license"] == "GPL-3.0-or-later" and info["min_ansible_version"] == "2.19"
    assert {item["name"]: set(item["versions"]) for item in info["platforms"]} == PLATFORMS
    assert (ROLES / role / "tasks" / "main.yml").is_file()
    assert "main" in specs(role)


@pytest.mark.parametrize("role", NAMES)
def test_every_option_has_a_type_and_a_description(role):
    for entry, spec in specs(role).items():
        assert isinstance(spec.get("short_description"), str), entry
        for name, option in walk("", spec.get("options")):
            where = "{0}, {1}: {2}".format(role, entry, name)
            assert option.get("type") in TYPES, where
            assert ("elements" in option) == (option["type"] == "list"), where
            assert "options" not in option or option["type"] == "dict" or option.get("elements") == "dict", where
            told = option.get("description")
            lines = told if isinstance(told, list) else [told]
            # A colon in an unquoted text silently makes a mapping of it.
            assert lines and all(isinstance(line, str) and line for line in lines), where


@pytest.mark.parametrize("role", NAMES)
def test_every_default_is_declared_with_its_type(role):
    declared = options(role)
    for name, value in defaults(role).items():
        assert name.startswith(role + "_"), "{0} does not carry the role's name".format(name)
        assert name in declared, "{0} is missing in meta/argument_specs.yml".format(name)
        option = declared[name]
        if is_template(value):
            continue
        assert option.get("required") is not True, "{0} has a default and is required".format(name)
        kind = option["type"]
        assert isinstance(value, TYPES[kind]), "{0} is declared {1} and is {2!r}".format(name, kind, value)
        assert not (isinstance(value, bool) and kind in ("int", "float")), name
        if kind == "list" and value:
            element = TYPES[option["elements"]]
            assert all(is_template(item) or isinstance(item, element) for item in value), name
        if "choices" in option:
            assert value in option["choices"], name
        if "default" in option:
            assert option["default"] == value, "{0}: the documented default is another".format(name)


@pytest.mark.parametrize("role", NAMES)
def test_every_declared_option_of_the_role_has_a_default(role):
    given = defaults(role)
    # An option without a sensible default stands in the file as a comment: "# role_x: ...".
    path = ROLES / role / "defaults" / "main.yml"
    commented = set(re.findall(r"^# ?([a-z0-9_]+):", path.read_text(), re.M)) if path.is_file() else set()
    for name, option in options(role).items():
        if name.startswith(role + "_") and not option.get("required"):
            assert name in given or name in commented, "{0} is declared and has no default".format(name)


@pytest.mark.parametrize("role", NAMES)
def test_every_inference_variable_that_a_role_reads_is_known(role):
    """Else the typo guard would refuse a variable that a role obeys."""
    for path, text in texts(role):
        for name in re.findall(r"(?<![\w./@-])inference_[a-z0-9_]*[a-z0-9](?![\w/-]|\.yml)", without_comments(text)):
            assert name in KNOWN or name in NAMES, "{0} reads {1}, which no role declares".format(path, name)


def without_comments(text):
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


def test_collection_wide_values_are_declared_once():
    owners = {}
    for role in NAMES:
        for name in options(role):
            assert name.startswith((role + "_", "inference_")), "{0} declares {1}".format(role, name)
            if name.startswith("inference_") and not name.startswith(role + "_"):
                owners.setdefault(name, []).append(role)
    assert {name: roles for name, roles in owners.items() if roles != ["serving_plan"]} == {}
