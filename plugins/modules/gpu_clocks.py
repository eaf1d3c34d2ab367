#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_clocks
short_description: Clocks, power limit and persistence of GPUs, from what each GPU supports
version_added: 1.0.0
description:
  - Sets what differs and reads it back. Clocks come from the list of clocks that the GPU itself supports, never from a table of models.
  - Everything is checked on every GPU first. A clock that a GPU does not support, or a policy that it cannot do, is refused before
    anything is set on any GPU; the message has the nearest clocks that it supports.
  - The driver cannot be asked whether a clock is locked. What was set since the boot is written down, and a reading that nothing
    explains shows that a lock was lost.
  - A clock below its lock that the power or heat limit explains is no fault. A slowdown by the hardware is a warning.
  - A host without a GPU, with a GPU without a driver, or with a driver that does not answer is told apart in RV(state).
options:
  policy:
    description:
      - V(none) locks no SM clock, and takes away a lock that this module made.
      - V(lock_max) locks the SM clock to the highest one that the GPU supports.
      - V(range) keeps it from O(sm_min_mhz) to O(sm_max_mhz).
    type: str
    choices: [none, lock_max, range]
    default: none
  sm_min_mhz:
    description: Lower end with O(policy=range). The lowest clock that the GPU supports when only the other end is given.
    type: int
  sm_max_mhz:
    description: Upper end with O(policy=range). The highest clock that the GPU supports when only the other end is given.
    type: int
  memory_lock:
    description: Whether to lock the memory clock. Where the GPU cannot do that it is noted and skipped.
    type: bool
    default: false
  memory_mhz:
    description: The memory clock with O(memory_lock=true). The highest one that the GPU supports when omitted.
    type: int
  power_limit_watts:
    description: Power limit. Left alone when omitted; one that this module set since the boot is taken back.
    type: int
  persistence:
    description:
      - Whether the driver must stay loaded without clients. Where C(nvidia-persistenced) does not see to it, the legacy mode is switched on.
      - V(false) leaves it as it is. It is never switched off.
    type: bool
    default: true
  gpus:
    description: UUIDs or indexes of the GPUs that this is for, or V(all).
    type: list
    elements: str
    default: [all]
  required:
    description: Whether it is an error when there is no GPU or its driver does not answer.
    type: bool
    default: false
  at_boot:
    description:
      - Whether to set it again at every boot. Writes C(/etc/indiaai-inference/gpu-clocks.json), the unit C(gpu-init.service) that runs
        C(inferctl gpu-init), and drop-ins that let Docker and the engines wait for that unit without needing it. Enabling the unit is
        left to the role. Nothing is written on a host without a GPU.
    type: bool
    default: false
  wait_seconds:
    description: How long the unit waits at boot for driver and GPUs.
    type: int
    default: 300
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows the settings file, and what was and will be set on each GPU.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Keep the SM clock of every GPU within a range, and the driver loaded
  indiaai.inference.gpu_clocks:
    policy: range
    sm_min_mhz: 1200
    sm_max_mhz: 1800

- name: Lock one GPU to its highest clocks at a lower power limit
  indiaai.inference.gpu_clocks:
    policy: lock_max
    memory_lock: true
    power_limit_watts: 600
    gpus: ["0"]
"""

RETURN = r"""
state:
  description:
    - V(ok) the GPUs answer, V(no_gpu) there is none, V(driver_missing) or V(library_missing) there is one and no driver, or no library
      of the driver, V(unknown) the driver does not answer.
  returned: success
  type: str
  sample: ok
reason:
  description: The state in words.
  returned: success
  type: str
  sample: 8 GPU(s)
