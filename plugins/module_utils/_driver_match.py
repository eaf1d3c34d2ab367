# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the parts of an NVIDIA driver are in step. Pure.

The kernel module, the user-space libraries and, where there are NVSwitches, the fabric manager work together only at exactly
the same version. Packages replace files; what the kernel has loaded stays until a reboot.
"""

from __future__ import annotations

import re

NVIDIA = "0x10de"
BRIDGE = "0x0680"  # PCI class of an NVSwitch
LIBRARIES = ("libnvidia-ml.so.1", "libcuda.so.1")

# Debian names the module after the kind of its packages.
MODULES = ("nvidia", "nvidia-current", "nvidia-current-open")

# These hold the GPU open without being anybody's work.
SERVICES = frozenset(("nvidia-persistenced", "nvidia-persiste", "nv-fabricmanager", "nv-fabricmanage", "nv-hostengine", "dcgm-exporter", "nvidia-smi"))

_VERSION = re.compile(r"(\d+(?:\.\d+)+)")
_LOADED = re.compile(r"^NVRM version:.*Kernel Module.*?\s(\d+(?:\.\d+)+)\s", re.M)
_LIBRARY = re.compile(r"\.so\.(\d+(?:\.\d+)+)\Z")


# ---- reading what programs and files say -------------------------------------------------------------------------------


def loaded_version(text):
    """/proc/driver/nvidia/version, of the open or the closed module -> version or None."""
    match = _LOADED.search(text or "")
    return match.group(1) if match else None


def library_version(real_path):
    """Path of a library with all links followed -> version, None where the name has none."""
    match = _LIBRARY.search(real_path)
    return match.group(1) if match else None


def package_version(version):
    """Version of a package -> the driver's ("580.95.05-0ubuntu1" -> "580.95.05"), None when it has none."""
    match = _VERSION.match(version.rpartition(":")[2])
    return match.group(1) if match else None


def modinfo(text):
    """Output of modinfo -> {"version", "path"}, None without a version."""
    fields = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields.setdefault(name.strip(), value.strip())
    if not fields.get("version"):
        return None
    return {"version": fields["version"], "path": fields.get("filename")}


def is_nvswitch(vendor, pci_class):
    """Contents of /sys/bus/pci/devices/*/{vendor,class}."""
    return vendor.strip().lower() == NVIDIA and pci_class.strip().lower().startswith(BRIDGE)


def next_kernel(running, installed):
    """Release of the newest kernel of the same flavour when it is newer than the running one: a reboot takes it. Else None."""
    flavour = running.rpartition("-")[2]
    newer = [name for name in installed if name.rpartition("-")[2] == flavour and _numbers(name) > _numbers(running)]
    return max(newer, key=_numbers) if newer else None


def _numbers(name):
    return [int(part) for part in re.findall(r"\d+", name)]


def branch(version):
    """The part of a version before the first dot."""
    return version.partition(".")[0]


def satisfies(version, wanted):
    """Whether a version is the wanted one; "580" stands for every version of that branch."""
    parts = wanted.split(".")
    return version is not None and version.split(".")[:len(parts)] == parts


# ---- judging ---------------------------------------------------------------------------------------------------------------


def judge(found, wanted=None):
    """What the parts mean together.

    found: {"gpus": n|None, "nvswitches": n|None, "kernel", "next_kernel": str|None, "loaded": version|None,
      "module", "module_next": version|None of the running and the next kernel,
      "libraries": {name: version|None (there, without a version in its name)}, "fabric_manager": version|None,
      "installed_at", "booted_at": seconds since 1970|None}
    wanted: branch or version, None for any.
    -> {"state", "reason", "version": what is installed, "reboot_required", "satisfied", "notes": [text]}; state is one of
      no_gpu; ok; reboot_required: installed in step, the kernel still has another; driver_missing; incomplete;
      out_of_step: installed parts differ, which no reboot heals; not_loaded: neither did the last reboot load it.
    """
    notes = []
    state, reason = _state(found, notes)
    version = _installed(found)
    satisfied = state == "no_gpu" or wanted is None or satisfies(version, wanted)
    return {"state": state, "reason": reason, "version": version, "reboot_required": state == "reboot_required", "satisfied": satisfied,
            "notes": notes}


