#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sysfs_profile
short_description: Transparent huge pages and the CPU governor, applied, read back and kept
version_added: 1.0.0
description:
  - Writes what differs, reads it back, and keeps it with C(systemd-tmpfiles), which writes it again at every boot.
  - The governor is also kept by a oneshot unit, because the driver that has governors may be loaded later than that.
  - What this machine does not have, or what cannot be written here, is named and keeps nothing else back.
options:
  transparent_hugepage:
    description: When a process gets transparent huge pages. V(keep) leaves it alone.
    type: str
    choices: [always, madvise, never, keep]
    default: madvise
  transparent_hugepage_defrag:
    description: When a process waits for memory to be compacted for a huge page. V(keep) leaves it alone.
    type: str
    choices: [always, defer, defer+madvise, madvise, never, keep]
    default: madvise
  governor:
    description: Governor of all CPUs, for example V(performance). V(keep) leaves it alone.
    type: str
    default: performance
  tuned:
    description: What happens where an active tuned sets one of these to something else. See M(indiaai.inference.sysctl_profile).
    type: str
    choices: [hand_over, refuse]
    default: hand_over
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows files and values before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Huge pages for those who ask, full clock
  indiaai.inference.sysfs_profile:
    undo_role: kernel_tuning
"""

RETURN = r"""
outcome:
  description: Each setting with what was there, what is wanted, what is there now, and how it ended.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: V(transparent_hugepage), V(transparent_hugepage_defrag) or V(governor).
      type: str
      returned: always
      sample: transparent_hugepage
    before:
      description: Value before the run, several values with spaces between them, null when the machine has none.
      type: str
      returned: always
      sample: always
    wanted:
      description: Value to reach.
      type: str
      returned: always
      sample: madvise
    value:
      description: Value now.
      type: str
      returned: always
      sample: madvise
    state:
      description: As in M(indiaai.inference.sysctl_profile).
      type: str
      returned: always
      sample: applied
    message:
      description: What a person has to know, or null.
      type: str
      returned: always
      sample: null
path:
  description: The tmpfiles.d file.
  returned: success
  type: str
  sample: /etc/tmpfiles.d/00-indiaai-inference-kernel.conf
