# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What this host's kernel and GPU say about the processes of an engine. Reads only."""

from __future__ import annotations

import os

from ansible_collections.indiaai.inference.plugins.module_utils import _cutover


def read(path):
    """Text of a file of /proc, empty when the process has gone meanwhile."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def pids():
    """All processes."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def members(marker):
    """Processes of a container (by its full id) or unit (by its control group)."""
    return [pid for pid in pids() if _cutover.in_group(read("/proc/%d/cgroup" % pid), marker)]


def resident_mib(processes):
    """Resident memory of these processes in MiB; shared pages count for each."""
    return sum(_cutover.resident_mib(read("/proc/%d/status" % pid)) for pid in processes)


def start_time(pid):
    """When a process was started (clock ticks since boot), None when it has gone: a number alone may be given anew."""
    text = read("/proc/%d/stat" % pid)
    # the name in brackets may hold blanks
    fields = text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def is_zombie(pid):
    """Whether a process has ended and only waits to be collected: it holds nothing any more."""
    return read("/proc/%d/stat" % pid).rpartition(")")[2].split()[:1] == ["Z"]


def name(pid):
    """Name of a process."""
    return read("/proc/%d/comm" % pid).strip() or "a process that has gone"


def port_holders(port):
    """Who listens on a port: texts like "docker-proxy (pid 12)"."""
    inodes = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        inodes |= _cutover.listening_inodes(read(table), port)
    if not inodes:
        return []
    wanted = {"socket:[%s]" % inode for inode in inodes}
    found = []
    for pid in pids():
        folder = "/proc/%d/fd" % pid
        try:
            if any(os.readlink(os.path.join(folder, fd)) in wanted for fd in os.listdir(folder)):
                found.append("%s (pid %d)" % (name(pid), pid))
        except OSError:
            continue
    return found or ["a process that cannot be seen from here"]


def gpu_memory(run_command):
    """{pid: MiB} of GPU memory by process; empty where there is no nvidia-smi or it does not answer."""
    program = next((path for path in ("/usr/bin/nvidia-smi", "/usr/local/bin/nvidia-smi") if os.access(path, os.X_OK)), None)
    if program is None:
        return {}
    rc, out, dummy = run_command(["timeout", "30", program, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"])
    return _cutover.gpu_memory(out) if rc == 0 else {}
