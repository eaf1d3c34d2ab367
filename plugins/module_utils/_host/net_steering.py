# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Receive packet and flow steering (RPS, RFS): which CPUs share the work of which receive queue. Pure.

A network card with one receive queue interrupts one CPU; RPS hands its packets on to others. A card with a queue for each CPU
does that itself, and RPS would only add interrupts between CPUs. So each interface is judged by its queues and by the CPUs
of the memory node it is attached to, and the verdict says why.

A device is {"name", "physical", "bond", "type", "numa_node", "queues": {queue: {"rps_cpus", "rps_flow_cnt"}}}; type is the
kernel's ARPHRD number, values are texts as read. A machine is {"possible": number of CPUs the kernel was built up for,
"online": set, "nodes": {node: set}}.
"""

from __future__ import annotations

MODES = ("auto", "on", "off")
_ETHERNET = 1
_VIRTUAL_NAMES = ("veth", "docker", "br-", "virbr", "vnet", "cali", "flannel", "tun", "tap", "wg")


def parse_cpulist(text):
    """"0-3,8" -> {0, 1, 2, 3, 8}; an empty text is an empty set. ValueError."""
    cpus = set()
    for part in text.strip().split(","):
        if part.strip():
            first, dummy, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def format_mask(cpus, possible):
    """CPUs -> the kernel's spelling: groups of 32 bits in hexadecimal, the highest first, as many as the machine has.

    >>> format_mask(range(24), 24), format_mask(range(48), 48), format_mask([], 8)
    ('00ffffff', '0000ffff,ffffffff', '00000000')

    ValueError for a CPU that the machine cannot have: the kernel refuses such a mask.
    """
    number = 0
    for cpu in cpus:
        if not 0 <= cpu < possible:
            raise ValueError("CPU %d does not exist, there are %d" % (cpu, possible))
        number |= 1 << cpu
    groups = []
    for dummy in range(max(1, -(-possible // 32))):
        groups.insert(0, "%08x" % (number & 0xffffffff))
        number >>= 32
    return ",".join(groups)


def parse_mask(text):
    """"0000ffff,ffffffff" -> the number; leading zeros, which the kernel adds and drops, do not count. ValueError."""
    number = 0
    for group in text.strip().split(","):
        if not 1 <= len(group) <= 8 or group.strip("0123456789abcdefABCDEF"):
            raise ValueError("%r is not a mask of CPUs" % text)
        number = number << 32 | int(group, 16)
    return number


def round_up(number):
    """The next power of two, as the kernel makes of flow counts; 0 stays 0."""
    return 1 << (number - 1).bit_length() if number > 0 else 0


def flows_per_queue(entries, queues):
    """Share of the flow table for one queue."""
    return round_up(entries // queues) if queues else 0


def why_never(device):
    """Why an interface is never steered, None when it may be."""
    if device["name"] == "lo":
        return "the loopback interface"
    if device["bond"]:
        return "a bond; its members are steered"
    if not device["physical"] or device["name"].startswith(_VIRTUAL_NAMES):
        return "a virtual interface"
    if device["type"] != _ETHERNET:
        return "not an Ethernet interface"
    if not device["queues"]:
        return "it has no receive queues"
    return None


def decide(device, machine, mode, flow_entries):
    """Verdict on one interface -> {"device", "action", "reason", "cpus": mask or None, "flows": int or None}.

    action: steer (cpus and flows are wanted in every queue), off (cpus 0 is wanted, flows stay: hardware steering uses them),
    skip (nothing is touched).
    """
    verdict = {"device": device["name"], "action": "skip", "reason": None, "cpus": None, "flows": None}
    if mode == "off":
        return dict(verdict, reason="switched off")
    never = why_never(device)
    if never:
        return dict(verdict, reason=never)
    node = device["numa_node"]
    cpus = machine["nodes"].get(node, set()) & machine["online"]
    where = "in NUMA node %d" % node if cpus else "of the machine"
    cpus = cpus or machine["online"]
    queues = len(device["queues"])
    if len(cpus) < 2:
        return dict(verdict, reason="%d CPU %s: nobody to share the work with" % (len(cpus), where))
    if queues >= len(cpus) and mode == "auto":
        return dict(verdict, action="off", cpus=format_mask([], machine["possible"]),
                    reason="%d RX queues >= %d CPUs %s: the card spreads the work itself" % (queues, len(cpus), where))
    return dict(verdict, action="steer", cpus=format_mask(cpus, machine["possible"]), flows=flows_per_queue(flow_entries, queues),
                reason="%d RX queue%s for %d CPUs %s" % (queues, "" if queues == 1 else "s", len(cpus), where))


def changes(device, verdict):
    """What differs from the verdict -> [{"queue", "file", "before", "after"}], values compared as numbers."""
    found = []
    for queue in sorted(device["queues"]):
        values = device["queues"][queue]
        for name, wanted, read in (("rps_cpus", verdict["cpus"], parse_mask), ("rps_flow_cnt", verdict["flows"], int)):
            if wanted is None or values.get(name) is None:
                continue
            before = values[name].strip()
            if read(before) != read(str(wanted)):
                found.append({"queue": queue, "file": name, "before": before, "after": str(wanted)})
    return found