"""

import errno
import glob
import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _sysfs_profile, _tuned
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, journal, paths, sysfs, system


def judge(rows, theirs):
    """What is there and what to do -> list of dict; state None means: to be written."""
    items = []
    for row in rows:
        files = sorted(glob.glob(row.pattern))
        values = {path: sysfs.text(path) for path in files}
        item = {"row": row, "files": files, "before": _sysfs_profile.joined(values.values()), "state": None, "message": None}
        offered = sysfs.text(os.path.join(os.path.dirname(files[0]), row.offers)) if files and row.offers else None
        item["state"], item["message"] = _sysfs_profile.judge(
            row, list(values.values()), offered, theirs.get(row.name), all(os.access(path, os.W_OK) for path in files))
        items.append(item)
    return items


def apply(items):
    """Write what differs, all of it, and read back."""
    for item in items:
        wanted = item["row"].value
        for path in item["files"] if item["state"] is None else ():
            try:
                if sysfs.read(path) != wanted:
                    sysfs.write(path, wanted)
            except OSError as exc:
                readonly = exc.errno in (errno.EROFS, errno.EACCES, errno.EPERM)
                item["state"] = "readonly" if readonly else "clamped"
                item["message"] = "cannot be written here" if readonly else "the kernel refuses %s: %s" % (wanted, exc.strerror)
                break
        item["value"] = _sysfs_profile.joined(sysfs.text(path) for path in item["files"])
        if item["state"] is None:
            item["state"] = "applied" if item["value"] == wanted else "clamped"
            item["message"] = None if item["value"] == wanted else "wrote %s, reads %s" % (wanted, item["value"])


def predict(items):
    """What apply() is expected to do."""
    for item in items:
        item["value"] = item["before"]
        if item["state"] is None:
            item["state"], item["value"] = "applied", item["row"].value


def write_files(files, host):
    """Put the tmpfiles.d entry and the unit in place, or take them away."""
    unit = "%s/%s" % (paths.SYSTEMD_UNITS, _sysfs_profile.UNIT_NAME)
    touched = {path: after for path, dummy, after in files}
    if unit in touched and touched[unit] is None:
        host.systemctl("disable", _sysfs_profile.UNIT_NAME)
    for path, after in touched.items():
        if after is None:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            atomic.write(path, after, 0o644)
    if unit in touched:
        host.systemctl("daemon-reload")


def record(module, items, files):
    """Note what is there before the first change."""
    role = module.params["undo_role"]
    if not role:
        return
    things = [{"kind": "sysfs", "path": path} for item in items if item["state"] is None for path in item["files"]]
    things += [{"kind": "file", "path": item[0]} for item in files]
    if any(item[0].endswith(_sysfs_profile.UNIT_NAME) for item in files):
        things.append({"kind": "unit", "name": _sysfs_profile.UNIT_NAME})
    journal.Journal().record(role, things, dry=module.check_mode)


def left_to_tuned(module):
    """({name: value that an active tuned sets}, its profiles)."""
    profiles = _tuned.active(sysfs.text, module.run_command)
    found = _tuned.settings(profiles, sysfs.text) if profiles else {}
    return {name: value for name, value in (("transparent_hugepage", found.get("thp")), ("governor", found.get("governor"))) if value}, profiles


def report(module, items, files, enabled):
    """The result."""
    outcome = [{"name": item["row"].name, "before": item["before"], "wanted": item["row"].value, "value": item["value"],
                "state": item["state"], "message": item["message"]} for item in items]
    moved = [item for item in outcome if item["value"] != item["before"]]
    diff = [{"before_header": path, "after_header": path, "before": before or "", "after": after or ""} for path, before, after in files]
    if moved:
        diff.append({"before_header": "/sys", "after_header": "/sys",
                     "before": "".join("%s = %s\n" % (item["name"], item["before"]) for item in moved),
                     "after": "".join("%s = %s\n" % (item["name"], item["value"]) for item in moved)})
    bad = ["%s is %s: %s" % (item["name"], item["state"], item["message"]) for item in outcome if item["state"] not in ("ok", "applied", "missing")]
    if bad:
        module.warn("Settings that do not hold on this host: %s" % "; ".join(bad))
    module.exit_json(changed=bool(diff) or enabled is False, outcome=outcome, path=_sysfs_profile.PATH, diff=diff)


def main():
    module = AnsibleModule(
        argument_spec={
            "transparent_hugepage": {"type": "str", "choices": ["always", "madvise", "never", "keep"], "default": "madvise"},
            "transparent_hugepage_defrag": {"type": "str", "choices": ["always", "defer", "defer+madvise", "madvise", "never", "keep"],
                                            "default": "madvise"},
            "governor": {"type": "str", "default": "performance"},
            "tuned": {"type": "str", "choices": list(_tuned.CHOICES), "default": "hand_over"},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    rows = _sysfs_profile.wanted(module.params)
    host = system.System()
    try:
        theirs, profiles = left_to_tuned(module)
        conflicts = ["%s (tuned sets %s)" % (row.name, theirs[row.name]) for row in rows if theirs.get(row.name, row.value) != row.value]
        if conflicts and module.params["tuned"] == "refuse":
            module.fail_json(msg="Huge pages and governor are as they were: tuned is active with profile %s and sets at every boot: %s. Switch it off "
                                 "(tuned-adm off), or leave these to it with kernel_tuning_tuned: hand_over." % (
                                     " ".join(profiles), ", ".join(conflicts)))
        items = judge(rows, theirs)
        pending = _sysfs_profile.files([item["row"] for item in items if item["state"] in (None, "ok")
                                        and all(os.access(path, os.W_OK) for path in item["files"])])
        files = [(path, before, after) for path, after in sorted(pending.items()) for before in [sysfs.text(path)] if before != after]
        unit = pending["%s/%s" % (paths.SYSTEMD_UNITS, _sysfs_profile.UNIT_NAME)]
        enabled = host.unit(_sysfs_profile.UNIT_NAME)["enabled"] == "enabled" if unit else None
        record(module, items, files)
        if module.check_mode:
            predict(items)
        else:
            apply(items)
            write_files(files, host)
            if enabled is False:
                host.systemctl("enable", _sysfs_profile.UNIT_NAME)
    except (OSError, journal.JournalError, system.SystemFailure) as exc:
        module.fail_json(msg="Huge pages and governor could not be set: %s" % exc)
    report(module, items, files, enabled)


if __name__ == "__main__":
    main()
