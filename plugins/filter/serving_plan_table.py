# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: serving_plan_table
short_description: Prints a serving plan as lines of a table
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - One line for each engine in the order in which they start, one for each GPU, one for each engine that is replaced.
options:
  _input:
    description: A plan from P(indiaai.inference.serving_plan#filter).
    type: dict
    required: true
"""

EXAMPLES = r"""
- name: Show the plan
  ansible.builtin.debug:
    msg: "{{ serving_plan_result | indiaai.inference.serving_plan_table }}"
"""

RETURN = r"""
_value:
  description: The lines.
  type: list
  elements: str
"""

from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_plain import plain
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_table import table


def serving_plan_table(plan):
    return table(plain(plan))


class FilterModule:
    """Filter: serving plan -> lines of text."""

    def filters(self):
        return {"serving_plan_table": serving_plan_table}
