#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: deb_directory
short_description: Install packages from a directory of .deb files
version_added: 1.0.0
description:
  - For hosts without a network. Finds the wanted packages and what they depend on in a directory, and gives those files to apt in
    one call. Several versions of a package may lie there; the newest one that fits is taken.
  - A package that is installed stays as it is, unless a version is asked for. Nothing is ever removed for another package.
options:
  path:
    description: Directory on the host with the C(.deb) files. Folders in it are not searched.
    type: path
    required: true
  names:
    description: Names of packages, or C(name=version).
    type: list
    elements: str
    required: true
  lock_timeout:
    description: Seconds to wait for another program that uses apt.
    type: int
    default: 300
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Returns the packages before and after.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: Debian
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Docker from a disk
  indiaai.inference.deb_directory:
    path: /media/packages
    names: [docker-ce, docker-ce-cli, containerd.io]
"""

RETURN = r"""
packages:
  description: What was installed, dependencies among it.
  returned: success
  type: list
  elements: dict
  sample: [{"name": "docker-ce", "version": "5:28.5.2-1~debian.12~bookworm", "file": "/media/packages/docker-ce.deb"}]
not_found:
  description: Dependencies that neither the host nor the directory has. apt was asked for them as well.
  returned: success
  type: list
  elements: str
  sample: []
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _deb_directory


def installed_packages(module):
    """{package: {"version", "provides"}} of the host."""
    argv = ["dpkg-query", "--show", "--showformat=${db:Status-Status}\t${Package}\t${Version}\t${Provides}\n"]
    found = {}
    for line in module.run_command(argv, check_rc=True)[1].splitlines():
        words = line.split("\t")
        if words[0] == "installed":
            found[words[1]] = {"version": words[2], "provides": words[3]}
    return found


def read_directory(module, path):
    """{path of a file: its fields}; a file that is no package stops here."""
    files = {}
    for name in sorted(glob.glob(os.path.join(path, "*.deb"))):
        rc, out, err = module.run_command(["dpkg-deb", "--field", name] + list(_deb_directory.FIELDS))
        if rc != 0:
            module.fail_json(msg="%s is no usable package: %s. Nothing was installed. Replace it and run again." % (name, err.strip()))
        files[name] = _deb_directory.fields(out)
    return files


def reasons(output):
    """What apt and dpkg say of their failure; dpkg says it among its progress."""
    lines = [line.strip() for line in output.splitlines()]
    told = [line for line in lines if line.startswith(("E:", "dpkg:")) or " depends on " in line or " Depends:" in line]
    return "; ".join(told or lines[-5:])


def main():
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "names": {"type": "list", "elements": "str", "required": True},
            "lock_timeout": {"type": "int", "default": 300},
        },
        supports_check_mode=True,
    )
    module.run_command_environ_update = {
        "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive",
        # On Ubuntu needrestart would restart services, Docker among them, after the installation.
        "NEEDRESTART_SUSPEND": "1",
    }
    path = module.params["path"]
    if not os.path.isdir(path):
        module.fail_json(msg="%s: found no directory, wanted one with .deb files on the host. Nothing was installed." % path)

    def compare(one, word, other):
        return module.run_command(["dpkg", "--compare-versions", one, word, other])[0] == 0

    installed = installed_packages(module)
    architecture = module.run_command(["dpkg", "--print-architecture"], check_rc=True)[1].strip()
    try:
        directory = _deb_directory.Directory(read_directory(module, path), installed, compare, architecture)
        chosen, missing = directory.choose(module.params["names"])
    except _deb_directory.DirectoryError as exc:
        module.fail_json(msg="%s: %s. Nothing was installed." % (path, exc))
    result = {
        "changed": bool(chosen), "not_found": missing,
        "packages": [{"name": item["Package"], "version": item["Version"], "file": item["path"]} for item in chosen],
        "diff": {
            "before": "".join("%s %s\n" % (item["Package"], installed[item["Package"]]["version"])
                              for item in chosen if item["Package"] in installed),
            "after": "".join("%s %s\n" % (item["Package"], item["Version"]) for item in chosen),
        },
    }
    if chosen and not module.check_mode:
        argv = ["apt-get", "install", "--yes", "--no-install-recommends", "--no-remove", "-o", "Dpkg::Options::=--force-confold",
                "-o", "DPkg::Lock::Timeout=%d" % module.params["lock_timeout"]] + [item["path"] for item in chosen]
        rc, out, err = module.run_command(argv)
        if rc != 0:
            lacking = "Neither the host nor the directory has: %s. " % ", ".join(missing) if missing else ""
            module.fail_json(msg="%s: apt did not install %s. %s%s" % (
                path, ", ".join(item["Package"] for item in chosen), lacking, reasons(out + err)), stdout=out, **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
