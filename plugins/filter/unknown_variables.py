# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: unknown_variables
short_description: Finds misspelt inference_* variables
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Compares variable names with every option in the argument specs of this collection's roles, which are read from
    the files on the control machine.
  - Only names that begin with C(inference_) are looked at.
options:
  _input:
    description: Names of variables.
    type: list
    elements: str
    required: true
"""

EXAMPLES = r"""
- name: Refuse a misspelt variable
  ansible.builtin.assert:
    that: misspelt | length == 0
    fail_msg: "{{ misspelt }}"
  vars:
    misspelt: "{{ query('ansible.builtin.varnames', '^inference_') | indiaai.inference.unknown_variables }}"
"""

RETURN = r"""
_value:
  description: One entry for each unknown name, with the known name that is nearest to it.
  type: list
  elements: dict
  sample:
    - name: inference_modles
      nearest: inference_models
"""

import functools
import glob
import os

import yaml

from ansible.errors import AnsibleFilterError
from ansible_collections.indiaai.inference.plugins.plugin_utils import _known_variables
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_plain import plain

_ROLES = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "roles")


@functools.lru_cache(maxsize=None)
def _known_names(roles):
    documents = []
    for path in sorted(glob.glob(os.path.join(roles, "*", "meta", "argument_specs.yml"))):
        try:
            with open(path, encoding="utf-8") as stream:
                documents.append(yaml.safe_load(stream))
        except (OSError, yaml.YAMLError) as exc:
            raise AnsibleFilterError("Cannot read {0}: {1}".format(path, exc)) from exc
    return frozenset(_known_variables.known(documents))


def unknown_variables(names):
    return _known_variables.unknown(plain(names), _known_names(_ROLES))


class FilterModule:
    """Filter: variable names -> those that no role declares."""

    def filters(self):
        return {"unknown_variables": unknown_variables}
