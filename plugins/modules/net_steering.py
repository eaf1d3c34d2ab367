#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: net_steering
short_description: Share the work of network cards between CPUs, where that helps (RPS and RFS)
version_added: 1.0.0
description:
  - Judges every network interface by its receive queues and by the CPUs of its NUMA node, and says why it does what it does.
  - A card with fewer queues than its node has CPUs hands its packets on to all of them. A card with a queue for each CPU spreads
    the work itself; steering on it only costs interrupts between CPUs, so it is switched off there.
  - The loopback interface, virtual interfaces (bridges, C(veth), tunnels) and bonds are never touched.
  - Where an interface is steered, a udev rule and a oneshot unit do the same at every boot and for an interface that comes back;
    both call C(inferctl net-steering).
options:
  mode:
    description:
      - V(auto) decides as described; V(on) steers every card with more than one CPU, whatever its queues; V(off) touches no interface and
        removes the rule and the unit. What is set in the running kernel then stays until the next boot or the undo.
    type: str
    choices: [auto, "on", "off"]
    default: auto
  flow_entries:
    description: Size of the machine's flow table, C(net.core.rps_sock_flow_entries), shared out between the queues of a card.
    type: int
    default: 32768
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows values and files before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Steer what profits from it
  indiaai.inference.net_steering:
    undo_role: kernel_tuning
"""

RETURN = r"""
interfaces:
  description: The verdict on every interface.
  returned: success
  type: list
  elements: dict
  contains:
    device:
      description: Name of the interface.
      type: str
      returned: always
      sample: eth0
    action:
      description: V(steer), V(off) (steering is wanted off) or V(skip) (never touched).
      type: str
      returned: always
      sample: steer
    reason:
      description: Why.
      type: str
      returned: always
      sample: 1 RX queue for 32 CPUs in NUMA node 0
    cpus:
      description: Mask of CPUs wanted in every queue, null where nothing is wanted.
      type: str
      returned: always
      sample: ffffffff
    flows:
      description: Flow entries wanted in every queue, null where nothing is wanted.
      type: int
      returned: always
      sample: 32768
    state:
      description:
        - V(ok) it was so, V(applied) it was written and holds, V(failed) it could not be written, V(readonly) it cannot be written
          here, V(skipped) nothing is wanted.
      type: str
      returned: always
      sample: applied
    message:
      description: What went wrong, or null.
      type: str
      returned: always
      sample: null
summary:
  description: One sentence on all interfaces.
  returned: success
  type: str
  sample: "eth0: steer (1 RX queue for 32 CPUs in NUMA node 0); lo: skip (the loopback interface)"
persisted:
  description: Whether rule and unit are there for the next boot.
  returned: success
  type: bool
  sample: true
program_missing:
  description: Whether rule and unit call a host program that is not there yet; role C(boot_recovery) installs it.
  returned: success
  type: bool
  sample: false
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils._host import (
    atomic,
    journal,
    net_devices,
    net_steering,
    net_units,
    paths,
    sysfs,
    system,
)


def judge(survey, root=""):
    """[(verdict, changes)] -> one dict an interface, with what to write."""
    items = []
    for verdict, changes in survey:
        item = dict(verdict, changes=changes, state="skipped" if verdict["action"] == "skip" else "ok", message=None)
        if changes:
            item["state"] = "applied"
            path = net_devices.queue_file(verdict["device"], changes[0]["queue"], changes[0]["file"], root)
            if not os.access(path, os.W_OK):
                item.update(state="readonly", changes=[], message="cannot be written here (the interfaces belong to the machine below)")
        items.append(item)
    return items


def apply(items, root=""):
    """Write what differs and read back."""
    for item in items:
        problem = net_devices.carry_out(item, item["changes"], root)
        if problem:
            item.update(state="failed", message=problem)


def persistence(items, mode, flow_entries):
    """{path: text, None: not wanted} of rule and unit: only where an interface is steered."""
    wanted = any(item["action"] == "steer" and item["state"] in ("ok", "applied") for item in items)
    return {path: text if wanted else None for path, text in net_units.files(mode, flow_entries).items()}


def changed_files(wanted):
    """[(path, before, after)] of the files that differ."""
    return [(path, before, after) for path, after in sorted(wanted.items()) for before in [sysfs.text(path)] if before != after]


def write_files(files, host):
    """Put rule and unit in place, or take them away; the unit is switched on before and off after."""
    unit = "%s/%s" % (paths.SYSTEMD_UNITS, net_units.UNIT_NAME)
    if not files:
        return
    removed = any(path == unit and after is None for path, dummy, after in files)
    if removed:
        host.systemctl("disable", net_units.UNIT_NAME)
    for path, dummy, after in files:
        if after is None:
            os.unlink(path)
        else:
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            atomic.write(path, after, 0o644)
    host.systemctl("daemon-reload")


def record(module, items, files):
    """Note what is there before the first change."""
    role = module.params["undo_role"]
    if not role:
        return
    things = [{"kind": "sysfs", "path": net_devices.queue_file(item["device"], change["queue"], change["file"])}
              for item in items for change in item["changes"]]
    things += [{"kind": "file", "path": path} for path, dummy, dummy_after in files]
    if files:
        things.append({"kind": "unit", "name": net_units.UNIT_NAME})
    journal.Journal().record(role, things, dry=module.check_mode)


def differences(items, files):
    """diff of values and files."""
    found = [{"before_header": path, "after_header": path, "before": before or "", "after": after or ""} for path, before, after in files]
    values = [("%s/%s/%s" % (item["device"], change["queue"], change["file"]), change) for item in items for change in item["changes"]
              if item["state"] == "applied"]
    if values:
        found.append({"before_header": "network interfaces", "after_header": "network interfaces",
                      "before": "".join("%s = %s\n" % (name, change["before"]) for name, change in values),
                      "after": "".join("%s = %s\n" % (name, change["after"]) for name, change in values)})
    return found


def main():
    module = AnsibleModule(
        argument_spec={
            "mode": {"type": "str", "choices": ["auto", "on", "off"], "default": "auto"},
            "flow_entries": {"type": "int", "default": 32768},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    mode, entries = module.params["mode"], module.params["flow_entries"]
    if entries < 0 or net_steering.round_up(entries) > 1 << 30:
        module.fail_json(msg="flow_entries: found %d, wanted is a number from 0 to %d" % (entries, 1 << 30))
    host = system.System()
    try:
        items = judge(net_devices.survey(mode, entries))
        wanted = persistence(items, mode, entries)
        files = changed_files(wanted)
        enabled = host.unit(net_units.UNIT_NAME)["enabled"] == "enabled" if None not in wanted.values() else None
        record(module, items, files)
        if not module.check_mode:
            apply(items)
            write_files(files, host)
            if enabled is False:
                host.systemctl("enable", net_units.UNIT_NAME)
    except (OSError, ValueError, journal.JournalError, system.SystemFailure) as exc:
        module.fail_json(msg="Receive steering could not be set: %s" % exc)
    bad = ["%s: %s" % (item["device"], item["message"]) for item in items if item["message"]]
    if bad:
        module.warn("Receive steering does not hold on this host: %s" % "; ".join(bad))
    diff = differences(items, files)
    module.exit_json(
        changed=bool(diff) or enabled is False,
        diff=diff,
        interfaces=[{key: value for key, value in item.items() if key != "changes"} for item in items],
        summary="; ".join("%s: %s (%s)" % (item["device"], item["action"], item["reason"]) for item in items),
        persisted=enabled is not None,
        program_missing=enabled is not None and not os.path.exists(paths.CLI),
    )


if __name__ == "__main__":
    main()
