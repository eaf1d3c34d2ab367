#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: package_offer_info
short_description: Tells which packages of a driver a source offers
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Finds the packages of one branch or version in a folder of packages, in a repository that the host does not know yet, or in the
    host's own sources, before anything is installed or configured.
  - A repository is read with lists and settings of its own, which are gone afterwards.
attributes:
  check_mode:
    description: Runs the same in check mode.
    support: full
  diff_mode:
    description: Nothing is changed, so there is no difference to show.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: Debian
options:
  version:
    description: Branch (V(580)) or version (V(580.95.05)) that is wanted.
    type: str
    required: true
  packages:
    description:
      - Packages that are wanted. V(a|b) stands for the first of these that is offered.
      - Not used with O(directory), of which all packages are taken.
    type: list
    elements: str
    default: []
  directory:
    description: Folder with packages on the host.
    type: path
  driver_packages:
    description: Patterns of the packages in O(directory) that have to be of O(version).
    type: list
    elements: str
    default: ["nvidia-*", "libnvidia-*", "cuda-drivers*"]
  repository:
    description: Repository that the host does not know yet. The host's own sources when neither this nor O(directory) is given.
    type: dict
    suboptions:
      url:
        description: Address.
        type: str
        required: true
      suite:
        description: Name of the suite; ends with a slash for a flat repository.
        type: str
        required: true
      components:
        description: Components. None for a flat repository.
        type: list
        elements: str
        default: []
      key:
        description: Public key that the repository is signed with, in ASCII armour.
        type: str
        required: true
"""

EXAMPLES = r"""
- name: Look into a folder
  indiaai.inference.package_offer_info:
    version: "580"
    directory: /srv/driver
  register: offer

- name: Refuse what is not there
  ansible.builtin.assert:
    that: offer.problems == []
    fail_msg: "{{ offer.problems | join('; ') }}"
"""

RETURN = r"""
chosen:
  description: What is to be installed.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: Name of the package.
      type: str
      sample: nvidia-utils-580
    version:
      description: Version of the package.
      type: str
      sample: 580.95.05-0ubuntu1
    upstream:
      description: Version without epoch and revision.
      type: str
      sample: 580.95.05
    install:
      description: Argument for C(apt-get install).
      type: str
      sample: nvidia-utils-580=580.95.05-0ubuntu1
  sample:
    - {name: nvidia-utils-580, version: 580.95.05-0ubuntu1, upstream: 580.95.05, install: nvidia-utils-580=580.95.05-0ubuntu1}
problems:
  description: Why the packages cannot be installed from there. Empty when they can.
  returned: success
  type: list
  elements: str
  sample: ["the driver is there as 570.172.08, 565.57.01"]
