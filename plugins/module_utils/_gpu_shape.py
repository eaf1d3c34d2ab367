# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one GPU looks like in the facts, whichever backend read it. Pure.

Both backends (`_nvidia_smi`, `_nvml`) read the same fields in their own way and hand
them to `finish`; what is derived from them is derived here, once.
"""

from __future__ import annotations

import re

# Every field that is read as one value. The others are lists.
SCALARS = (
    "uuid",
    "name",
    "pci_bus_id",
    "minor_number",
    "persistence_mode",
    "mig_mode",
    "mig_mode_pending",
    "memory_total_mib",
    "memory_used_mib",
    "memory_free_mib",
    "memory_reserved_mib",
    "utilization_percent",
    "temperature_c",
    "temperature_margin_c",
    "memory_temperature_c",
    "power_draw_w",
    "power_limit_w",
    "power_limit_requested_w",
    "power_limit_default_w",
    "power_limit_min_w",
    "power_limit_max_w",
    "sm_clock_mhz",
    "memory_clock_mhz",
    "sm_clock_max_mhz",
    "memory_clock_max_mhz",
    "ecc_mode",
    "ecc_mode_pending",
    "ecc_volatile_corrected",
    "ecc_volatile_uncorrected",
    "ecc_aggregate_corrected",
    "ecc_aggregate_uncorrected",
    "remapped_rows_corrected",
    "remapped_rows_uncorrected",
    "remapped_rows_pending",
    "remapped_rows_failed",
    "nvlinks_active",
    "nvlinks_inactive",
    "fabric_state",
    "fabric_status",
    "clock_event_reasons",
    "recovery_action",
)

LOST = "gpu is lost"
NEEDS_RESET = "gpu requires reset"

# Bits of NVML's clock event reasons, by the names of nvidia-smi's XML.
EVENT_REASONS = (
    (0x001, "gpu_idle"),
    (0x002, "applications_clocks_setting"),
    (0x004, "sw_power_cap"),
    (0x008, "hw_slowdown"),
    (0x010, "sync_boost"),
    (0x020, "sw_thermal_slowdown"),
    (0x040, "hw_thermal_slowdown"),
    (0x080, "hw_power_brake_slowdown"),
    (0x100, "display_clocks_setting"),
)

# A GPU whose answer to one of these is broken is not given work.
_VITAL = frozenset(("uuid", "memory_total_mib", "memory_used_mib", "mig_mode"))

_RESET_ACTIONS = frozenset(("reset", "gpu_reset", "gpu_reset_required", "drain_and_reset"))

_BUS_ID = re.compile(r"^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})\.([0-7])$")


def bus_id(text):
    """"0000:0A:00.0", "00000000:0A:00.0" -> "00000000:0a:00.0"; the tools differ in case and length."""
    low = (text or "").strip().lower()
    match = _BUS_ID.match(low)
    if not match:
        return low or None
    return "{0}:{1}:{2}.{3}".format(
        (match.group(1) or "0").zfill(8), match.group(2).zfill(2), match.group(3).zfill(2), match.group(4)
    )


def word(text):
    """"Drain and Reset" -> "drain_and_reset"; None and "None" -> None."""
    low = "_".join((text or "").lower().split())
    return low if low and low != "none" else None


def empty(index):
    """A GPU of which nothing is known yet."""
    gpu = {"index": index}
    gpu.update((name, None) for name in SCALARS)
    gpu["mig_instances"] = []
    gpu["processes"] = []
    return gpu


def finish(gpu, broken):
    """Adds what follows from the fields: state, broken_fields, memory_unattributed_mib.

    broken: {field: what stood there, lower case}.
    """
    gpu["state"] = _state(gpu["recovery_action"], broken)
    gpu["broken_fields"] = sorted(broken)
    gpu["memory_unattributed_mib"] = _unattributed(gpu)
    return gpu


def _state(action, broken):
    """ok | needs_reset | lost | unknown. Only "ok" may be given work."""
    reasons = set(broken.values())
    if LOST in reasons:
        return "lost"
    if NEEDS_RESET in reasons or action in _RESET_ACTIONS:
        return "needs_reset"
    if action is not None:
        return "unknown"  # reboot, drain, or a newer word: needs a person
    if _VITAL & set(broken):
        return "unknown"
    return "ok"


def _unattributed(gpu):
    """Memory that no listed process holds: a killed worker's child, MPS, another PID namespace.

    null when a process does not say how much it holds, and when MIG instances make the
    sum mean something else than the GPU's own figure.
    """
    sizes = [process["memory_mib"] for process in gpu["processes"]]
    if gpu["memory_used_mib"] is None or None in sizes or gpu["mig_mode"] == "enabled":
        return None
    return max(0, gpu["memory_used_mib"] - sum(sizes))


def processes(rows):
    """[{"pid", "name", "type", "memory_mib", "gpu_instance"}] -> one entry for each pid, ordered by pid.

    memory_mib is None where the driver does not say. Two contexts of one kind are added up.
    Not added up are the kinds: a process that computes and draws is told twice with all its
    memory; nor the compute instances of one MIG GPU instance, which share its memory.
    """
    found = {}
    for row in rows:
        entry = found.setdefault(row["pid"], {"name": None, "parts": {}})
        entry["name"] = entry["name"] or row["name"]
        kinds = entry["parts"].setdefault(row["gpu_instance"], {})
        kinds.setdefault(row["type"], []).append(row["memory_mib"])
    result = []
    for pid in sorted(found):
        parts = found[pid]["parts"]
        sizes = [size for size in (_held(kinds, instance) for instance, kinds in parts.items()) if size is not None]
        result.append(
            {
                "pid": pid,
                "name": found[pid]["name"],
                "type": _type({letter for kinds in parts.values() for kind in kinds for letter in kind or ""}),
                "memory_mib": sum(sizes) if sizes else None,
                "gpu_instances": sorted(instance for instance in parts if instance is not None),
            }
        )
    return result


def _held(kinds, instance):
    """{type: [MiB or None, ...]} of one process in one GPU instance -> MiB, or None when nothing is known."""
    sizes = []
    for parts in kinds.values():
        known = [part for part in parts if part is not None]
        if known:
            sizes.append(sum(known) if instance is None else max(known))
    return max(sizes, default=None)


def _type(letters):
    """{"C", "G"} -> "C+G", as nvidia-smi writes it: M (MPS), C (compute), G (graphics)."""
    return "+".join(letter for letter in "MCG" if letter in letters) or None


def mig_instances(rows):
    """One row for each MIG device -> one entry for each GPU instance, ordered by its id.

    rows: [{"index", "gpu_instance_id", "compute_instance_id", "uuid", "memory_total_mib",
    "memory_used_mib", "memory_free_mib"}]. The compute instances of one GPU instance share
    its memory and each repeat it, so it is given once.
    """
    found = {}
    for row in rows:
        entry = found.setdefault(
            row["gpu_instance_id"],
            {
                "gpu_instance_id": row["gpu_instance_id"],
                "memory_total_mib": None,
                "memory_used_mib": None,
                "memory_free_mib": None,
                "compute_instances": [],
            },
        )
        for name in ("memory_total_mib", "memory_used_mib", "memory_free_mib"):
            if entry[name] is None:
                entry[name] = row[name]
        entry["compute_instances"].append(
            {"compute_instance_id": row["compute_instance_id"], "index": row["index"], "uuid": row["uuid"]}
        )
    for entry in found.values():
        entry["compute_instances"].sort(key=lambda item: (_order(item["compute_instance_id"]), _order(item["index"])))
    return [found[key] for key in sorted(found, key=_order)]


def _order(number):
    return -1 if number is None else number
