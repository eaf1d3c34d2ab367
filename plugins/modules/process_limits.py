#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: process_limits
short_description: Raise the limits of open files and locked memory for logins and services
version_added: 1.0.0
description:
  - Writes a file in C(/etc/security/limits.d), which holds for logins, and a drop-in of systemd's defaults, which holds for services
    that are started after the next boot. systemd is not reloaded for it; a reload can take the GPUs from running containers.
  - A limit is raised and never lowered, and is never above what this machine can grant, because a login whose limits cannot be set
    is refused.
  - Containers have the limits that Docker gives them; role C(docker_engine) cares for those.
options:
  open_files:
    description: Open files of a process. V(0) leaves them alone.
    type: int
    default: 1048576
  locked_memory:
    description: Locked memory of a process in KiB, or V(unlimited). V(0) leaves it alone.
    type: str
    default: unlimited
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows the files before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Limits of logins and services
  indiaai.inference.process_limits:
    undo_role: kernel_tuning
"""

RETURN = r"""
limits:
  description: Each limit as wanted, as written, and how it ended. Locked memory is in KiB, null means unlimited.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: V(nofile) or V(memlock).
      type: str
      returned: always
      sample: nofile
    wanted:
      description: Value to reach.
      type: int
      returned: always
      sample: 1048576
    value:
      description: Value that is written.
      type: int
      returned: always
      sample: 1048576
    state:
      description: V(ok) it was so, V(applied) it was written, V(clamped) this machine cannot grant more.
      type: str
      returned: always
      sample: applied
    message:
      description: What a person has to know, or null.
      type: str
      returned: always
      sample: null
pending_reboot:
  description: Whether services still get other limits than those written, until the next boot.
  returned: success
  type: bool
  sample: true
"""

import glob
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _limits
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, journal, ulimits, units

LOGINS = "/etc/security/limits.d/99-zz-indiaai-inference.conf"
SERVICES = "/etc/systemd/system.conf.d/99-zz-indiaai-inference.conf"


def read(path):
    """Text of a file, None when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def others():
    """Texts of the files that give limits to logins, ours left out, in the order in which they are read."""
    names = ["/etc/security/limits.conf"] + sorted(glob.glob("/etc/security/limits.d/*.conf"))
    return [read(name) or "" for name in names if name != LOGINS]


def ceiling():
    """What this machine can grant."""
    nr_open = int((read("/proc/sys/fs/nr_open") or "1048576").strip())
    return _limits.grantable(_limits.hard_limits(read("/proc/1/limits") or ""), ulimits.may_raise(read("/proc/1/status") or ""), nr_open)


def asked(params):
    """{item: wanted} of the options. LimitError names the option."""
    result = {}
    for item, option in (("nofile", "open_files"), ("memlock", "locked_memory")):
        try:
            value = _limits.number(params[option])
        except _limits.LimitError as exc:
            raise _limits.LimitError("%s: %s" % (option, exc)) from None
        if value != 0:
            result[item] = value
    return result


def main():
    module = AnsibleModule(
        argument_spec={
            "open_files": {"type": "int", "default": 1048576},
            "locked_memory": {"type": "str", "default": "unlimited"},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    try:
        wanted = asked(module.params)
    except _limits.LimitError as exc:
        module.fail_json(msg="Nothing was changed: %s." % exc)
    rc, out = module.run_command(
        ["systemctl", "show", "--property=DefaultLimitNOFILE,DefaultLimitNOFILESoft,DefaultLimitMEMLOCK"])[:2]
    try:
        loaded = _limits.manager(out) if rc == 0 else {}
        most = ceiling()
        for_logins = _limits.decide(wanted, _limits.written(others()), most)
        for_services = _limits.decide(wanted, loaded, most)
        values = {item: row["value"] for item, row in for_services.items()}
        targets = {
            LOGINS: _limits.logins({item: row["value"] for item, row in for_logins.items()}, units.NOTICE) if wanted else None,
            SERVICES: _limits.services(values, loaded.get("nofile_soft", 1024), units.NOTICE) if wanted else None,
        }
        files = [(path, before, after) for path, after in sorted(targets.items()) for before in [read(path)] if before != after]
        if module.params["undo_role"] and files:
            journal.Journal().record(module.params["undo_role"], [{"kind": "file", "path": item[0]} for item in files], dry=module.check_mode)
        if not module.check_mode:
            for path, dummy, after in files:
                put(path, after)
    except (OSError, ValueError, journal.JournalError) as exc:
        module.fail_json(msg="The limits could not be set: %s" % exc)
    module.exit_json(
        changed=bool(files),
        limits=[outcome(item, row, bool(files), most[item]) for item, row in for_logins.items()],
        pending_reboot=any(loaded.get(item, "unknown") != value for item, value in values.items()),
        diff=[{"before_header": path, "after_header": path, "before": before or "", "after": after or ""} for path, before, after in files],
    )


def put(path, text):
    """Write a file, or remove it."""
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    atomic.write(path, text, 0o644)


def outcome(item, row, changed, most):
    """One limit for the result."""
    state = "clamped" if row["clamped"] else "applied" if changed else "ok"
    return {"name": item, "wanted": row["wanted"], "value": row["value"], "state": state,
            "message": "this machine can grant no more than %s" % _limits.text_of(most) if row["clamped"] else None}


if __name__ == "__main__":
    main()
