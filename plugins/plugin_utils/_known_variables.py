# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which `inference_*` variables exist, and what a misspelt one was meant to be. Pure.

There is no second list: known is what the roles' argument specs declare.
"""

from __future__ import annotations

import difflib

PREFIX = "inference_"


def known(documents):
    """documents: parsed `meta/argument_specs.yml` of all roles -> set of option names."""
    names = set()
    for document in documents:
        for spec in ((document or {}).get("argument_specs") or {}).values():
            names.update((spec or {}).get("options") or {})
    return names


def unknown(names, known_names):
    """Names that begin with `inference_` and are declared nowhere -> [{"name", "nearest"}], sorted."""
    candidates = sorted(name for name in known_names if name.startswith(PREFIX))
    result = []
    for name in sorted(set(names)):
        if name.startswith(PREFIX) and name not in known_names:
            result.append({"name": name, "nearest": nearest(name, candidates)})
    return result


def nearest(name, candidates):
    """The most similar candidate, however far: a hint is better than none. "" without candidates."""
    # The common prefix says nothing, so only the rest is compared.
    rest = {candidate[len(PREFIX):]: candidate for candidate in candidates}
    matches = difflib.get_close_matches(name[len(PREFIX):], sorted(rest), n=1, cutoff=0.0)
    return rest[matches[0]] if matches else ""
