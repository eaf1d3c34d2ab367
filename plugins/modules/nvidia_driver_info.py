#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: nvidia_driver_info
short_description: Tells whether the parts of the NVIDIA driver are in step
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Compares the kernel module that is loaded, the one on the disk, the user-space libraries and the fabric manager. They work
    together only at exactly the same version.
  - Reads files and asks C(modinfo) and C(dpkg-query). Needs neither a GPU nor a driver, and never starts C(nvidia-smi).
attributes:
  check_mode:
    description: Runs the same in check mode.
    support: full
  diff_mode:
    description: Nothing is changed, so there is no difference to show.
    support: none
options:
  wanted:
    description: Branch (V(580)) or version (V(580.95.05)) that RV(satisfied) is about. Any when omitted.
    type: str
  sysfs_root:
    description: Where sysfs is mounted. Another folder than V(/sys) when the module runs in a container that has the host's there.
    type: path
    default: /sys
  procfs_root:
    description: Where procfs is mounted. See O(sysfs_root).
    type: path
    default: /proc
"""

EXAMPLES = r"""
- name: Look at the driver
  indiaai.inference.nvidia_driver_info:
    wanted: "580"
  register: driver

- name: Refuse another branch
  ansible.builtin.assert:
    that: driver.satisfied
    fail_msg: "{{ driver.reason }}"
"""

RETURN = r"""
state:
  description:
    - V(ok) all parts are in step. V(no_gpu) there is nothing to have a driver for.
    - V(reboot_required) the installed parts are in step, and the kernel still has another version, or none, loaded.
    - V(driver_missing) a GPU and no driver. V(incomplete) a part is not there.
    - V(out_of_step) installed parts differ, so a reboot does not help.
    - V(not_loaded) the parts were installed before the last boot, and the kernel did not load them.
  returned: success
  type: str
  sample: reboot_required
reason:
  description: The state in words.
  returned: success
  type: str
  sample: driver 580.95.05 is installed, and the kernel has 580.82.07 loaded
version:
  description: Installed version.
  returned: success
  type: str
  sample: 580.95.05
satisfied:
  description: Whether the installed version is O(wanted). True where there is no GPU.
  returned: success
  type: bool
  sample: true
reboot_required:
  description: Whether a reboot brings the parts in step.
  returned: success
  type: bool
  sample: true
notes:
  description: What does not stand in the way now and may do so later.
  returned: success
  type: list
  elements: str
  sample: ["kernel 6.8.0-51-generic, which the next boot may take, has no nvidia module: the driver would be gone after it"]
gpus:
  description: NVIDIA GPUs on the PCI bus, V(null) when the bus cannot be read.
  returned: success
  type: int
  sample: 8
nvswitches:
  description: NVSwitches on the PCI bus, V(null) when the bus cannot be read.
  returned: success
  type: int
  sample: 4
kernel:
  description: Release of the running kernel.
  returned: success
  type: str
  sample: 6.8.0-50-generic
next_kernel:
  description: Release of the newest kernel when it is not the running one.
  returned: success
  type: str
  sample: null
loaded:
  description: Version that the kernel has loaded.
  returned: success
  type: str
  sample: 580.82.07
module:
  description: Version of the module on the disk for the running kernel.
  returned: success
  type: str
  sample: 580.95.05
module_next:
  description: Version of the module on the disk for RV(next_kernel).
  returned: success
  type: str
  sample: null
libraries:
  description: Versions of the user-space libraries that are there.
  returned: success
  type: dict
  sample: {libcuda.so.1: 580.95.05, libnvidia-ml.so.1: 580.95.05}
fabric_manager:
  description: Version of the fabric manager's package.
  returned: success
  type: str
  sample: 580.95.05
holders:
  description: Processes that have a GPU open, the driver's own services left out. They would end with a reboot.
  returned: success
  type: list
  elements: dict
  sample:
    - {pid: 10309, name: "VLLM::EngineCore"}
engines:
  description: Units of engines that are up. Looked for only where a reboot is required.
  returned: success
  type: list
  elements: str
  sample: [inference-engine@demo.service]
"""

import glob
import os
import platform
import re

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _driver_match, _gpu_facts

KERNELS = "/lib/modules"
LIBRARY_FOLDERS = ("/usr/lib/%s-linux-gnu" % platform.machine(), "/usr/lib64", "/usr/lib")
GPU_NODE = re.compile(r"/dev/nvidia\d+\Z")


def read(path):
    """Text of a file, None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return None


def changed_at(path):
    """When a file came to this disk (its own time is that of its build), None when it is not there."""
    try:
        return os.stat(path).st_ctime
    except (OSError, TypeError):
        return None


def pci(sysfs):
    """-> (GPUs, NVSwitches), (None, None) without a bus."""
    folder = os.path.join(sysfs, "bus/pci/devices")
    if not os.path.isdir(folder):
        return None, None
    gpus = switches = 0
    for device in glob.glob(os.path.join(glob.escape(folder), "*")):
        kind = [read(os.path.join(device, name)) or "" for name in ("vendor", "class")]
        gpus += _gpu_facts.is_gpu(*kind)
        switches += _driver_match.is_nvswitch(*kind)
    return gpus, switches


