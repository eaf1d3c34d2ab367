# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Turns engine settings into command line words and refuses what the plan already decides. Pure."""

from __future__ import annotations

import json
import re

# An engine's full flag name, as its documentation spells it but without the dashes in front. A dot reaches into a JSON flag.
_FLAG_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*\Z")


def canonical(name):
    """The spelling that engines print themselves: max_model_len becomes max-model-len."""
    return str(name).replace("_", "-")


def render_flag(name, value, repeated=()):
    """The words of one flag.

    true is a bare flag (engines reject --flag true), false and None are nothing, a list follows its flag as several
    values (once per value for flags in repeated), a dictionary is one JSON word with sorted keys, so that equal settings
    always give equal words.
    """
    flag = "--" + name
    if value is None or value is False:
        return []
    if value is True:
        return [flag]
    if isinstance(value, dict):
        return [flag, json.dumps(value, sort_keys=True, separators=(",", ":"))]
    if isinstance(value, (list, tuple)):
        if not value:
            return []
        words = [_word(item) for item in value]
        if name in repeated:
            return [word for item in words for word in (flag, item)]
        return [flag] + words
    return [flag, _word(value)]


def _word(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return str(value)


def check_args(args, reserved):
    """Problems in a model's args: a list of sentences, empty when there are none.

    :param args: what the inventory says, {flag name: value}.
    :param reserved: {flag name: the variable that sets it}.
    """
    problems = []
    seen = {}
    for name in sorted(args, key=str):
        plain = canonical(name)
        if str(name).startswith("-"):
            problems.append("args has '%s'; write the name without dashes in front: '%s'" % (name, plain.lstrip("-")))
            continue
        if not _FLAG_NAME.match(plain):
            problems.append("args has '%s', which is not the name of a flag (small letters, digits, dashes)" % name)
            continue
        if plain in seen:
            problems.append("args has both '%s' and '%s', which are one flag; keep '%s'" % (seen[plain], name, plain))
            continue
        seen[plain] = name
        if plain.split(".", 1)[0] in reserved:
            problems.append("args has '%s', which is set by %s; remove it from args" % (name, reserved[plain.split(".", 1)[0]]))
    return problems


def check_environment(environment, reserved):
    """Problems in a model's env, as check_args gives them."""
    return ["env has '%s', which is set by %s; remove it from env" % (name, reserved[name]) for name in sorted(environment) if name in reserved]


def merge_args(defaults, args):
    """The profile's default arguments under the model's own, by canonical name, sorted by name.

    The order must not depend on the order of a mapping: the plan is once a fact and once read from a file, and another order of
    the same flags would look like another engine and restart it.
    """
    merged = {canonical(name): value for name, value in (defaults or {}).items()}
    merged.update({canonical(name): value for name, value in (args or {}).items()})
    return [(name, merged[name]) for name in sorted(merged)]