gpus:
  description: What each chosen GPU came to.
  returned: success
  type: list
  elements: dict
  contains:
    index:
      description: Number of the GPU.
      type: int
      returned: always
      sample: 0
    uuid:
      description: Its UUID, null when it does not answer.
      type: str
      returned: always
      sample: GPU-8f6d2c1a-0b5e-4f7a-9c3d-1e2f3a4b5c6d
    name:
      description: Its model.
      type: str
      returned: always
      sample: NVIDIA H200
    wanted:
      description: What it is to have; null leaves alone. Locks are the lowest and the highest clock in MHz.
      type: dict
      returned: always
      sample: {"persistence": true, "power_limit_watts": null, "sm_clock": [1980, 1980], "memory_clock": null}
    found:
      description: What it reads now.
      type: dict
      returned: always
      sample: {"sm_mhz": 1755, "memory_mhz": 3199, "power_limit_watts": 700, "persistence": true, "event_reasons": ["software power cap"]}
    actions:
      description: What was set, or would be in check mode.
      type: list
      elements: str
      returned: always
      sample: ["lock sm_clock 1980 MHz"]
    state:
      description:
        - V(ok) and V(applied) as wanted, V(power_limited) as wanted and slower by its power or heat limit, V(drift) the driver took the
          lock and the clock is another, V(alarm) the hardware slows it down, V(failed) the driver refused, V(lost), V(needs_reset) or
          V(unknown) it does not answer.
      type: str
      returned: always
      sample: power_limited
    reason:
      description: What a person has to know, or empty.
      type: str
      returned: always
      sample: "ok, power limited: SM clock 1755 MHz, software power cap"
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_bus
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_clocks
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_policy
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_record
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_units
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal
from ansible_collections.indiaai.inference.plugins.module_utils._host import nvml
from ansible_collections.indiaai.inference.plugins.module_utils._host import paths
from ansible_collections.indiaai.inference.plugins.module_utils._host import process
from ansible_collections.indiaai.inference.plugins.module_utils._host import system

_OPEN_SECONDS = 90

_OPTIONS = ("policy", "sm_min_mhz", "sm_max_mhz", "memory_lock", "memory_mhz", "power_limit_watts", "persistence", "gpus", "wait_seconds")


def kept_settings(module):
    """Settings of the last run, None without or with unreadable ones."""
    try:
        return gpu_clocks.load_settings() if module.params["at_boot"] else None
    except (gpu_clocks.Refused, OSError):
        return None


