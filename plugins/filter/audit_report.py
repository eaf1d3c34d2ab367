# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: audit_report
author: IndiaAI Inference contributors (@indiaai)
version_added: 1.0.0
short_description: A host audit as text or as inventory entries
description:
  - Turns what M(indiaai.inference.host_audit_info) found into a report for a person, or into the entries of
    C(inference_replaces) for the engines that the collection did not start.
positional: kind
options:
  _input:
    description: The audit, optionally with the facts of M(indiaai.inference.gpu_facts) under C(gpu).
    type: dict
    required: true
  kind:
    description:
      - V(text) is the report, V(replaces) a list of entries, V(replaces_yaml) the same as YAML to paste.
    type: str
    choices: [text, replaces, replaces_yaml]
    default: text
  host:
    description: Name of the host in the title of the report.
    type: str
    default: this host
"""

EXAMPLES = r"""
- name: Print the report
  ansible.builtin.debug:
    msg: "{{ host_audit_result | indiaai.inference.audit_report('text', host=inventory_hostname) }}"

- name: What a take-over has to name
  ansible.builtin.debug:
    msg: "{{ host_audit_result | indiaai.inference.audit_report('replaces') }}"
"""

RETURN = r"""
_value:
  description: Text, or a list of dictionaries for V(replaces).
  type: raw
"""

from ansible.errors import AnsibleFilterError

from ansible_collections.indiaai.inference.plugins.plugin_utils import _audit_report


def audit_report(audit, kind="text", host="this host"):
    """Jinja filter, see DOCUMENTATION."""
    if not isinstance(audit, dict) or "engines" not in audit:
        raise AnsibleFilterError("audit_report: found %s, wanted is the audit that host_audit_info returns"
                                 % type(audit).__name__)
    if kind == "text":
        return _audit_report.text(audit, host)
    if kind == "replaces":
        return _audit_report.replaces(audit)
    if kind == "replaces_yaml":
        return _audit_report.replaces_yaml(audit)
    raise AnsibleFilterError("audit_report: found kind %r, wanted is text, replaces or replaces_yaml" % kind)


class FilterModule:
    """Filters of this file."""

    def filters(self):
        """Name -> function."""
        return {"audit_report": audit_report}
