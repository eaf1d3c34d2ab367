#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sysctl_profile
short_description: A set of kernel settings, applied together and read back
version_added: 1.0.0
description:
  - Loads the kernel modules that settings need, writes all settings that differ, reads every one back, and keeps them in
    one file that is read last.
  - The settings are those of the role C(kernel_tuning), whose README lists all 37 with their reasons.
  - Ceilings are raised and never lowered. A setting that this kernel does not have, or that cannot be written here, does not
    keep the others from being applied.
  - What the kernel rounds or refuses, and which later file takes a setting back at the next boot, is reported per key.
options:
  groups:
    description: Groups of settings that are switched on.
    type: list
    elements: str
    choices: [memory, network, latency, limits]
    default: [memory, network, latency, limits]
  settings:
    description: Changes to the groups, and further settings. Later entries win.
    type: list
    elements: dict
    default: []
    suboptions:
      name:
        description: Name of the setting, with dots or slashes.
        type: str
        required: true
      value:
        description: A number or a text; C(1) or C(0) for on or off.
        type: raw
      state:
        description: V(absent) leaves the setting alone even though a group has it.
        type: str
        choices: [present, absent]
        default: present
  reserved_ports:
    description: Ports that the kernel must not hand out to outgoing connections. Added to those that are reserved already.
    type: list
    elements: int
    default: []
  path:
    description: The file that keeps the settings.
    type: path
    default: /etc/sysctl.d/99-zz-indiaai-inference.conf
  modules_path:
    description: The file that has systemd load the modules at boot. Written where modules can be loaded.
    type: path
    default: /etc/modules-load.d/indiaai-inference.conf
  tuned:
    description:
      - What happens where the daemon tuned is active and its profile sets one of the settings to something else.
      - V(hand_over) leaves such a setting to tuned and says so; V(refuse) fails before anything is written.
    type: str
    choices: [hand_over, refuse]
    default: hand_over
  undo_role:
    description: Role under whose name what is there before goes into the undo journal. Nothing is recorded when omitted.
    type: str
  strict:
    description: Whether the module fails when a setting ends in another state than V(ok) or V(applied).
    type: bool
    default: false
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Shows the file and the values before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Network settings, one of them changed and one left alone
  indiaai.inference.sysctl_profile:
    groups: [network]
    settings:
      - name: net.core.somaxconn
        value: 16384
      - name: net.ipv4.tcp_congestion_control
        state: absent
    undo_role: kernel_tuning
"""

RETURN = r"""
outcome:
  description: Every setting with what was there, what is wanted, what is there now, and how it ended.
  returned: success
  type: list
  elements: dict
  contains:
    name:
      description: The setting.
      type: str
      returned: always
      sample: net.core.somaxconn
    scope:
      description: Whom the value reaches - V(global), V(inherited), V(namespace) or V(follows).
      type: str
      returned: always
      sample: namespace
    before:
      description: Value before the run, null when the kernel has no such setting.
      type: str
      returned: always
      sample: "4096"
    wanted:
      description: Value to reach.
      type: str
      returned: always
      sample: "8192"
    value:
      description: Value now.
      type: str
      returned: always
      sample: "8192"
    state:
      description:
        - V(ok) it was so, V(applied) it was written and holds, V(shadowed) a later file or tuned sets it to something else at the
          next boot, V(clamped) the kernel made another value of it or refused it, V(missing) this kernel has no such setting,
          V(readonly) it cannot be written here.
      type: str
      returned: always
      sample: applied
    message:
      description: What a person has to know, or null.
      type: str
      returned: always
      sample: null
summary:
  description: How many settings ended in which state.
  returned: success
  type: dict
  sample: {"applied": 14, "missing": 3, "readonly": 2}
modules:
  description: Kernel modules that settings need - V(loaded), V(available) (not loaded yet, in check mode) or V(missing).
  returned: success
  type: dict
  sample: {"tcp_bbr": "loaded", "sch_fq": "loaded", "nf_conntrack": "loaded"}
