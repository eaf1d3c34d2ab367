#!/usr/bin/python
# -*- coding: utf-8 -*-

# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_program
short_description: Install the host program C(inferctl), its units and its folders
version_added: 1.0.0
description:
  - Writes the Python package that this collection's modules use themselves to C(/usr/local/lib/indiaai-inference), the command
    C(inferctl), the systemd units C(inference-engine@.service) and C(ai-stack.target), the tmpfiles.d entry and the collection's folders.
  - Everything is recorded in the undo journal first; M(indiaai.inference.undo_journal) removes it again.
  - Engines that run are not touched. A running C(inferctl) keeps the program it started with.
  - systemd reads its units again only when one of them changed.
author:
  - IndiaAI Inference contributors (@indiaai)
attributes:
  check_mode:
    description: Can run in check_mode and return changed status prediction without modifying the target.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
options:
  role:
    description: Name under which the changes stand in the undo journal.
    type: str
    default: boot_recovery
"""

EXAMPLES = r"""
- name: Install the host program
  indiaai.inference.host_program:
"""

RETURN = r"""
version:
  description: Version and digest of the host program.
  returned: always
  type: str
  sample: 1.0.0 (cf5519cabdee)
changed_paths:
  description: Files and folders that were made, changed or removed.
  returned: always
  type: list
  elements: str
  sample: ["/usr/local/bin/inferctl"]
daemon_reloaded:
  description: Whether systemd read its units again.
  returned: always
  type: bool
  sample: true
"""

import os
import pkgutil
import stat

from ansible.module_utils.basic import AnsibleModule

# Every submodule is imported by name: only what a module imports travels to the host, and what travels is installed.
from ansible_collections.indiaai.inference.plugins.module_utils import _host
from ansible_collections.indiaai.inference.plugins.module_utils._host import (
    atomic,
    backoff,
    cli,
    console,
    container,
    docker_api,
    gpu_bus,
    gpu_clocks,
    gpu_init,
    gpu_policy,
    gpu_record,
    gpu_units,
    health,
    journal,
    journal_kinds,
    last_words,
    locks,
    net_devices,
    net_steering,
    net_units,
    notify,
    nvml,
    paths,
    post,
    process,
    spec,
    state,
    status,
    supervisor,
    sysfs,
    system,
    ulimits,
    units,
    version,
)

_SUBMODULES = (
    atomic, backoff, cli, console, container, docker_api, gpu_bus, gpu_clocks, gpu_init, gpu_policy, gpu_record, gpu_units, health, journal,
    journal_kinds, last_words, locks, net_devices, net_steering, net_units, notify, nvml, paths, post, process, spec, state, status,
    supervisor, sysfs, system, ulimits, units, version,
)


def bundled():
    """{file name: bytes} of the package as it travelled with this module."""
    files = {"__init__.py": b""}
    for submodule in _SUBMODULES:
        name = submodule.__name__.rsplit(".", 1)[-1] + ".py"
        data = pkgutil.get_data(_host.__name__, name)
        if data is None:
            raise OSError("the source of %s cannot be read" % name)
        files[name] = data
    return files


def wanted_files(package):
    """{path: (mode, bytes)} of every file."""
    folder = os.path.join(paths.LIB, paths.PACKAGE)
    files = {os.path.join(folder, name): (0o644, data) for name, data in package.items()}
    for path, (mode, text) in units.files().items():
        files[path] = (mode, text.encode("utf-8"))
    return files


def read(path):
    """Content of a regular file, None when there is none."""
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except (FileNotFoundError, NotADirectoryError):
        return None


def file_differs(path, mode, data):
    """True when path is not a regular file of root with exactly this mode and content."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    right = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == mode and (found.st_uid, found.st_gid) == (0, 0)
    return not right or read(path) != data


def directory_differs(path, mode, keep):
    """True when a folder is missing, or has another mode or owner and is not left alone."""
    if not os.path.isdir(path):
        return True
    found = os.stat(path)
    return not keep and (stat.S_IMODE(found.st_mode) != mode or (found.st_uid, found.st_gid) != (0, 0))


def make_directory(path, mode):
    """Make a folder, or give it its mode and owner."""
    if not os.path.isdir(path):
        os.makedirs(path, mode)
    os.chown(path, 0, 0)
    os.chmod(path, mode)


def stale_files(package):
    """Modules of an earlier version."""
    folder = os.path.join(paths.LIB, paths.PACKAGE)
    if not os.path.isdir(folder):
        return []
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".py") and name not in package]


def journal_items():
    """What the undo journal must know first. Files before units: on the way back units go down while their files exist."""
    items = []
    for path, unused_mode, unused_keep in units.directories():
        if path != paths.UNDO:  # the journal looks after its own folder
            items.append({"kind": "directory", "path": path, "purge": path in (paths.LIB, paths.RUN)})
    items += [{"kind": "file", "path": path} for path in sorted(units.files())]
    items += [{"kind": "unit", "name": name} for name in (paths.TARGET_UNIT, paths.ENGINE_UNIT)]
    return items


def file_diff(path, data):
    """before and after of one file, as texts."""
    return {
        "before": (read(path) or b"").decode("utf-8", "replace"),
        "after": (data or b"").decode("utf-8", "replace"),
        "before_header": path,
        "after_header": path,
    }


def main():
    """Entry point."""
    module = AnsibleModule(argument_spec={"role": {"type": "str", "default": "boot_recovery"}}, supports_check_mode=True)
    try:
        package = bundled()
        files = wanted_files(package)
        new_directories = [(path, mode) for path, mode, keep in units.directories() if directory_differs(path, mode, keep)]
        new_files = {path: wanted for path, wanted in sorted(files.items()) if file_differs(path, *wanted)}
        stale = stale_files(package)
        diff = [{"prepared": "folder %s %04o\n" % (path, mode)} for path, mode in new_directories]
        diff += [file_diff(path, wanted[1]) for path, wanted in new_files.items()] + [file_diff(path, None) for path in stale]
        changed_paths = [path for path, unused in new_directories] + list(new_files) + stale
        reload_units = any(path.startswith(paths.SYSTEMD_UNITS + "/") for path in new_files)
        book = journal.Journal()
        recorded = book.record(module.params["role"], journal_items(), dry=module.check_mode)
        if changed_paths and not module.check_mode:
            for path, mode in new_directories:
                make_directory(path, mode)
            for path, (mode, data) in new_files.items():
                if os.path.isdir(path) and not os.path.islink(path):
                    raise OSError("%s is a directory, wanted a file" % path)
                atomic.write(path, data, mode, 0, 0)
            for path in stale:
                os.unlink(path)
            if reload_units:
                system.System().systemctl("daemon-reload")
            book.seal(module.params["role"], sorted(units.files()))
    except (OSError, journal.JournalError, system.SystemFailure) as exc:
        module.fail_json(msg="cannot install the host program: %s" % exc)
    module.exit_json(
        changed=bool(changed_paths or recorded),
        version="%s (%s)" % (version.VERSION, version.digest(package)),
        changed_paths=changed_paths,
        daemon_reloaded=reload_units and not module.check_mode,
        diff=diff,
    )


if __name__ == "__main__":
    main()
