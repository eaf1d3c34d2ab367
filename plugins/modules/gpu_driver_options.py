#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_driver_options
short_description: Options of the NVIDIA kernel module, and whether they hold already
version_added: 1.0.0
description:
  - Keeps options of the kernel module in a file of C(modprobe.d) and compares them with the loaded module.
  - The module reads its options when it is loaded, so a change holds after the next boot. Where the kernel's initial file system
    may hold the NVIDIA module, it is made anew. Nothing is unloaded and nothing is rebooted.
options:
  options:
    description: The options, by their full names such as V(NVreg_EnableStreamMemOPs). Empty for no file.
    type: dict
    default: {}
  path:
    description: The file.
    type: path
    default: /etc/modprobe.d/zz-indiaai-inference-nvidia.conf
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows the file before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Let the GPU poll on memory
  indiaai.inference.gpu_driver_options:
    options:
      NVreg_EnableStreamMemOPs: 1
  register: driver_options

- name: Say what waits for a reboot
  ansible.builtin.debug:
    var: driver_options.reboot_reasons
  when: driver_options.reboot_required
"""

RETURN = r"""
outcome:
  description: Each option, what the loaded module has, and how it stands.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The option.
      type: str
      returned: always
      sample: NVreg_EnableStreamMemOPs
    wanted:
      description: Its value in the file.
      type: str
      returned: always
      sample: "1"
    running:
      description: Its value in the loaded module, null when the module is not loaded or has no such option.
      type: str
      returned: always
      sample: "0"
    state:
      description: V(ok), V(reboot_required), V(not_loaded) (holds as soon as the module is loaded) or V(unknown) (no such option).
      type: str
      returned: always
      sample: reboot_required
reboot_required:
  description: Whether the loaded module has other values.
  returned: success
  type: bool
  sample: true
reboot_reasons:
  description: Why.
  returned: success
  type: list
  elements: str
  sample: ["NVreg_EnableStreamMemOPs is 0 in the loaded driver, wanted 1"]
path:
  description: The file.
  returned: success
  type: str
  sample: /etc/modprobe.d/zz-indiaai-inference-nvidia.conf
"""

import glob
import os
import platform

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _driver_options
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal

_PARAMS = "/proc/driver/nvidia/params"


def read(path):
    """Text of a file, None when there is none or it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def put(path, text):
    """Write the file, or remove it."""
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    atomic.write(path, text, 0o644)


def renew_initramfs(module):
    """The initial file system holds copies of modprobe.d; make it anew where the system has one of its own."""
    program = module.get_bin_path("update-initramfs")
    release = platform.release()
    if not program or not os.path.exists("/boot/initrd.img-" + release):
        return
    rc, out, err = module.run_command([program, "-u", "-k", release])
    if rc != 0:
        module.warn("update-initramfs failed with exit code %d: %s" % (rc, (err or out).strip().splitlines()[-1:]))


def reasons(rows, gone, loaded):
    """Why a reboot is needed -> [text]."""
    found = ["%s is %s in the loaded driver, wanted %s" % (row["name"], row["running"], row["wanted"])
             for row in rows if row["state"] == "reboot_required"]
    return found + ["%s is not set any more, and holds until then" % name for name in gone if loaded]


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "options": {"type": "dict", "default": {}},
            "path": {"type": "path", "default": "/etc/modprobe.d/zz-indiaai-inference-nvidia.conf"},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    options, path = module.params["options"], module.params["path"]
    problems = _driver_options.check(options)
    if problems:
        module.fail_json(msg="Nothing was changed. gpu_clocks_driver_options: %s" % "; ".join(problems))
    before, after = read(path), _driver_options.text(options)
    running = read(_PARAMS)
    rows = _driver_options.compare(options, None if running is None else _driver_options.params(running))
    changed = before != after
    try:
        if changed:
            if module.params["undo_role"]:
                journal.Journal().record(module.params["undo_role"], [{"kind": "file", "path": path}], dry=module.check_mode)
            if not module.check_mode:
                put(path, after)
                renew_initramfs(module)
    except (OSError, journal.JournalError) as exc:
        module.fail_json(msg="cannot write %s: %s" % (path, exc))
    for text in _driver_options.warnings(options):
        module.warn(text)
    unknown = [row["name"] for row in rows if row["state"] == "unknown"]
    if unknown:
        module.warn("this driver has no option %s; it ignores it" % ", ".join(unknown))
    others = [(name, read(name) or "") for name in sorted(glob.glob(os.path.dirname(path) + "/*.conf")) if name != path]
    for name, option in _driver_options.set_elsewhere(options, others):
        module.warn("%s sets %s too" % (name, option))
    why = reasons(rows, _driver_options.dropped(before, options), running is not None)
    module.exit_json(
        changed=changed, outcome=rows, reboot_required=bool(why), reboot_reasons=why, path=path,
        diff={"before_header": path, "after_header": path, "before": before or "", "after": after or ""})


if __name__ == "__main__":
    main()
