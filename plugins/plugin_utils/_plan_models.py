# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks `inference_models` and brings each entry into one shape. Pure.

`check(models, engines)` returns `(normal, problems)`. `normal` holds one dict per
entry that has a usable name and engine, with every optional key present and
integers as integers (an inventory or `-e` may deliver "30000").
"""

from __future__ import annotations

import posixpath
import re

from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import Problem

PORT_MIN = 1024
PORT_MAX = 65535
SLUG_MAX = 63

# A name is sent by clients in JSON and appears in logs and labels.
_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}$")
_FLAG = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
_ENV = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_REVISION = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")

# Flags whose value is the plan's own. Setting them in `args` would take the engine out of the plan,
# or put its key where `ps` shows it.
_OWNED_ARGS = {
    "host": "inference_address",
    "hostname": "inference_address",
    "port": "port",
    "model": "source",
    "model-path": "source",
    "model-id": "source",
    "served-model-name": "name",
    "revision": "revision",
    "api-key": None,
    "config": None,
}

# Container names that the collection uses for something else than an engine.
_RESERVED_SLUGS = ("gateway",)

KEYS = (
    "name",
    "engine",
    "source",
    "revision",
    "context_length",
    "max_running_requests",
    "port",
    "gpu_memory_mib",
    "args",
    "env",
    "image",
    "image_archive",
    "aliases",
)


def slug(name):
    """A model's name made safe for a container, a unit and a file: [a-z0-9.-]."""
    return re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9.-]", "-", name.lower())).strip("-.")


def as_int(value):
    """An int, or None when `value` is not one. True is not 1 here."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and re.match(r"^-?[0-9]+$", value.strip()):
        return int(value)
    return None


def check(models, engines):
    """models: the inventory's list; engines: names of the engine profiles that exist."""
    if not isinstance(models, list) or not models:
        return [], [
            Problem(
                "inference_models is {0}".format("empty" if models in ([], None) else shown(models)),
                "a list with at least one model ({name, engine, source})",
                "inference_models",
            )
        ]
    normal, problems = [], []
    for position, model in enumerate(models):
        entry, found = _check_one(model, "inference_models[{0}]".format(position), engines)
        problems.extend(found)
        if entry is not None:
            entry["position"] = position
            normal.append(entry)
    problems.extend(_duplicates(normal))
    return normal, problems


def _check_one(model, where, engines):
    if not isinstance(model, dict):
        return None, [Problem("{0} is {1}".format(where, shown(model)), "a mapping {name, engine, source}", where)]
    problems = []
    for key in sorted(set(model) - set(KEYS)):
        problems.append(
            Problem(
                "{0} has the unknown key {1!r}".format(where, key),
                "only these keys: {0}".format(", ".join(KEYS)),
                "{0}.{1}".format(where, key),
            )
        )
    name = _name(model.get("name"), where, problems)
    label = "{0} ({1})".format(where, name) if name else where
    entry = {
        "name": name,
        "slug": slug(name) if name else None,
        "engine": _engine(model.get("engine"), where, label, engines, problems),
        "source": _source(model.get("source"), where, label, problems),
        "revision": _text(model.get("revision"), where, label, "revision", _REVISION, problems),
        "context_length": _number(model, "context_length", where, label, 1, None, problems),
        "max_running_requests": _number(model, "max_running_requests", where, label, 1, None, problems),
        "port": _number(model, "port", where, label, PORT_MIN, PORT_MAX, problems),
        "gpu_memory_mib": _number(model, "gpu_memory_mib", where, label, 1, None, problems),
        "args": _args(model.get("args"), where, label, problems),
        "env": _env(model.get("env"), where, label, problems),
        "image": _text(model.get("image"), where, label, "image", None, problems),
        "image_archive": _archive(model.get("image_archive"), where, label, problems),
        "aliases": _aliases(model.get("aliases"), where, label, problems),
    }
    if not entry["name"] or not entry["engine"]:
        return None, problems
    return entry, problems


def _name(value, where, problems):
    if value is None or value == "":
        problems.append(
            Problem("{0} has no name".format(where), 'the name that clients send as "model"', where + ".name")
        )
        return None
    if not isinstance(value, str) or not _NAME.match(value) or not slug(value):
        problems.append(
            Problem(
                "{0}.name is {1}".format(where, shown(value)),
                "text of letters, digits and . _ : / @ + -, beginning with a letter or digit",
                where + ".name",
            )
        )
        return None
    if len(slug(value)) > SLUG_MAX:
        problems.append(
            Problem(
                "{0}.name is {1} characters long".format(where, len(value)),
                "at most {0}, since it also names a container and a unit".format(SLUG_MAX),
                where + ".name",
            )
        )
        return None
    if slug(value) in _RESERVED_SLUGS:
        problems.append(
            Problem(
                "{0}.name {1!r} would need the container inference-{2}, which the collection uses itself".format(
                    where, value, slug(value)
                ),
                "another name",
                where + ".name",
            )
        )
        return None
    return value


def _engine(value, where, label, engines, problems):
    if isinstance(value, str) and value in engines:
        return value
    found = "has no engine" if value in (None, "") else "has the unknown engine {0}".format(shown(value))
    problems.append(
        Problem(
            "{0} {1}".format(label, found),
            "one of: {0}".format(", ".join(sorted(engines)) or "(no engine profile is installed)"),
            where + ".engine",
        )
    )
    return None


