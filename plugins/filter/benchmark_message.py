# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_message
short_description: What a benchmark found, for a terminal
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Turns a result of M(indiaai.inference.llm_benchmark) into the lines that a person wants to read.
  - Where the callback that writes the report is not enabled, the comparison with the record C(before) is among them,
    and the line that enables it.
positional: label, callback_enabled
options:
  _input:
    description: Result of the module M(indiaai.inference.llm_benchmark), also of a skipped task.
    type: dict
    required: true
  label:
    description: Label of the record.
    type: str
    required: true
  callback_enabled:
    description: Whether the callback P(indiaai.inference.benchmark_recorder#callback) is enabled.
    type: bool
    default: true
"""

EXAMPLES = r"""
- name: Say what was measured
  ansible.builtin.debug:
    msg: "{{ benchmark | indiaai.inference.benchmark_message('after', true) }}"
"""

RETURN = r"""
_value:
  description: Lines of text.
  type: list
  elements: str
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.indiaai.inference.plugins.plugin_utils import _comparison

HINT = "For the report, add to [defaults] in ansible.cfg: callbacks_enabled = indiaai.inference.benchmark_recorder"


def benchmark_message(result, label, callback_enabled=True):
    """Lines for a terminal; see DOCUMENTATION."""
    if not isinstance(result, dict):
        raise AnsibleFilterError("found %s, wanted the result of llm_benchmark" % type(result).__name__)
    if result.get("skipped"):
        if label == "before":
            return ["Nothing to measure as 'before': inference_replaces names no server."]
        return ["Nothing to measure as '%s': there is no plan and no llm_benchmark_url." % label]
    if result.get("measured"):
        record = result["record"]
        lines = ["%s'%s' measured at %s, model %s" % (
            "STUB: " if record["stub"] else "", label, record["endpoint"]["url"], record["endpoint"]["model"])]
        lines += result["summary"] + record["notes"]
    else:
        lines = ["'%s' not measured: %s" % (label, result.get("reason"))]
    if not callback_enabled:
        stored = result.get("stored") or {}
        if stored.get("before") and stored.get("after"):
            lines += _comparison.table_lines(_comparison.compare(stored["before"], stored["after"]))
        lines.append(HINT)
    return lines


class FilterModule:
    """Filters for benchmark results."""

    def filters(self):
        return {"benchmark_message": benchmark_message}