def libraries():
    """{name: (version or None, path)} of those that are there; the first folder wins, as for the linker."""
    found = {}
    for name in _driver_match.LIBRARIES:
        for folder in LIBRARY_FOLDERS:
            path = os.path.join(folder, name)
            if os.path.exists(path):
                real = os.path.realpath(path)
                found[name] = (_driver_match.library_version(real), real)
                break
    return found


def module_on_disk(module, kernel):
    """{"version", "path"} of the driver's module for a kernel, None when it has none."""
    program = module.get_bin_path("modinfo", opt_dirs=["/usr/sbin", "/sbin"])
    if program is None or kernel is None:
        return None
    for name in _driver_match.MODULES:
        status, out, dummy = module.run_command([program, "-k", kernel, name])
        found = _driver_match.modinfo(out) if status == 0 else None
        if found:
            return found
    return None


def fabric_manager(module):
    """Version of the installed package, None without one."""
    program = module.get_bin_path("dpkg-query")
    if program is None:
        return None
    shown = "--showformat=${Package} ${db:Status-Status} ${Version}\\n"
    dummy, out, dummy = module.run_command([program, "--show", shown, "nvidia-fabricmanager*"])
    for line in out.splitlines():
        fields = line.split()
        if len(fields) == 3 and fields[1] == "installed" and re.match(r"nvidia-fabricmanager(-\d+)?\Z", fields[0]):
            return _driver_match.package_version(fields[2])
    return None


def booted_at(procfs):
    """Seconds since 1970, None when the kernel does not say."""
    match = re.search(r"^btime (\d+)$", read(os.path.join(procfs, "stat")) or "", re.M)
    return int(match.group(1)) if match else None


def holders(procfs):
    """Processes with a GPU open."""
    found = []
    for folder in glob.glob(os.path.join(glob.escape(procfs), "[0-9]*")):
        try:
            nodes = [os.readlink(os.path.join(folder, "fd", name)) for name in os.listdir(os.path.join(folder, "fd"))]
        except OSError:
            continue  # ended meanwhile
        name = (read(os.path.join(folder, "comm")) or "").strip()
        if any(GPU_NODE.match(node) for node in nodes) and name not in _driver_match.SERVICES:
            found.append({"pid": int(os.path.basename(folder)), "name": name})
    return sorted(found, key=lambda process: process["pid"])


def engines(module):
    """Engine units that are up or on their way."""
    program = module.get_bin_path("systemctl")
    if program is None:
        return []
    states = "--state=active,activating,reloading,deactivating"
    dummy, out, dummy = module.run_command([program, "list-units", "--plain", "--no-legend", "--no-pager", states, "inference-engine@*.service"])
    return sorted(line.split()[0] for line in out.splitlines() if line.strip())


def look(module):
    """What _driver_match.judge() wants."""
    sysfs, procfs = module.params["sysfs_root"], module.params["procfs_root"]
    gpus, switches = pci(sysfs)
    loaded = _driver_match.loaded_version(read(os.path.join(procfs, "driver/nvidia/version")))
    kernel = (read(os.path.join(procfs, "sys/kernel/osrelease")) or platform.release()).strip()
    found = {"gpus": gpus, "nvswitches": switches, "kernel": kernel, "next_kernel": None, "loaded": loaded, "module": None, "module_next": None,
             "libraries": {}, "fabric_manager": None, "installed_at": None, "booted_at": booted_at(procfs)}
    if not gpus and loaded is None:
        return found
    kernels = [os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(KERNELS, "*", "modules.dep"))]
    found["next_kernel"] = _driver_match.next_kernel(kernel, kernels)
    now, following, there = module_on_disk(module, kernel), module_on_disk(module, found["next_kernel"]), libraries()
    times = [changed_at(item["path"]) for item in (now, following) if item] + [changed_at(path) for dummy, path in there.values()]
    found.update(
        module=now and now["version"],
        module_next=following and following["version"],
        libraries={name: version for name, (version, dummy) in there.items()},
        fabric_manager=fabric_manager(module),
        installed_at=max([when for when in times if when is not None], default=None),
    )
    return found


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "wanted": {"type": "str"},
            "sysfs_root": {"type": "path", "default": "/sys"},
            "procfs_root": {"type": "path", "default": "/proc"},
        },
        supports_check_mode=True,
    )
    found = look(module)
    verdict = _driver_match.judge(found, module.params["wanted"])
    if verdict["state"] == "no_gpu":
        busy, units = [], []
    else:
        busy = holders(module.params["procfs_root"])
        units = engines(module) if verdict["reboot_required"] else []
    for name in ("installed_at", "booted_at"):
        del found[name]
    module.exit_json(changed=False, holders=busy, engines=units, **dict(found, **verdict))


if __name__ == "__main__":
    main()