"""

import fnmatch
import glob
import os
import shutil
import tempfile

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _package_offer

ARMOUR = "-----BEGIN PGP PUBLIC KEY BLOCK-----"


def last_lines(text):
    """The end of what a program said."""
    return " ".join(line.strip() for line in text.strip().splitlines()[-4:])


def directory(module, folder):
    """-> (chosen, problems)."""
    if not os.path.isdir(folder):
        return [], ["there is no folder %s on the host" % folder]
    files = sorted(glob.glob(os.path.join(glob.escape(folder), "*.deb")))
    if not files:
        return [], ["there is no package (*.deb) in %s" % folder]
    offers, problems = [], []
    native = module.run_command(["dpkg", "--print-architecture"], check_rc=True)[1].strip()
    for path in files:
        status, out, err = module.run_command(["dpkg-deb", "--show", "--showformat=${Package} ${Version} ${Architecture}", path])
        fields = out.split()
        if status != 0 or len(fields) != 3:
            problems.append("%s is no package: %s" % (path, last_lines(err)))
        elif fields[2] in (native, "all"):
            offers.append(_package_offer.offer(fields[0], fields[1], path))
    if problems:
        return [], problems
    if not offers:
        return [], ["none of the %d packages in %s is for %s" % (len(files), folder, native)]
    patterns = module.params["driver_packages"]
    chosen, problems = _package_offer.from_directory(
        offers, module.params["version"], lambda name: any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
    if not problems:
        # What the packages need and neither the folder nor the host has shows here, not half way through the installation.
        status, out, err = module.run_command(
            ["apt-get", "install", "--simulate", "--no-install-recommends", "--allow-downgrades", "--allow-change-held-packages"]
            + [entry["install"] for entry in chosen], environ_update={"LC_ALL": "C"})
        if status != 0:
            problems = ["apt cannot install them: %s" % last_lines(out + err)]
    return chosen, problems


def repository(module, wanted):
    """-> (chosen, problems)."""
    if not wanted["key"].lstrip().startswith(ARMOUR):
        return [], ["the key of the repository does not begin with %s" % ARMOUR]
    folder = tempfile.mkdtemp(prefix="indiaai-offer-")
    try:
        os.chmod(folder, 0o755)  # apt reads as a user of its own
        key, sources, lists = (os.path.join(folder, name) for name in ("key.asc", "sources.list", "lists"))
        os.makedirs(os.path.join(lists, "partial"))
        with open(key, "w", encoding="utf-8") as stream:
            stream.write(wanted["key"].strip() + "\n")
        os.chmod(key, 0o644)
        with open(sources, "w", encoding="utf-8") as stream:
            stream.write("deb [signed-by=%s] %s\n" % (key, " ".join([wanted["url"], wanted["suite"]] + wanted["components"])))
        settings = ["Dir::Etc::SourceList=" + sources, "Dir::Etc::SourceParts=/dev/null", "Dir::State::Lists=" + lists,
                    "Dir::Cache::pkgcache=", "Dir::Cache::srcpkgcache=", "APT::Update::Post-Invoke-Success=", "APT::Update::Error-Mode=any"]
        options = [part for setting in settings for part in ("-o", setting)]
        status, out, err = module.run_command(["apt-get"] + options + ["update"], environ_update={"LC_ALL": "C"})
        if status != 0 or "W: GPG error" in err or not os.path.exists(lists):
            return [], ["%s %s cannot be read: %s" % (wanted["url"], wanted["suite"], last_lines(err or out))]
        return sources_offer(module, options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sources_offer(module, options):
    """What apt knows, by its settings -> (chosen, problems)."""
    packages = module.params["packages"]
    dummy, out, dummy = module.run_command(["apt-cache"] + options + ["madison"] + _package_offer.candidates(packages), environ_update={"LC_ALL": "C"})
    return _package_offer.from_repository(packages, _package_offer.madison(out), module.params["version"])


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "version": {"type": "str", "required": True},
            "packages": {"type": "list", "elements": "str", "default": []},
            "directory": {"type": "path"},
            "driver_packages": {"type": "list", "elements": "str", "default": ["nvidia-*", "libnvidia-*", "cuda-drivers*"]},
            "repository": {
                "type": "dict",
                "options": {
                    "url": {"type": "str", "required": True},
                    "suite": {"type": "str", "required": True},
                    "components": {"type": "list", "elements": "str", "default": []},
                    "key": {"type": "str", "required": True, "no_log": False},
                },
            },
        },
        mutually_exclusive=[("directory", "repository")],
        supports_check_mode=True,
    )
    params = module.params
    if module.get_bin_path("apt-get") is None:
        module.fail_json(msg="Found: no apt-get on this host. Wanted: Debian or Ubuntu. Nothing was changed.")
    if params["directory"]:
        chosen, problems = directory(module, params["directory"])
    elif params["repository"]:
        chosen, problems = repository(module, params["repository"])
    else:
        chosen, problems = sources_offer(module, [])
    module.exit_json(changed=False, chosen=chosen, problems=problems)


if __name__ == "__main__":
    main()