def _installed(found):
    """Version of what is installed: of the libraries, which programs meet first."""
    versions = [found["libraries"][name] for name in LIBRARIES if found["libraries"].get(name)]
    versions += [found[name] for name in ("module_next", "module", "loaded") if found[name]]
    return versions[0] if versions else None


def _state(found, notes):
    loaded, libraries = found["loaded"], found["libraries"]
    if not found["gpus"] and loaded is None:
        return "no_gpu", "the PCI bus cannot be read" if found["gpus"] is None else "no NVIDIA GPU on the PCI bus"
    modules = [found[name] for name in ("module", "module_next") if found[name]]
    if loaded is None and not modules and not libraries:
        return "driver_missing", "%d NVIDIA GPU(s) on the PCI bus and no driver" % found["gpus"]
    lacking = _lacking(found, modules)
    if lacking:
        return "incomplete", "%s; %s" % (lacking, _told(found))
    versions = sorted({version for version in libraries.values() if version})
    if not versions:
        notes.append("no version in the names of the libraries, they were not compared")
        versions = [loaded or modules[-1]]
    version = versions[0]
    if len(versions) > 1 or (modules and version not in modules):
        return "out_of_step", _difference(versions + modules) + _told(found)
    if found["fabric_manager"] and found["fabric_manager"] != version:
        if found["nvswitches"]:
            return "out_of_step", _difference([version, found["fabric_manager"]]) + _told(found)
        notes.append("fabric manager %s is installed; without an NVSwitch it is not used" % found["fabric_manager"])
    if loaded == version:
        _look_ahead(found, version, notes)
        return "ok", "driver %s is loaded and installed" % version
    return _unloaded(found, version)


def _lacking(found, modules):
    """The part that is not there at all, or None."""
    if LIBRARIES[0] not in found["libraries"]:
        return "no library %s" % LIBRARIES[0]
    if not modules and found["loaded"] not in found["libraries"].values():
        return "no kernel module for kernel %s" % (found["next_kernel"] or found["kernel"])
    if found["nvswitches"] and not found["fabric_manager"]:
        return "%d NVSwitch(es) and no fabric manager, without which CUDA does not start" % found["nvswitches"]
    return None


def _unloaded(found, version):
    """Installed in step, and the kernel has something else, or nothing."""
    has = "has %s loaded" % found["loaded"] if found["loaded"] else "has loaded no NVIDIA driver"
    installed, booted = found["installed_at"], found["booted_at"]
    if installed is not None and booted is not None and installed < booted:
        return "not_loaded", (
            "driver %s was installed before the last boot, and the kernel %s: another reboot does not help; the reason is in "
            "`dmesg` (Secure Boot, nouveau, or an initramfs with an older driver)" % (version, has)
        )
    return "reboot_required", "driver %s is installed, and the kernel %s" % (version, has)


def _look_ahead(found, version, notes):
    """What the next boot would find."""
    if found["next_kernel"] and found["module_next"] != version:
        notes.append(
            "kernel %s, which the next boot may take, has %s: the driver would be gone after it"
            % (found["next_kernel"], "module %s" % found["module_next"] if found["module_next"] else "no nvidia module")
        )
    elif not found["module"] and not found["module_next"]:
        notes.append("no nvidia module is found on the disk: the driver would be gone after a reboot")


def _difference(versions):
    branches = sorted({branch(version) for version in versions})
    return "installed parts are of different %s: " % ("branches (%s)" % ", ".join(branches) if len(branches) > 1 else "versions")


def _told(found):
    """All parts with their versions."""
    parts = ["loaded %s" % (found["loaded"] or "none"), "module for kernel %s %s" % (found["kernel"], found["module"] or "none")]
    if found["next_kernel"]:
        parts.append("module for kernel %s %s" % (found["next_kernel"], found["module_next"] or "none"))
    parts += ["%s %s" % (name, version or "of unknown version") for name, version in sorted(found["libraries"].items())]
    if not found["libraries"]:
        parts.append("libraries none")
    if found["nvswitches"] or found["fabric_manager"]:
        parts.append("fabric manager %s" % (found["fabric_manager"] or "none"))
    return ", ".join(parts)
