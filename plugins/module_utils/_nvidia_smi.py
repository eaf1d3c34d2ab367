# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`nvidia-smi -q -x` as data. Pure: text in, dict out.

Reads the schemas v11 to v13 (drivers 510 to 590). Three kinds of text stand where a
value should be, and they are kept apart:

* a value: "143771 MiB", "77.67 W", "Enabled".
* absent, the GPU has no such thing: "N/A", "[Not Supported]", "", "None", ... -> None.
* broken, the GPU could not say: "GPU is lost", "[Unknown Error]", "ERR!", ... -> None,
  and the field's name is listed in `broken_fields`.

Whatever is neither is broken too: an unknown text must never pass as 0 or as absent.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

_ABSENT = frozenset(
    (
        "",
        "n/a",
        "not supported",
        "not available",
        "not available in wddm driver model",
        "none",
        "requested functionality has been deprecated",
    )
)
_LOST = "gpu is lost"
_RESET = "gpu requires reset"
# A number, then an optional unit: "-8 C", "143771 MiB", "0 %", "7015662857 us".
_NUMBER = re.compile(r"^(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%/]*)$")


class ParseError(ValueError):
    """The text is not an nvidia-smi document."""


def parse(text):
    """text -> {"driver_version", "cuda_version", "attached_gpus", "gpus": [...]}; raises ParseError."""
    start = text.find("<nvidia_smi_log")
    if start < 0:
        raise ParseError("no <nvidia_smi_log> element")
    try:
        # Warnings may precede the document, and its DOCTYPE names a file that does not exist.
        root = ElementTree.fromstring(text[start:])
    except ElementTree.ParseError as exc:
        raise ParseError(str(exc)) from exc
    attached = _Reader(root).number("attached_gpus", "attached_gpus")
    return {
        "driver_version": _Reader(root).word("driver_version", "driver_version"),
        "cuda_version": _Reader(root).word("cuda_version", "cuda_version"),
        "attached_gpus": attached,
        "gpus": [_gpu(index, element) for index, element in enumerate(root.findall("gpu"))],
    }


def classify(text):
    """Text of an element (or None) -> ("value", stripped text) | ("absent", None) | ("broken", lower text)."""
    bare = " ".join((text or "").split())
    low = bare.strip("[]").strip().lower()
    if low in _ABSENT:
        return "absent", None
    if low in (_LOST, _RESET, "err!", "unknown error", "unknown", "insufficient permissions"):
        return "broken", low
    return "value", bare


class _Reader:
    """Reads fields below one element and remembers which of them were broken, and how."""

    def __init__(self, element):
        self.element = element
        self.broken = {}

    def _read(self, field, paths):
        """Text of the first path that holds a value or is broken; the paths are one field's names over time."""
        for path in paths:
            found = self.element.find(path)
            if found is None and "/" in path:
                # A parent that is text instead of a subtree ("GPU is lost") speaks for its children.
                found = self.element.find(path.rpartition("/")[0])
                if found is None or classify(found.text)[0] != "broken":
                    continue
            if found is None:
                continue
            kind, value = classify(found.text)
            if kind == "value":
                return value
            if kind == "broken":
                self.broken[field] = value
                return None
        return None

    def word(self, field, *paths):
        """Text as it stands."""
        return self._read(field, paths)

    def number(self, field, *paths):
        """int, or float when a fraction is printed; the unit is dropped."""
        text = self._read(field, paths)
        if text is None:
            return None
        match = _NUMBER.match(text)
        if not match:
            self.broken[field] = text.lower()
            return None
        return float(match.group(1)) if "." in match.group(1) else int(match.group(1))

    def switch(self, field, *paths):
        """Enabled/Disabled, Yes/No, Active/Not Active -> bool."""
        text = self._read(field, paths)
        if text is None:
            return None
        low = text.lower()
        if low in ("enabled", "yes", "active"):
            return True
        if low in ("disabled", "no", "not active"):
            return False
        self.broken[field] = low
        return None


