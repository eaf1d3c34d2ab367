# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`nvidia-smi -q -x` as data. Pure: text in, dict out.

Reads the schemas v11 to v13 (drivers 510 to 610). Three kinds of text stand where a
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

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_shape

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
_BROKEN = frozenset(
    (
        _gpu_shape.LOST,
        _gpu_shape.NEEDS_RESET,
        "err!",
        "unknown error",
        "unknown",
        "insufficient permissions",
        "not found",
        "no data",
        "not ready",
        "timeout",
    )
)
# What this document never says; the UUIDs of MIG devices are missing from most drivers' too.
UNAVAILABLE = ("nvlinks_active", "nvlinks_inactive")
MIG_UUID = "mig_instances.uuid"
_END = "</nvidia_smi_log>"
_PROCESS_NAME = re.compile(r"(<process_name>)(.*?)(</process_name>\s*<used_memory>)", re.DOTALL)
_ENTITIES = (("&gt;", ">"), ("&lt;", "<"), ("&amp;", "&"))
# Characters that XML 1.0 forbids.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")
# A number, then an optional unit: "-8 C", "143771 MiB", "0 %", "7015662857 us".
_NUMBER = re.compile(r"^(-?[0-9]+(?:\.[0-9]+)?)\s*([A-Za-z%/]*)$")


class ParseError(ValueError):
    """The text is not an nvidia-smi document."""


def parse(text):
    """text -> {"driver_version", "cuda_version", "attached_gpus", "gpus": [...], "unavailable_fields"}; raises ParseError."""
    root = _document(text)
    host = _Reader(root)
    gpus = [_gpu(index, element) for index, element in enumerate(root.findall("gpu"))]
    parts = [part for gpu in gpus for instance in gpu["mig_instances"] for part in instance["compute_instances"]]
    return {
        "driver_version": host.word("driver_version", "driver_version"),
        "cuda_version": host.word("cuda_version", "cuda_version"),
        "attached_gpus": host.number("attached_gpus", "attached_gpus"),
        "gpus": gpus,
        "unavailable_fields": sorted(UNAVAILABLE + ((MIG_UUID,) if any(part["uuid"] is None for part in parts) else ())),
    }


def _document(text):
    # Warnings may stand before and after the document, and its DOCTYPE names a file that does not exist.
    start, end = text.find("<nvidia_smi_log"), text.rfind(_END)
    if start < 0:
        raise ParseError("no <nvidia_smi_log> element")
    text = text[start:end + len(_END)] if end > start else text[start:]
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError:
        # A process may call itself what it likes, and nvidia-smi may print it as it is.
        text = _PROCESS_NAME.sub(_escaped, _CONTROL.sub("?", text))
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as exc:
        raise ParseError(str(exc)) from exc


def _escaped(match):
    # Not with xml.sax.saxutils: that loads an HTTP client, a tenth of a second.
    name = match.group(2)
    for entity, character in _ENTITIES:
        name = name.replace(entity, character)
    for entity, character in reversed(_ENTITIES):
        name = name.replace(character, entity)
    return match.group(1) + name + match.group(3)


def classify(text):
    """Text of an element (or None) -> ("value", stripped text) | ("absent", None) | ("broken", lower text)."""
    bare = " ".join((text or "").split())
    low = bare.strip("[]").strip().lower()
    if low in _ABSENT:
        return "absent", None
    if low in _BROKEN:
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

    def total(self, field, *paths):
        """Sum of the parts that are there; None without any, and when one of them is broken."""
        parts = [self.number(field, path) for path in paths]
        known = [part for part in parts if part is not None]
        return sum(known) if known and field not in self.broken else None

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
    gpu = _gpu_shape.empty(index)
    gpu["uuid"] = read.word("uuid", "uuid")
    gpu["name"] = read.word("name", "product_name")
    gpu["pci_bus_id"] = _gpu_shape.bus_id(read.word("pci_bus_id", "pci/pci_bus_id") or element.get("id"))
    gpu["minor_number"] = read.number("minor_number", "minor_number")
    gpu["persistence_mode"] = read.switch("persistence_mode", "persistence_mode")
    gpu["mig_mode"] = _gpu_shape.word(read.word("mig_mode", "mig_mode/current_mig"))
    gpu["mig_mode_pending"] = _gpu_shape.word(read.word("mig_mode_pending", "mig_mode/pending_mig"))
    for name in ("total", "used", "free", "reserved"):
        field = "memory_{0}_mib".format(name)
        gpu[field] = read.number(field, "fb_memory_usage/" + name)
    gpu["utilization_percent"] = read.number("utilization_percent", "utilization/gpu_util")
    gpu["temperature_c"] = read.number("temperature_c", "temperature/gpu_temp")
    gpu["temperature_margin_c"] = read.number("temperature_margin_c", "temperature/gpu_temp_tlimit")
    gpu["memory_temperature_c"] = read.number("memory_temperature_c", "temperature/memory_temp")
    _power(read, gpu)
    for field, path in (
        ("sm_clock_mhz", "clocks/sm_clock"),
        ("memory_clock_mhz", "clocks/mem_clock"),
        ("sm_clock_max_mhz", "max_clocks/sm_clock"),
        ("memory_clock_max_mhz", "max_clocks/mem_clock"),
    ):
        gpu[field] = read.number(field, path)
    gpu["clock_event_reasons"] = _event_reasons(read)
    _errors(read, gpu)
    gpu["fabric_state"] = _gpu_shape.word(read.word("fabric_state", "fabric/state"))
    if gpu["fabric_state"] == "not_supported":
        gpu["fabric_state"] = None
    status = _gpu_shape.word(read.word("fabric_status", "fabric/status"))
    # Until the fabric is up the status says nothing yet.
    gpu["fabric_status"] = status if gpu["fabric_state"] == "completed" else None
    gpu["recovery_action"] = _gpu_shape.word(read.word("recovery_action", "gpu_recovery_action"))
    # Drivers up to 570 say it in another place; a GPU without the field needs nothing.
    if gpu["recovery_action"] is None and read.switch("recovery_action", "gpu_reset_status/reset_required"):
        gpu["recovery_action"] = "reset"
    gpu["mig_instances"] = _mig(read)
    gpu["processes"] = _processes(read)
    return _gpu_shape.finish(gpu, read.broken)


