#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: package_hold
short_description: Keep installed packages at their versions
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Sets or takes back dpkg's hold of all installed packages that match O(names), in one call. A held package is not upgraded by
    apt, nor by unattended upgrades.
  - Packages that are not installed are left out, so the patterns may name more than a host has.
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying the target.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: Debian
options:
  names:
    description: Names of packages, with shell patterns such as V(libnvidia-*). With or without an architecture.
    type: list
    elements: str
    required: true
  state:
    description: Whether the packages are kept at their versions or let go.
    type: str
    choices: [held, released]
    default: held
  undo_role:
    description:
      - Role under whose name each package that changes goes into the undo journal, so that M(indiaai.inference.undo_journal)
        releases only what was held here. Nothing is recorded when omitted.
    type: str
  lock_timeout:
    description: Seconds to wait for another program that uses dpkg.
    type: int
    default: 300
seealso:
  - module: indiaai.inference.undo_journal
"""

EXAMPLES = r"""
- name: Keep the driver at its version
  indiaai.inference.package_hold:
    names: ["nvidia-*", "libnvidia-*", "cuda-drivers*"]
    undo_role: nvidia_driver

- name: Let it go
  indiaai.inference.package_hold:
    names: ["nvidia-*", "libnvidia-*", "cuda-drivers*"]
    state: released
"""

RETURN = r"""
packages:
  description: Installed packages that match, as they are afterwards.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the package.
      type: str
      sample: nvidia-driver-580
    version:
      description: Installed version.
      type: str
      sample: 580.95.05-0ubuntu1
    held:
      description: Whether it is kept at that version.
      type: bool
      sample: true
  sample:
    - {name: nvidia-driver-580, version: 580.95.05-0ubuntu1, held: true}
changed_packages:
  description: Names of those that this call held or released.
  returned: success
  type: list
  elements: str
  sample: [nvidia-driver-580]
unmatched:
  description: Names and patterns for which nothing is installed.
  returned: success
  type: list
  elements: str
  sample: ["cuda-drivers*"]
"""

import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _package_hold
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal


def read(module):
    """The installed packages."""
    program = module.get_bin_path("dpkg-query")
    if program is None:
        module.fail_json(msg="Found: no dpkg-query on this host. Wanted: Debian or Ubuntu, whose packages can be held. Nothing was changed.")
    dummy, shown, dummy = module.run_command([program, "--show", "--showformat=" + _package_hold.SHOW_FORMAT], check_rc=True)
    return _package_hold.installed(shown)


def write(module, names, held):
    """One call of dpkg; waits while another program has its database."""
    program = module.get_bin_path("dpkg", required=True)
    end = time.monotonic() + module.params["lock_timeout"]
    while True:
        status, dummy, err = module.run_command([program, "--set-selections"], data=_package_hold.selections(names, held))
        if status == 0:
            return
        if "lock" not in err or time.monotonic() >= end:
            module.fail_json(msg="dpkg did not take the selections: %s" % (err.strip() or "exit code %s" % status))
        time.sleep(1)


def text(packages):
    """Side of a difference."""
    return "".join("%s %s%s\n" % (package["name"], package["version"], " held" if package["held"] else "") for package in packages)


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "names": {"type": "list", "elements": "str", "required": True},
            "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
            "undo_role": {"type": "str"},
            "lock_timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    patterns, held = module.params["names"], module.params["state"] == "held"
    wrong = _package_hold.problems(patterns)
    if wrong:
        module.fail_json(msg="names: %s. Nothing was changed." % "; ".join(wrong))
    found, unmatched = _package_hold.chosen(read(module), patterns)
    names = [package["name"] for package in found if package["held"] != held]
    after = [dict(package, held=held) for package in found]
    if names:
        if module.params["undo_role"]:
            try:
                things = [{"kind": "hold", "name": name} for name in names]
                journal.Journal().record(module.params["undo_role"], things, dry=module.check_mode)
            except journal.JournalError as exc:
                module.fail_json(msg=str(exc))
        if not module.check_mode:
            write(module, names, held)
    diff = {"before": text(found), "after": text(after), "before_header": "packages", "after_header": "packages"}
    module.exit_json(changed=bool(names), packages=after, changed_packages=names, unmatched=unmatched, diff=diff)


if __name__ == "__main__":
    main()
