#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: undo_journal
short_description: Record what a host was like before a change, and put it back
version_added: 1.0.0
description:
  - Keeps one journal per host in C(/var/lib/indiaai-inference/undo). A role records every thing it is about to change
    B(before) it changes it; O(state=restored) puts all of it back, newest first.
  - The first record of a thing wins, so repeating a role never replaces the original by our own version.
  - A thing that several roles recorded is put back when the last of them is restored.
  - The journal survives power cuts and a restore that was killed half way; repeat the task.
author:
  - IndiaAI Inference contributors (@indiaai)
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying the target.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
options:
  role:
    description:
      - The role that the entries belong to.
      - V(all) is allowed with O(state=restored) and undoes every role.
    type: str
    required: true
  state:
    description:
      - V(recorded) notes the present state of O(items) that are not in the journal yet.
      - V(restored) undoes what the role recorded and forgets it. Entries that fail stay in the journal.
    type: str
    choices: [recorded, restored]
    default: recorded
  items:
    description: What is going to be changed.
    type: list
    elements: dict
    default: []
    suboptions:
      kind:
        description:
          - V(file) saves content, mode and owner of O(items[].path), or that it is absent; symbolic links are saved as links.
          - V(directory) is removed again when it was absent and is empty, or with O(items[].purge).
          - V(sysctl) saves the value of the kernel setting O(items[].key).
          - V(unit) saves whether the systemd unit O(items[].name) exists, is enabled, masked and active.
          - V(container) saves whether the Docker container O(items[].name) runs, and its restart policy.
          - V(package) saves the version; packages are never removed, the result says so.
          - V(hold) saves whether the installed package O(items[].name) was held at its version.
          - V(user) and V(group) are removed again when they were absent.
          - V(gpu) saves one setting of one GPU, O(items[].name) is its UUID and V(persistence), V(power_limit), V(sm_clock) or V(memory_clock).
            A locked clock cannot be read; the way back is no lock.
          - V(sysfs) saves the value of the file O(items[].path) under C(/sys).
        type: str
        required: true
        choices: [file, directory, sysctl, unit, container, package, hold, user, group, gpu, sysfs]
      path:
        description: Absolute path of a V(file), V(directory) or V(sysfs) value.
        type: path
      key:
        description: Name of a kernel setting, for example V(vm.swappiness).
        type: str
      name:
        description: Name of a unit, container, package (also of a hold), user or group. A unit without a suffix is a service.
        type: str
      purge:
        description: Remove a V(directory) that was absent before even when it is not empty.
        type: bool
        default: false
"""

EXAMPLES = r"""
- name: Record what is about to change
  indiaai.inference.undo_journal:
    role: kernel_tuning
    items:
      - kind: file
        path: /etc/sysctl.d/90-indiaai-inference.conf
      - kind: sysctl
        key: net.core.somaxconn

- name: Put everything back that the role changed
  indiaai.inference.undo_journal:
    role: kernel_tuning
    state: restored
"""

RETURN = r"""
recorded:
  description: Things that were noted by this call.
  returned: O(state=recorded)
  type: list
  elements: str
  sample: ["file /etc/sysctl.d/90-indiaai-inference.conf", "sysctl net.core.somaxconn"]
restored:
  description: Things that are as they were before.
  returned: O(state=restored)
  type: list
  elements: str
  sample: ["sysctl net.core.somaxconn", "file /etc/sysctl.d/90-indiaai-inference.conf"]
kept:
  description: Things that stay as they are, each with the reason.
  returned: O(state=restored)
  type: list
  elements: dict
  sample:
    - item: package docker.io
      reason: "packages stay: is 20.10.24, was not installed"
failed:
  description: Things that could not be put back now; they stay in the journal.
  returned: O(state=restored)
  type: list
  elements: dict
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils._host import journal

_REQUIRED = [("kind", kind, [key]) for kind, key in sorted(journal.KINDS.items())]


def record(module, book):
    """state: recorded."""
    new = book.record(module.params["role"], module.params["items"], dry=module.check_mode)
    names = [journal.describe(item) for item in new]
    after = "".join(name + "\n" for name in names)
    return {"changed": bool(names), "recorded": names, "diff": {"before": "", "after": after, "after_header": "undo journal"}}


def restore(module, book):
    """state: restored."""
    result = book.restore(module.params["role"], dry=module.check_mode)
    for text in result.pop("warnings"):
        module.warn(text)
    before = [entry["item"] for entry in result["kept"] + result["failed"]] + result["restored"]
    diff = {"before": "".join(name + "\n" for name in sorted(before)), "after": "", "before_header": "undo journal"}
    return dict(result, changed=bool(result["restored"] or result["kept"]), diff=diff)


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "role": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["recorded", "restored"], "default": "recorded"},
            "items": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "kind": {"type": "str", "required": True, "choices": list(journal.KINDS)},
                    "path": {"type": "path"},
                    "key": {"type": "str", "no_log": False},
                    "name": {"type": "str"},
                    "purge": {"type": "bool", "default": False},
                },
                "required_if": _REQUIRED,
            },
        },
        supports_check_mode=True,
    )
    if module.params["state"] == "recorded" and module.params["role"] == "all":
        module.fail_json(msg="role: found 'all', wanted the name of the role that makes the change")
    try:
        book = journal.Journal()
        result = record(module, book) if module.params["state"] == "recorded" else restore(module, book)
    except journal.JournalError as exc:
        module.fail_json(msg=str(exc))
    if result.get("failed"):
        reasons = "; ".join("%s: %s" % (entry["item"], entry["reason"]) for entry in result["failed"])
        module.fail_json(msg="could not be put back: " + reasons, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
