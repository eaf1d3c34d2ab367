# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Network interfaces and CPUs as the kernel shows them under /sys, and steering applied to them: "inferctl net-steering"."""

from __future__ import annotations

import errno
import os

from . import net_steering
from . import sysfs

NET = "/sys/class/net"
CPU = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
FLOW_ENTRIES = "/proc/sys/net/core/rps_sock_flow_entries"


def queue_file(device, queue, name, root=""):
    """Path of one value of one receive queue."""
    return "%s%s/%s/queues/%s/%s" % (root, NET, device, queue, name)


def _number(path, default):
    try:
        return int((sysfs.text(path) or "").strip())
    except ValueError:
        return default


def machine(root=""):
    """CPUs and memory nodes, as net_steering wants them."""
    online = net_steering.parse_cpulist(sysfs.text(root + CPU + "/online") or "") or set(range(os.cpu_count() or 1))
    possible = net_steering.parse_cpulist(sysfs.text(root + CPU + "/possible") or "") or online
    nodes = {}
    for name in _names(root + NODES):
        if name.startswith("node") and name[4:].isdigit():
            nodes[int(name[4:])] = net_steering.parse_cpulist(sysfs.text("%s%s/%s/cpulist" % (root, NODES, name)) or "")
    return {"possible": max(possible) + 1, "online": online, "nodes": nodes}


def devices(root=""):
    """Every interface, sorted by name, as net_steering wants it."""
    return [device(name, root) for name in _names(root + NET) if os.path.isdir(os.path.join(root + NET, name))]


def device(name, root=""):
    """One interface."""
    path = "%s%s/%s" % (root, NET, name)
    queues = {}
    for queue in _names(path + "/queues"):
        if queue.startswith("rx-"):
            queues[queue] = {key: sysfs.text(queue_file(name, queue, key, root)) for key in ("rps_cpus", "rps_flow_cnt")}
    return {
        "name": name,
        "physical": os.path.exists(path + "/device") and "/devices/virtual/" not in os.path.realpath(path),
        "bond": os.path.isdir(path + "/bonding"),
        "type": _number(path + "/type", 0),
        "numa_node": _number(path + "/device/numa_node", -1),
        "queues": queues,
    }


def _names(path):
    try:
        return sorted(os.listdir(path))
    except OSError:
        return []


def survey(mode, flow_entries, root=""):
    """Verdict on every interface -> [(verdict, changes)]."""
    here = machine(root)
    result = []
    for found in devices(root):
        verdict = net_steering.decide(found, here, mode, flow_entries)
        result.append((verdict, net_steering.changes(found, verdict)))
    return result


def carry_out(verdict, changes, root=""):
    """Write the changes of one interface and read back -> text of the first failure, None when all of them hold."""
    for item in changes:
        path = queue_file(verdict["device"], item["queue"], item["file"], root)
        try:
            sysfs.write(path, item["after"])
        except OSError as exc:
            if exc.errno in (errno.ENOENT, errno.ENODEV):
                return "the queue went away while it was set"
            return "%s cannot be written: %s" % (path, exc.strerror)
    left = net_steering.changes(device(verdict["device"], root), verdict) if changes else []
    return "%s/%s reads %s after %s was written" % (left[0]["queue"], left[0]["file"], left[0]["before"], left[0]["after"]) if left else None


def run(say, mode, flow_entries, only=None, root=""):
    """inferctl net-steering: one line an interface -> number of interfaces on which it did not work."""
    failures = 0
    for verdict, changes in survey(mode, flow_entries, root):
        if only is not None and verdict["device"] != only:
            continue
        problem = carry_out(verdict, changes, root)
        failures += problem is not None
        say("%s: %s (%s)%s" % (verdict["device"], verdict["action"], verdict["reason"],
                               "; " + problem if problem else "; changed" if changes else ""))
    return failures