def _gpu(index, element):
    read = _Reader(element)
    power = ("gpu_power_readings", "power_readings")
    facts = {
        "index": index,
        "uuid": read.word("uuid", "uuid"),
        "name": read.word("name", "product_name"),
        "pci_bus_id": (read.word("pci_bus_id", "pci/pci_bus_id") or element.get("id") or "").lower() or None,
        "persistence_mode": read.switch("persistence_mode", "persistence_mode"),
        "mig_mode": _lower(read.word("mig_mode", "mig_mode/current_mig")),
        "memory_total_mib": read.number("memory_total_mib", "fb_memory_usage/total"),
        "memory_used_mib": read.number("memory_used_mib", "fb_memory_usage/used"),
        "memory_free_mib": read.number("memory_free_mib", "fb_memory_usage/free"),
        "memory_reserved_mib": read.number("memory_reserved_mib", "fb_memory_usage/reserved"),
        "utilization_percent": read.number("utilization_percent", "utilization/gpu_util"),
        "temperature_c": read.number("temperature_c", "temperature/gpu_temp"),
        "power_draw_w": read.number(
            "power_draw_w",
            *(
                "{0}/{1}".format(group, name)
                for group in power
                for name in ("average_power_draw", "power_draw", "instant_power_draw")
            )
        ),
        "power_limit_w": read.number(
            "power_limit_w",
            *("{0}/{1}".format(group, name) for group in power for name in ("current_power_limit", "power_limit"))
        ),
        "sm_clock_mhz": read.number("sm_clock_mhz", "clocks/sm_clock"),
        "memory_clock_mhz": read.number("memory_clock_mhz", "clocks/mem_clock"),
        "sm_clock_max_mhz": read.number("sm_clock_max_mhz", "max_clocks/sm_clock"),
        "memory_clock_max_mhz": read.number("memory_clock_max_mhz", "max_clocks/mem_clock"),
        "recovery_action": read.word("recovery_action", "gpu_recovery_action"),
        "processes": _processes(element),
    }
    # Drivers up to 570 say it in another place; a GPU without the field needs nothing.
    if facts["recovery_action"] is None and read.switch("reset_required", "gpu_reset_status/reset_required"):
        facts["recovery_action"] = "Reset"
    facts["state"] = _state(facts, read.broken)
    facts["broken_fields"] = sorted(read.broken)
    return facts


def _state(facts, broken):
    """ok | needs_reset | lost | unknown. Only "ok" may be given work."""
    reasons = set(broken.values())
    if _LOST in reasons:
        return "lost"
    action = (facts["recovery_action"] or "").lower()
    if _RESET in reasons or "reset" in action:
        return "needs_reset"
    if action:
        return "unknown"  # reboot, drain, or a newer word: needs a person
    if {"uuid", "memory_total_mib", "memory_used_mib", "mig_mode"} & set(broken):
        return "unknown"
    return "ok"


def _processes(element):
    """[{"pid", "name", "memory_mib"}], one for each pid, ordered by pid.

    memory_mib is None where the driver does not say. Two contexts of one process are
    added up; two MIG compute instances report the same memory and are not.
    """
    found = {}
    for item in element.findall("processes/process_info"):
        read = _Reader(item)
        pid = read.number("pid", "pid")
        if pid is None:
            continue
        memory = read.number("memory_mib", "used_memory")
        instance = read.word("instance", "gpu_instance_id")
        entry = found.setdefault(pid, {"pid": pid, "name": read.word("name", "process_name"), "parts": {}})
        entry["parts"].setdefault(instance, []).append(memory)
    result = []
    for pid in sorted(found):
        entry = found[pid]
        sizes = []
        for instance, parts in entry["parts"].items():
            sizes.extend(parts if instance is None else parts[:1])
        known = [size for size in sizes if size is not None]
        result.append({"pid": pid, "name": entry["name"], "memory_mib": sum(known) if known else None})
    return result


def _lower(text):
    return text.lower() if text else None