def read_text(path):
    """Content of a file, "" without one."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def note(module, items):
    """Record in the undo journal, before the change."""
    if module.params["undo_role"] and items:
        journal.Journal().record(module.params["undo_role"], items, dry=module.check_mode)


def keep(module, settings):
    """Write settings, unit and drop-ins where they differ -> diff entries."""
    if not module.params["at_boot"]:
        return []
    wanted = dict(gpu_units.files(settings), **{paths.GPU_SETTINGS: gpu_clocks.settings_text(settings)})
    differ = {path: text for path, text in sorted(wanted.items()) if read_text(path) != text}
    diff = [{"before_header": path, "after_header": path, "before": read_text(path), "after": text} for path, text in differ.items()]
    note(module, [{"kind": "file", "path": path} for path in sorted(wanted) + [paths.GPU_RECORD]] + [{"kind": "unit", "name": paths.GPU_UNIT}])
    if differ and not module.check_mode:
        for path, text in differ.items():
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            atomic.write(path, text, 0o644)
        if any(path != paths.GPU_SETTINGS for path in differ):
            system.System().systemctl("daemon-reload")
    return diff


def differences(rows, results):
    """Diff entries of the GPUs where something is set."""
    entries = []
    for row, result in zip(rows, results):
        if result["actions"]:
            name = "GPU %s %s" % (row["index"], row["uuid"])
            before, after = [], []
            for action in row["actions"]:
                if gpu_policy.told(action) in result["actions"]:
                    was, now = gpu_policy.change(action, row["before"], row["prior"])
                    before.append("%s: %s\n" % (action["setting"], was))
                    after.append("%s: %s\n" % (action["setting"], now))
            entries.append({"before_header": name, "after_header": name, "before": "".join(before), "after": "".join(after)})
    return entries


def unreachable(module, settings, error, previous):
    """NVML cannot be opened: say why; keep the settings for the boot where there is a GPU."""
    expected = previous["expected_gpus"] if previous else 0
    state, reason = gpu_bus.why_not(error, gpu_bus.count(), expected, gpu_bus.driver_loaded())
    if module.params["required"]:
        module.fail_json(msg="%s: %s. Wanted: a GPU that answers; set gpu_clocks_required: false for hosts without." % (state, reason),
                         state=state, reason=reason, gpus=[])
    try:
        diff = [] if state == "no_gpu" else keep(module, dict(settings, expected_gpus=expected))
    except (journal.JournalError, system.SystemFailure, OSError) as exc:
        module.fail_json(msg="Could not prepare the boot: %s" % exc)
    module.exit_json(changed=bool(diff), state=state, reason=reason, gpus=[], diff=diff)


def finish(module, rows, settings, record, diff, notes):
    """The result, or the failure."""
    gpus = gpu_clocks.results(rows, settings, record, module.check_mode)
    diff += differences(rows, gpus)
    result = {"changed": bool(diff), "state": "ok", "reason": "%d GPU(s)" % settings["expected_gpus"], "gpus": gpus, "diff": diff}
    for text in notes:
        module.warn(text)
    bad = ["GPU %s: %s: %s" % (item["index"], item["state"], item["reason"]) for item in gpus
           if item["state"] in ("drift", "alarm", "lost", "needs_reset", "unknown")]
    failed = ["GPU %s (%s): %s" % (item["index"], item["name"], item["reason"]) for item in gpus if item["state"] == "failed"]
    if failed or (bad and module.params["required"]):
        module.fail_json(msg="; ".join(failed + bad), **result)
    if bad:
        module.warn("; ".join(bad))
    module.exit_json(**result)


def main():
    """Entry point."""
    module = AnsibleModule(
        argument_spec={
            "policy": {"type": "str", "choices": ["none", "lock_max", "range"], "default": "none"},
            "sm_min_mhz": {"type": "int"},
            "sm_max_mhz": {"type": "int"},
            "memory_lock": {"type": "bool", "default": False},
            "memory_mhz": {"type": "int"},
            "power_limit_watts": {"type": "int"},
            "persistence": {"type": "bool", "default": True},
            "gpus": {"type": "list", "elements": "str", "default": ["all"]},
            "required": {"type": "bool", "default": False},
            "at_boot": {"type": "bool", "default": False},
            "wait_seconds": {"type": "int", "default": 300},
            "undo_role": {"type": "str"},
        },
        supports_check_mode=True,
    )
    settings = dict(gpu_policy.DEFAULTS, **{name: module.params[name] for name in _OPTIONS})
    problems = gpu_policy.check(settings)
    if problems:
        module.fail_json(msg="Nothing was set. %s" % "; ".join(problems))
    previous = kept_settings(module)
    try:
        library = nvml.open_within(_OPEN_SECONDS)
    except nvml.NvmlError as exc:
        unreachable(module, settings, exc, previous)
    record, clock = gpu_record.Record(), process.Clock()
    try:
        with library:
            rows = gpu_clocks.survey(library)
            if not rows:
                unreachable(module, settings, nvml.NvmlError(nvml.DRIVER_NOT_LOADED, "nvmlDeviceGetCount_v2", "it counts none"), previous)
            settings["expected_gpus"] = len(rows)
            rows, notes = gpu_clocks.prepare(settings, rows, record)
            if not module.check_mode:
                gpu_clocks.await_daemon(rows, clock)
            diff = keep(module, settings)
            note(module, gpu_clocks.journal_items(rows))
            if not module.check_mode:
                gpu_clocks.apply(rows, record, clock)
    except gpu_clocks.Refused as exc:
        module.fail_json(msg="Nothing was set. %s" % "; ".join(exc.problems))
    except (nvml.NvmlError, journal.JournalError, system.SystemFailure, OSError) as exc:
        module.fail_json(msg="Could not set the GPUs: %s" % exc)
    finish(module, rows, settings, record, diff, notes)


if __name__ == "__main__":
    main()
