# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: serving_plan
short_description: Computes which engine serves which model, where, on which port and with how much memory
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Turns the inventory's C(inference_models) and the facts of M(indiaai.inference.gpu_facts) into one complete plan.
  - The result does not depend on whether the collection's own engines run. Ports follow the order of the list, and
    memory is given in absolute sizes.
  - Fails with one message that lists every problem, each with what was found, what is wanted and which variable to change.
positional: gpu, options
options:
  _input:
    description: The models, as in C(inference_models).
    type: list
    elements: dict
    required: true
  gpu:
    description: The fact C(indiaai_gpu), or an empty dictionary.
    type: dict
    default: {}
  options:
    description:
      - V(engines) (list, required) names the engine profiles that exist.
      - Optional are V(device), V(address), V(server_name), V(first_port), V(frontend_ports), V(reserved_ports),
        V(host_reserve_mib), V(replaces), V(cutover), V(audit), V(platform) and V(unknown_variables).
    type: dict
    default: {}
seealso:
  - module: indiaai.inference.gpu_facts
  - plugin: indiaai.inference.unknown_variables
    plugin_type: filter
"""

EXAMPLES = r"""
- name: Plan two models on whatever this host has
  ansible.builtin.set_fact:
    serving_plan_result: "{{ models | indiaai.inference.serving_plan(ansible_facts['indiaai_gpu'], {'engines': ['vllm']}) }}"
  vars:
    models:
      - {name: chat, engine: vllm, source: /srv/models/chat}
      - {name: draft, engine: vllm, source: /srv/models/draft, gpu_memory_mib: 16000}
"""

RETURN = r"""
_value:
  description: The plan. Its shape is docs/contracts/plan.schema.json.
  type: dict
"""

import os

from ansible.errors import AnsibleFilterError
from ansible_collections.indiaai.inference.plugins.module_utils._host import paths
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan import build
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_plain import plain
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import PlanError


def serving_plan(models, gpu=None, options=None):
    settings = plain(options or {})
    if "engines" not in settings:
        raise AnsibleFilterError("serving_plan needs options.engines, the names of the engine profiles that exist.")
    audit = settings.get("audit") or {}
    # What a play registers is the module's result; the audit is one key of it.
    settings["audit"] = audit.get("audit", audit)
    settings["paths"] = paths.as_dict()
    inventory = plain(models)
    settings["missing_archives"] = missing_archives(inventory)
    try:
        return build(inventory, plain(gpu or {}), settings)
    except PlanError as exc:
        raise AnsibleFilterError(str(exc)) from exc


def missing_archives(models):
    """Image archives lie on the control machine, so they can be missed before any host is touched."""
    if not isinstance(models, list):
        return []
    named = [model.get("image_archive") for model in models if isinstance(model, dict)]
    return [path for path in named if isinstance(path, str) and not os.path.isfile(path)]


class FilterModule:
    """Filter: inventory and GPU facts -> serving plan."""

    def filters(self):
        return {"serving_plan": serving_plan}