hugepages:
  description: Explicit huge pages, which are missing from the memory of everybody who does not ask for them.
  returned: success
  type: dict
  sample: {"total": 0, "free": 0, "page_kib": 2048, "reserved_mib": 0, "unused_mib": 0}
containers:
  description: Which of the settings reach containers on bridge networks. Those on the host's network have all of them.
  returned: success
  type: list
  elements: dict
  sample:
    - scope: namespace
      meaning: containers on bridge networks keep the kernel's default; set it with the container's own sysctls
      settings: ["net.core.somaxconn"]
tuned:
  description: Profiles of an active tuned, and the settings that are left to it.
  returned: success
  type: dict
  sample: {"profiles": [], "left": []}
path:
  description: The file.
  returned: success
  type: str
  sample: /etc/sysctl.d/99-zz-indiaai-inference.conf
"""

import errno
import glob
import os
import platform

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _sysctl, _sysctl_keys, _tuned
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal

HEADER = """Kernel settings of this inference host (Ansible, indiaai.inference.sysctl_profile).
Changes here are overwritten; use kernel_tuning_settings in the inventory."""

_NOT_HERE = (errno.EROFS, errno.EACCES, errno.EPERM)


def read(path):
    """Text of a file, None when there is none or it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None


def value_of(name):
    """Present value of a setting in one spelling, None when the kernel has none of that name."""
    text = read(_sysctl.path(name))
    return None if text is None else _sysctl.normal(text)


def writable(name):
    """Whether a setting can be written here; root is stopped by the mount's or the namespace's read-only bit alone."""
    path = _sysctl.path(name)
    try:
        return os.access(path, os.W_OK) and bool(os.stat(path).st_mode & 0o222)
    except OSError:
        return False


class Modules:
    """Kernel modules: what is loaded, what could be, and loading it."""

    def __init__(self, module):
        self.module = module
        self.folder = "/lib/modules/" + platform.release()
        self.states = {}
        self.loaded_now = []

    def _listed(self, name):
        for index in ("modules.builtin", "modules.dep"):
            for line in (read(os.path.join(self.folder, index)) or "").splitlines():
                base = os.path.basename(line.partition(":")[0]).partition(".ko")[0].replace("-", "_")
                if base == name:
                    return "loaded" if index == "modules.builtin" else "available"
        return "missing"

    def prepare(self, name):
        """Load a module where that is possible -> loaded, available or missing."""
        if name in self.states:
            return self.states[name]
        state = "loaded" if os.path.isdir("/sys/module/" + name) else self._listed(name)
        if state == "available" and not self.module.check_mode:
            rc, dummy, dummy = self.module.run_command(["modprobe", name])
            state = "loaded" if rc == 0 else "missing"
            if rc == 0:
                self.loaded_now.append(name)
        self.states[name] = state
        return state

    def text(self):
        """Content of the modules-load file, None where modules cannot be loaded at boot at all."""
        names = sorted(name for name, state in self.states.items() if state != "missing")
        if not names or not os.path.isdir(self.folder):
            return None
        return "".join("# %s\n" % line for line in HEADER.splitlines()[:1]) + "".join(name + "\n" for name in names)


def obstacle(row, current, modules):
    """Why a setting cannot be written here -> (state, message) or None. Nothing is touched."""
    state = modules.prepare(row.module) if row.module else "loaded"
    if current is None:
        if state == "available":
            return None
        return "missing", ("kernel module %s is not available here" % row.module) if state == "missing" else \
            "this kernel (or this network namespace) has no such setting"
    if row.name.endswith("tcp_congestion_control") and state == "missing":
        known = (value_of("net.ipv4.tcp_available_congestion_control") or "").split()
        if row.value not in known:
            return "missing", "kernel module %s is not available here; there is %s" % (row.module, ", ".join(known))
    if not writable(row.name):
        return "readonly", "cannot be written here (a container sees the host's value)"
    return None


