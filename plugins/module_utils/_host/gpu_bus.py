# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the host says about its GPUs without their driver: the bus, the driver's files, this boot."""

from __future__ import annotations

import os

from . import nvml

_PCI = "/sys/bus/pci/devices"
_DRIVER = "/proc/driver/nvidia/version"
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def _read(path):
    try:
        with open(path, encoding="ascii", errors="replace") as handle:
            return handle.read().strip().lower()
    except OSError:
        return ""


def count(folder=_PCI):
    """Number of NVIDIA GPUs on the bus, None when the bus cannot be read. Audio functions and NVSwitches are none."""
    try:
        names = os.listdir(folder)
    except OSError:
        return None
    return sum(_read("%s/%s/vendor" % (folder, name)) == "0x10de" and _read("%s/%s/class" % (folder, name))[:6] in ("0x0300", "0x0302")
               for name in names)


def driver_loaded(path=_DRIVER):
    """Whether the kernel module is loaded."""
    return os.path.exists(path)


def boot_id(path=_BOOT_ID):
    """What this boot is called, "" when the kernel does not tell."""
    return _read(path)


def why_not(error, on_bus, expected, loaded):
    """Why NVML cannot be opened -> (state, reason). error: NvmlError; on_bus: count(); expected: GPUs that were here before.

    no_gpu, driver_missing, library_missing and unknown are never taken for each other: only the first means nothing to do.
    """
    if error.code not in (nvml.LIBRARY_NOT_FOUND, nvml.DRIVER_NOT_LOADED):
        if error.code == nvml.VERSION_MISMATCH:
            return "unknown", "the driver that is loaded and its library have different versions; reboot"
        return "unknown", "the driver does not answer: %s" % error
    if on_bus == 0 and not expected:
        return "no_gpu", "no NVIDIA GPU on the PCI bus"
    seen = "%d NVIDIA GPU(s) on the PCI bus" % on_bus if on_bus else "%d GPU(s) were here before" % expected if expected else None
    if seen is None:
        return "unknown", "%s, and the PCI bus cannot be read" % error
    if error.code == nvml.LIBRARY_NOT_FOUND and loaded:
        return "library_missing", "%s, the driver is loaded, its library %s is not installed" % (seen, nvml.SONAME)
    return "driver_missing", "%s, the driver is not loaded: %s" % (seen, error)
