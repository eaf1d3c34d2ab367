#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_persistence
short_description: Have nvidia-persistenced keep the driver loaded, also where the distribution's unit does not
version_added: 1.0.0
description:
  - Writes a drop-in for C(nvidia-persistenced.service) and starts the daemon with it. Ubuntu's unit starts the daemon without persistence
    mode and stops it when nothing needs it; the drop-in takes both away and keeps the user that the distribution runs the daemon as.
  - Where there is no such unit nothing is done; M(indiaai.inference.gpu_clocks) falls back to the legacy mode then.
  - The daemon is started anew only when the drop-in changed. What was locked before is locked again by M(indiaai.inference.gpu_clocks).
options:
  state:
    description: V(absent) takes the drop-in away and lets a running daemon start as its distribution has it.
    type: str
    choices: [present, absent]
    default: present
  start:
    description: Whether to start the daemon. It cannot start where the driver is not loaded.
    type: bool
    default: true
  stop_seconds:
    description: How long a stop of the daemon may take before it is killed, so that it cannot hang a reboot.
    type: int
    default: 20
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows the drop-in before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Persistence through the daemon
  indiaai.inference.gpu_persistence:
    undo_role: gpu_clocks
"""

RETURN = r"""
through:
  description: V(daemon) or, where there is no unit of it, V(none).
  returned: success
  type: str
  sample: daemon
active:
  description: Whether the daemon runs, as systemd says. In check mode as it was found.
  returned: success
  type: bool
  sample: true
command:
  description: Command that the daemon is started with, null without a unit.
  returned: success
  type: str
  sample: /usr/bin/nvidia-persistenced --user nvidia-persistenced --verbose --persistence-mode
path:
  description: The drop-in.
  returned: success
  type: str
  sample: /etc/systemd/system/nvidia-persistenced.service.d/zz-indiaai-inference.conf
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _persistenced
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_init
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_record
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal
from ansible_collections.indiaai.inference.plugins.module_utils._host import units

UNIT = gpu_init.DAEMON
PATH = "/etc/systemd/system/%s.d/zz-indiaai-inference.conf" % UNIT
_RUNS = ("active", "activating", "reloading")


def read(path):
    """Text of a file, None when there is none or it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def show(module):
    """What systemd says about the unit -> {property: value}, empty where there is no systemd."""
    program = module.get_bin_path("systemctl")
    if not program:
        return {}
    rc, out, dummy = module.run_command([program, "show", "--property=LoadState,ActiveState,FragmentPath,DropInPaths", UNIT])
    return dict(line.split("=", 1) for line in out.splitlines() if "=" in line) if rc == 0 else {}


def systemctl(module, *arguments):
    """Run systemctl; its failure is ours."""
    rc, out, err = module.run_command([module.get_bin_path("systemctl", required=True)] + list(arguments))
    if rc != 0:
        module.fail_json(msg="systemctl %s: %s" % (" ".join(arguments), (err or out).strip()))


def foreign(found):
    """Texts of unit file and drop-ins without ours, in systemd's order."""
    paths = [found.get("FragmentPath", "")] + [path for path in found.get("DropInPaths", "").split() if path != PATH]
    return [read(path) or "" for path in paths if path]


def write(module, before, after, running):
    """Put the drop-in in place and have the daemon start with it."""
    if module.params["undo_role"]:
        items = [{"kind": "file", "path": PATH}, {"kind": "unit", "name": UNIT}]
        journal.Journal().record(module.params["undo_role"], items, dry=module.check_mode)
    if module.check_mode:
        return
    if after is None:
        os.unlink(PATH)
    elif before != after:
        os.makedirs(os.path.dirname(PATH), 0o755, exist_ok=True)
        atomic.write(PATH, after, 0o644)
    if before != after:
        systemctl(module, "daemon-reload")
    if running and before != after:
        systemctl(module, "restart", UNIT)
        gpu_record.Record().distrust()  # without its only client the driver was unloaded for a moment
    elif after is not None and not running and module.params["start"]:
        systemctl(module, "start", UNIT)


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "start": {"type": "bool", "default": True},
            "stop_seconds": {"type": "int", "default": 20},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    found = show(module)
    exists = found.get("LoadState") == "loaded"
    running = found.get("ActiveState") in _RUNS
    present = module.params["state"] == "present"
    start = _persistenced.command(foreign(found)) if exists else None
    before = read(PATH)
    after = _persistenced.drop_in(start, module.params["stop_seconds"], units.NOTICE) if present and exists else None
    changed = before != after or (present and exists and not running and module.params["start"])
    try:
        if changed:
            write(module, before, after, running)
    except (OSError, journal.JournalError) as exc:
        module.fail_json(msg="cannot set up %s: %s" % (UNIT, exc))
    if changed and not module.check_mode:
        running = show(module).get("ActiveState") in _RUNS
    module.exit_json(
        changed=changed, through="daemon" if exists else "none", active=running,
        command=start and (_persistenced.persistent(start) if present else start), path=PATH,
        diff={"before_header": PATH, "after_header": PATH, "before": before or "", "after": after or ""})


if __name__ == "__main__":
    main()