def write(row, wanted):
    """Write one value -> (state, message) of a failure, None when the kernel took it."""
    try:
        with open(_sysctl.path(row.name), "w", encoding="utf-8") as handle:
            handle.write(wanted)
    except OSError as exc:
        if exc.errno in _NOT_HERE:
            return "readonly", "cannot be written here: %s" % exc.strerror
        if exc.errno == errno.ENOENT:
            return "missing", "the kernel has nothing called %s here%s" % (
                wanted, "; module %s is not available" % row.module if row.module else "")
        return "clamped", "the kernel refuses %s: %s" % (wanted, exc.strerror)
    return None


def all_files(path):
    """Paths of all files of settings in the order in which they are read, ours taken as present."""
    names = [name for folder in _sysctl.FOLDERS if os.path.realpath(folder) == folder or not os.path.islink(folder)
             for name in glob.glob(folder + "/*.conf")]
    if os.path.exists(_sysctl.LAST_FILE):
        names.append(_sysctl.LAST_FILE)
    return _sysctl.reading_order(sorted(set(names) | {path}))


def later_files(path):
    """[(path, text)] of the files that are read after ours."""
    order = all_files(path)
    if path not in order:
        return []
    return [(name, read(name) or "") for name in order[order.index(path) + 1:]]


def settle(items, path):
    """What the file keeps of settings that hold: see _sysctl.settled()."""
    own = dict(_sysctl.parse_conf(read(path) or ""))
    others = [pair for name in all_files(path) if name != path for pair in _sysctl.parse_conf(read(name) or "")]
    for item in items:
        if item["state"] == "ok":
            name = item["row"].name
            item["wanted"] = _sysctl.settled(item["row"], item["wanted"], own.get(name), [value for key, value in others if key == name])


def left_to_tuned(row, current, profile):
    """What an active tuned makes of a setting that is not what we want -> text, None when it leaves it alone."""
    value = profile["sysctl"].get(row.name)
    pair = _sysctl_keys.PAIRS.get(row.name)
    if value is None and profile["sysctl"].get(pair) not in (None, "0"):
        return "%s to %s" % (pair, profile["sysctl"][pair])
    if value is None or _tuned.agrees(value, _sysctl.target(row, current), lambda text: _sysctl.target(row, text) == _sysctl.normal(text)):
        return None
    return "it to %s" % value


def judge(rows, modules, known=None, profile=None, profiles=()):
    """What is there and what to do -> list of dict, one a row; state None means: to be written.

    known: what did not come out as wanted last time, from our file. profile: what an active tuned sets.
    """
    result = []
    for row in rows:
        # First, for there are settings that come with their module; and always, for the boot needs the module of one that holds too.
        if row.module:
            modules.prepare(row.module)
        current = value_of(row.name)
        wanted = _sysctl.target(row, current)
        item = {"row": row, "before": current, "wanted": wanted, "state": None, "message": None, "refused": False, "tuned": False,
                "known": (known or {}).get(row.name)}
        theirs = left_to_tuned(row, current, profile) if profile else None
        if theirs:
            item.update(state="shadowed", tuned=True, message="the active tuned profile %s sets %s; it is left to tuned" % (
                " ".join(profiles), theirs))
        elif _sysctl.satisfied(row, current):
            item["state"] = "ok"
        else:
            found = obstacle(row, current, modules)
            if found:
                item["state"], item["message"] = found
        result.append(item)
    return result


def apply(items):
    """Write what has to be written, all of it, and read back."""
    for item in items:
        if item["state"] is None:
            failure = write(item["row"], item["wanted"])
            if failure:
                item["state"], item["message"] = failure
                item["refused"] = failure[0] == "clamped"
    for item in items:
        now = value_of(item["row"].name)
        item["value"] = now
        if item["state"] is not None:
            continue
        if _sysctl.satisfied(item["row"], now):
            item["state"] = "applied"
        else:
            item["state"], item["message"] = "clamped", "wrote %s, the kernel made %s of it" % (item["wanted"], now)