def _power(read, gpu):
    """v11 has power_readings; v12 renames it and the limits; v13 splits the draw in two."""
    for field, names in (
        ("power_draw_w", ("average_power_draw", "power_draw", "instant_power_draw")),
        ("power_limit_w", ("current_power_limit", "enforced_power_limit", "power_limit")),
        ("power_limit_requested_w", ("requested_power_limit", "power_limit")),
        ("power_limit_default_w", ("default_power_limit",)),
        ("power_limit_min_w", ("min_power_limit",)),
        ("power_limit_max_w", ("max_power_limit",)),
    ):
        paths = ("{0}/{1}".format(group, name) for group in ("gpu_power_readings", "power_readings") for name in names)
        gpu[field] = read.number(field, *paths)


def _event_reasons(read):
    """Names of the active reasons, or None; drivers before 535 call them throttle reasons."""
    field = "clock_event_reasons"
    active, known = [], False
    for unused, name in _gpu_shape.EVENT_REASONS:
        state = read.switch(
            field,
            "clocks_event_reasons/clocks_event_reason_" + name,
            "clocks_throttle_reasons/clocks_throttle_reason_" + name,
        )
        known = known or state is not None
        if state:
            active.append(name)
    return active if known and field not in read.broken else None


def _errors(read, gpu):
    gpu["ecc_mode"] = read.switch("ecc_mode", "ecc_mode/current_ecc")
    gpu["ecc_mode_pending"] = read.switch("ecc_mode_pending", "ecc_mode/pending_ecc")
    for scope in ("volatile", "aggregate"):
        base = "ecc_errors/{0}/".format(scope)
        for kind, total, parts in (
            ("corrected", "single_bit/total", ("sram_correctable", "dram_correctable")),
            (
                "uncorrected",
                "double_bit/total",
                (
                    "sram_uncorrectable",
                    "sram_uncorrectable_parity",
                    "sram_uncorrectable_secded",
                    "dram_uncorrectable",
                ),
            ),
        ):
            field = "ecc_{0}_{1}".format(scope, kind)
            # Before Ampere there is one total.
            gpu[field] = read.total(field, base + total, *(base + part for part in parts))
    gpu["remapped_rows_corrected"] = read.number("remapped_rows_corrected", "remapped_rows/remapped_row_corr")
    gpu["remapped_rows_uncorrected"] = read.number("remapped_rows_uncorrected", "remapped_rows/remapped_row_unc")
    gpu["remapped_rows_pending"] = read.switch("remapped_rows_pending", "remapped_rows/remapped_row_pending")
    gpu["remapped_rows_failed"] = read.switch("remapped_rows_failed", "remapped_rows/remapped_row_failure")


def _mig(read):
    """mig_devices is the word None, a subtree, or broken."""
    read.word("mig_instances", "mig_devices")
    rows = []
    for element in read.element.findall("mig_devices/mig_device"):
        device = _Reader(element)
        rows.append(
            {
                "index": device.number("index", "index"),
                "gpu_instance_id": device.number("gpu_instance_id", "gpu_instance_id"),
                "compute_instance_id": device.number("compute_instance_id", "compute_instance_id"),
                "uuid": device.word("uuid", "uuid"),
                "memory_total_mib": device.number("memory", "fb_memory_usage/total"),
                "memory_used_mib": device.number("memory", "fb_memory_usage/used"),
                "memory_free_mib": device.number("memory", "fb_memory_usage/free"),
            }
        )
        for why in device.broken.values():
            read.broken["mig_instances"] = why
    return _gpu_shape.mig_instances(rows)


def _processes(read):
    read.word("processes", "processes")
    rows = []
    for element in read.element.findall("processes/process_info"):
        item = _Reader(element)
        pid = item.number("pid", "pid")
        if pid is None:
            continue
        rows.append(
            {
                "pid": pid,
                "name": item.word("name", "process_name"),
                "type": item.word("type", "type"),
                "memory_mib": item.number("memory", "used_memory"),
                "gpu_instance": item.number("gpu_instance", "gpu_instance_id"),
            }
        )
    return _gpu_shape.processes(rows)