def _source(value, where, label, problems):
    if isinstance(value, str) and value.startswith("/") and posixpath.normpath(value) != "/":
        # Two leading slashes survive normpath; a container mount would not take them.
        return "/" + posixpath.normpath(value).lstrip("/")
    if value is None or value == "":
        found = "{0} has no source".format(label)
    elif isinstance(value, str) and re.match(r"^[A-Za-z0-9][\w.-]*/[\w.-]+$", value):
        found = "{0} has the source {1!r}, which reads as a hub repository".format(label, value)
    else:
        found = "{0} has the source {1}".format(label, shown(value))
    problems.append(
        Problem(found, "an absolute path to the weights on the host, such as /srv/models/NAME", where + ".source")
    )
    return None


def _number(model, key, where, label, low, high, problems):
    value = model.get(key)
    if value is None:
        return None
    number = as_int(value)
    if number is not None and number >= low and (high is None or number <= high):
        return number
    wanted = "a whole number from {0} to {1}".format(low, high) if high else "a whole number, {0} or more".format(low)
    problems.append(
        Problem("{0} has {1} {2}".format(label, key, shown(value)), wanted, "{0}.{1}".format(where, key))
    )
    return None


def _text(value, where, label, key, pattern, problems):
    if value is None:
        return None
    if isinstance(value, str) and value and (pattern is None or pattern.match(value)):
        return value
    problems.append(
        Problem("{0} has {1} {2}".format(label, key, shown(value)), "text", "{0}.{1}".format(where, key))
    )
    return None


def _archive(value, where, label, problems):
    if value is None:
        return None
    if isinstance(value, str) and value.startswith("/"):
        return value
    problems.append(
        Problem(
            "{0} has image_archive {1}".format(label, shown(value)),
            "an absolute path to an image archive on the control machine",
            where + ".image_archive",
        )
    )
    return None


def _args(value, where, label, problems):
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(
            Problem(
                "{0} has args {1}".format(label, shown(value)),
                "a mapping of flag names without leading dashes to values",
                where + ".args",
            )
        )
        return {}
    result = {}
    for flag in sorted(value, key=str):
        change = "{0}.args.{1}".format(where, flag)
        if not isinstance(flag, str) or not _FLAG.match(flag):
            problems.append(
                Problem(
                    "{0} has the flag {1} in args".format(label, shown(flag)),
                    "the flag's name without leading dashes",
                    change,
                )
            )
        elif flag.replace("_", "-") in _OWNED_ARGS:
            instead = _OWNED_ARGS[flag.replace("_", "-")]
            problems.append(
                Problem(
                    "{0} sets {1!r} in args".format(label, flag),
                    "{0} sets it".format(
                        "inference_address" if instead == "inference_address" else
                        "the model's {0}".format(instead) if instead else "only the collection itself"
                    ),
                    "remove {0}".format(change),
                )
            )
        else:
            result[flag] = value[flag]
    return result


def _env(value, where, label, problems):
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(
            Problem("{0} has env {1}".format(label, shown(value)), "a mapping of names to values", where + ".env")
        )
        return {}
    result = {}
    for key in sorted(value, key=str):
        item = value[key]
        if not isinstance(key, str) or not _ENV.match(key) or isinstance(item, (dict, list)) or item is None:
            problems.append(
                Problem(
                    "{0} has in env {1}".format(label, shown(key)),
                    "a name of letters, digits and _ with a text value",
                    "{0}.env.{1}".format(where, key),
                )
            )
        else:
            result[key] = str(item)
    return result


def _aliases(value, where, label, problems):
    if value is None:
        return []
    if not isinstance(value, list) or any(not isinstance(item, str) or not _NAME.match(item) for item in value):
        problems.append(
            Problem("{0} has aliases {1}".format(label, shown(value)), "a list of names", where + ".aliases")
        )
        return []
    return list(value)


def _duplicates(normal):
    """Names and aliases are one namespace (a client sends either); slugs name files and containers."""
    problems, names, slugs = [], {}, {}
    for entry in normal:
        where = "inference_models[{0}]".format(entry["position"])
        for name, key in [(entry["name"], "name")] + [(alias, "aliases") for alias in entry["aliases"]]:
            if name in names:
                problems.append(
                    Problem(
                        "{0} and {1} both have the name {2!r}".format(names[name], where, name),
                        "every name and alias only once",
                        "{0}.{1}".format(where, key),
                    )
                )
            else:
                names[name] = where
        other = slugs.setdefault(entry["slug"], entry)
        if other is not entry and other["name"] != entry["name"]:
            problems.append(
                Problem(
                    "{0!r} and {1!r} would both be the container inference-{2}".format(
                        other["name"], entry["name"], entry["slug"]
                    ),
                    "names that differ in more than case and special characters",
                    where + ".name",
                )
            )
    return problems


def shown(value):
    """A value as it is quoted in a message: short, and with its type where that is the fault."""
    text = repr(value)
    if len(text) > 80:
        text = text[:77] + "..."
    if isinstance(value, str):
        return text
    return "{0} (a {1})".format(text, type(value).__name__)