def predict(items):
    """What apply() is expected to do; where the kernel went its own way last time, it is expected to do so again."""
    for item in items:
        item["value"] = item["before"]
        if item["state"] is not None:
            continue
        wrote, made = item["known"] or (None, None)
        if wrote == item["wanted"] and made in (None, item["before"]):
            item["state"], item["refused"] = "clamped", made is None
            item["message"] = "the kernel refused %s" % wrote if made is None else "wrote %s, the kernel made %s of it" % (wrote, made)
        else:
            item["state"], item["value"] = "applied", item["wanted"]


def mark_shadowed(items, path):
    """Settings that hold now and that a later file takes back."""
    later = later_files(path)
    for item in items:
        found = _sysctl.shadows(item["row"], item["wanted"], later)
        if found and item["state"] in ("ok", "applied", "clamped"):
            item["state"] = "shadowed"
            item["message"] = "%s sets it to %s and is read after %s; take the line out there" % (found[0], found[1], path)


def file_text(items):
    """Content of our file: what holds here; the rest as comments, so that it cannot fail a boot."""
    lines = []
    for item in items:
        value, note = item["wanted"], None
        if item["tuned"]:
            value, note = None, "left to tuned"
        elif item["refused"]:
            value, note = None, _sysctl.refused_note()
        elif item["state"] == "missing" or item["value"] is None:
            value, note = None, "not on this host (missing)"
        elif item["state"] == "readonly" or (item["state"] == "ok" and not writable(item["row"].name)):
            value, note = None, "not on this host (readonly)"
        elif item["state"] == "clamped":
            note = _sysctl.made_note(item["value"])
        lines.append((item["row"]._replace(value=item["wanted"]), value, note))
    return _sysctl.render(lines, HEADER)


def put(path, text):
    """Write a file, or remove it."""
    if text is None:
        os.unlink(path)
        return
    os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
    atomic.write(path, text, mode=0o644)


def record(module, items):
    """Note what is there before the first change."""
    role = module.params["undo_role"]
    if role:
        things = [{"kind": "file", "path": module.params[name]} for name in ("path", "modules_path")]
        things += [{"kind": "sysctl", "key": item["row"].name} for item in items if item["state"] is None]
        journal.Journal().record(role, things, dry=module.check_mode)


def complaints(items):
    """Settings that do not hold, those with one reason together -> list of text."""
    reasons = {}
    for item in items:
        if item["state"] not in _sysctl.GOOD_STATES:
            reasons.setdefault((item["state"], item["message"]), []).append(item["row"].name)
    return ["%s: %s (%s)" % (state, ", ".join(names), message) for (state, message), names in reasons.items()]


def report(module, items, modules, files, profiles):
    """The result."""
    keys = [{"name": item["row"].name, "scope": item["row"].scope, "before": item["before"], "wanted": item["wanted"],
             "value": item["value"], "state": item["state"], "message": item["message"]} for item in items]
    moved = [item for item in keys if item["value"] != item["before"]]
    diff = [{"before_header": name, "after_header": name, "before": before or "", "after": after or ""}
            for name, before, after in files if before != after]
    if moved:
        diff.append({"before_header": "running kernel", "after_header": "running kernel",
                     "before": "".join("%s = %s\n" % (item["name"], item["before"]) for item in moved),
                     "after": "".join("%s = %s\n" % (item["name"], item["value"]) for item in moved)})
    pages = _sysctl.hugepages(read("/proc/meminfo") or "")
    result = {"changed": bool(diff or modules.loaded_now), "outcome": keys, "summary": _sysctl.summary(keys),
              "modules": modules.states, "path": module.params["path"], "diff": diff, "hugepages": pages,
              "containers": _sysctl.containers([item["row"] for item in items]),
              "tuned": {"profiles": profiles, "left": [item["row"].name for item in items if item["tuned"]]}}
    for text in hugepage_notes(keys, pages):
        module.warn(text)
    bad = complaints(items)
    if bad and module.params["strict"]:
        module.fail_json(msg="Settings that do not hold: %s. What could be applied is applied. Take them out with "
                             "kernel_tuning_settings (state: absent), or set kernel_tuning_strict: false." % "; ".join(bad), **result)
    if bad:
        count = sum(item["state"] not in _sysctl.GOOD_STATES for item in keys)
        module.warn("%d of %d settings do not hold on this host. %s" % (count, len(keys), "; ".join(bad)))
    module.exit_json(**result)


