# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the host: runs nvidia-smi, reads the PCI bus and cgroups. I/O only, no judgement.

Every path can be set, so that tests need no GPU and no root.
"""

from __future__ import annotations

import glob
import os
import signal
import subprocess
import tempfile

from ansible_collections.indiaai.inference.plugins.module_utils._gpu_facts import is_gpu

PCI_DEVICES = "/sys/bus/pci/devices"
DRIVER_VERSION = "/proc/driver/nvidia/version"

# After SIGKILL a process stuck in the driver stays until the driver lets go. It is not waited for longer.
_GRACE_SECONDS = 2


def run_nvidia_smi(program, timeout):
    """program: path or None; timeout: seconds. See `_gpu_facts.facts` for the result.

    A stuck nvidia-smi keeps its output open, and so do its children: the output goes to
    files instead of pipes, and the whole process group is killed.
    """
    result = {"found": False, "rc": None, "stdout": "", "stderr": "", "timed_out": False, "timeout": timeout}
    if not program:
        return result
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            # Used where there is no AnsibleModule, so not through run_command().
            process = subprocess.Popen(  # pylint: disable=ansible-bad-function
                [program, "-q", "-x"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                env=dict(os.environ, LC_ALL="C"),
            )
        except OSError as exc:
            return dict(result, found=True, rc=-1, stderr=str(exc))
        result["found"] = True
        try:
            result["rc"] = process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            result["timed_out"] = True
            _kill_group(process)
        for stream, key in ((out, "stdout"), (err, "stderr")):
            stream.seek(0)
            result[key] = stream.read().decode("utf-8", "replace")
    return result


def _kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        process.wait(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        pass


def count_pci_gpus(devices=PCI_DEVICES):
    """Number of NVIDIA GPUs on the PCI bus; None when there is no bus to read."""
    if not os.path.isdir(devices):
        return None
    count = 0
    for folder in glob.glob(os.path.join(devices, "*")):
        vendor, pci_class = _read(os.path.join(folder, "vendor")), _read(os.path.join(folder, "class"))
        if vendor is not None and pci_class is not None and is_gpu(vendor, pci_class):
            count += 1
    return count


def driver_loaded(path=DRIVER_VERSION):
    return os.path.exists(path)


def cgroups(pids, proc="/proc"):
    """{pid: text of its cgroup file}; processes that are gone are left out."""
    result = {}
    for pid in pids:
        text = _read(os.path.join(proc, str(pid), "cgroup"))
        if text is not None:
            result[pid] = text
    return result


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return None
