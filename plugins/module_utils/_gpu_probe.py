# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the host: NVML or nvidia-smi, the PCI bus and cgroups. I/O only, no judgement.

Every path can be set, so that tests need no GPU and no root.
"""

from __future__ import annotations

import glob
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import time

from ansible_collections.indiaai.inference.plugins.module_utils import _nvml
from ansible_collections.indiaai.inference.plugins.module_utils._gpu_facts import is_gpu

PCI_DEVICES = "/sys/bus/pci/devices"
DRIVER_VERSION = "/proc/driver/nvidia/version"

_VERSION = re.compile(r"Kernel Module.*?\s([0-9]+(?:\.[0-9]+)+)")

# After SIGKILL a process stuck in the driver stays until the driver lets go. It is not waited for longer.
_GRACE_SECONDS = 2


def run_nvml(timeout, read=_nvml.read):
    """timeout: seconds. See `_gpu_facts.nvml_facts` for the result.

    A call into a stuck driver never returns and no signal handler of Python runs, so the
    library is asked in a forked child, which can be given up. A child and not a second
    interpreter: it starts in milliseconds.
    """
    result = {"found": True, "error": None, "document": None, "timed_out": False, "timeout": timeout}
    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        _be_the_child(sink, read)
    os.close(sink)
    try:
        text, ended = _read_until(source, time.monotonic() + timeout)
    finally:
        os.close(source)
    if not ended:
        _kill(child)
    status = _wait(child)
    if not ended:
        return dict(result, timed_out=True)
    try:
        answer = json.loads(text.decode("utf-8"))
    except ValueError:
        code = "the process that asked NVML ended with status {0}".format(status)
        answer = {"found": True, "error": {"code": None, "text": code}, "document": None}
    return dict(result, **answer)


def _be_the_child(sink, read):
    """Never returns: answers as JSON and ends, without any of the parent's clean-up."""
    status = 1
    try:
        os.setsid()
        # Neither the library nor what it starts may write into the module's answer or keep its output open.
        quiet = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(quiet, number)
        try:
            answer = read()
        except Exception as exc:  # pylint: disable=broad-except
            text = "{0}: {1}".format(type(exc).__name__, exc)
            answer = {"found": True, "error": {"code": None, "text": text}, "document": None}
        with os.fdopen(sink, "wb") as stream:
            stream.write(json.dumps(answer).encode("utf-8"))
        status = 0
    finally:
        os._exit(status)


def _read_until(source, deadline):
    """-> (bytes, True when the other end was closed before the deadline)."""
    parts = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([source], [], [], left)[0]:
            return b"".join(parts), False
        part = os.read(source, 65536)
        if not part:
            return b"".join(parts), True
        parts.append(part)


def _wait(child):
    """Status of a child that has ended or is about to; None when it does not end in time."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        if time.monotonic() > deadline:
            return None
        time.sleep(0.001)


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
            _kill(process.pid)
            try:
                process.wait(timeout=_GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        for stream, key in ((out, "stdout"), (err, "stderr")):
            stream.seek(0)
            result[key] = stream.read().decode("utf-8", "replace")
    return result


def _kill(leader):
    """Kills the process and the group it leads."""
    for kill in (os.killpg, os.kill):
        try:
            kill(leader, signal.SIGKILL)
        except OSError:
            pass  # gone, or not yet the leader of a group


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


def kernel_driver(path=DRIVER_VERSION):
    """Version of the loaded kernel module, "" when it does not say, None when none is loaded."""
    text = _read(path)
    if text is None:
        return None
    match = _VERSION.search(text)
    return match.group(1) if match else ""


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