def hugepage_notes(keys, pages):
    """What has to be said about explicit huge pages."""
    row = [item for item in keys if item["name"] == "vm.nr_hugepages"]
    if pages["unused_mib"]:
        yield "%d MiB are set aside as huge pages and %d MiB of them are unused: missing from everybody else's memory" % (
            pages["reserved_mib"], pages["unused_mib"])
    if row and row[0]["state"] == "applied" and row[0]["wanted"] == "0" and pages["total"]:
        yield ("%d huge pages are still in use by a process and go when it ends. If it needs them again, set vm.nr_hugepages in "
               "kernel_tuning_settings" % pages["total"])


def tuned_profile(module):
    """(names of the active profiles, what they set or None)."""
    profiles = _tuned.active(read, module.run_command)
    return profiles, _tuned.settings(profiles, read) if profiles else None


def refuse_tuned(module, rows, profiles, profile):
    """Stop while nothing has been touched, where tuned would take settings back."""
    found = [(row.name, left_to_tuned(row, value_of(row.name), profile)) for row in rows]
    theirs = ["%s (tuned sets %s)" % item for item in found if item[1]]
    if theirs:
        module.fail_json(msg="Nothing was changed: tuned is active with profile %s and sets at every boot: %s. Switch it off "
                             "(tuned-adm off), choose a profile without these, or leave them to it with kernel_tuning_tuned: hand_over."
                             % (" ".join(profiles), ", ".join(theirs)))


def main():
    module = AnsibleModule(
        argument_spec={
            "groups": {"type": "list", "elements": "str", "choices": ["memory", "network", "latency", "limits"],
                       "default": ["memory", "network", "latency", "limits"]},
            "settings": {"type": "list", "elements": "dict", "default": [], "options": {
                "name": {"type": "str", "required": True},
                "value": {"type": "raw"},
                "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            }},
            "reserved_ports": {"type": "list", "elements": "int", "default": []},
            "path": {"type": "path", "default": "/etc/sysctl.d/99-zz-indiaai-inference.conf"},
            "modules_path": {"type": "path", "default": "/etc/modules-load.d/indiaai-inference.conf"},
            "tuned": {"type": "str", "choices": list(_tuned.CHOICES), "default": "hand_over"},
            "undo_role": {"type": "str"},
            "strict": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path, modules_path = module.params["path"], module.params["modules_path"]
    try:
        rows = _sysctl.wanted(module.params["groups"], module.params["settings"], module.params["reserved_ports"],
                              _sysctl.memory_kib(read("/proc/meminfo") or ""))
    except _sysctl.SysctlError as exc:
        module.fail_json(msg="Nothing was changed: %s." % exc)
    modules = Modules(module)
    try:
        profiles, profile = tuned_profile(module)
        if profile and module.params["tuned"] == "refuse":
            refuse_tuned(module, rows, profiles, profile)
        items = judge(rows, modules, _sysctl.remembered(read(path) or ""), profile, profiles)
        settle(items, path)
        record(module, items)
        if module.check_mode:
            predict(items)
        else:
            apply(items)
        mark_shadowed(items, path)
        files = [(path, read(path), file_text(items) if items else None), (modules_path, read(modules_path), modules.text())]
        if not module.check_mode:
            for name, before, after in files:
                if before != after:
                    put(name, after)
    except (OSError, ValueError, journal.JournalError) as exc:
        module.fail_json(msg="The kernel settings could not be applied: %s" % exc)
    report(module, items, modules, files, profiles)


if __name__ == "__main__":
    main()
