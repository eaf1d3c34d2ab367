# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`nvidia-smi -q -x`: schemas v12 and v13.

A document is built as nested pairs (tag, text | Bad | list of pairs) and printed with tabs, as the real program does.
"""
from __future__ import annotations

import time

from .nvml import NOT_SUPPORTED, Bad
from .readings import COUNTERS, DEPRECATED, NOT_AVAILABLE, REASONS, bad_text, read, show

# The driver from which the power draw has two names, an average and an instant one.
_TWO_DRAWS = 560


class _Gpu:
    """The elements of one GPU."""

    def __init__(self, device, schema: str, state: dict, driver: str):
        self.device, self.v13, self.state = device, schema == "v13", state
        self.two_draws = int(driver.split(".")[0]) >= _TWO_DRAWS

    def of(self, name: str):
        return read(self.device, name)

    def many(self, *pairs) -> list:
        """(tag, name of a reading) pairs as elements."""
        return [(tag, self.of(name)) for tag, name in pairs]

    def elements(self) -> list:
        return self.identity() + self.state_of_health() + self.amounts() + self.errors() + self.power_and_clocks() + self.rest()

    def identity(self) -> list:
        later = [("display_attached", "No")] if self.v13 else []
        return [
            ("product_name", self.of("name")), ("product_brand", "NVIDIA"),
            ("product_architecture", self.state.get("product_architecture", NOT_AVAILABLE)),
            ("display_mode", DEPRECATED if self.v13 else "Enabled"), *later, ("display_active", "Disabled"),
            ("persistence_mode", self.of("persistence_mode")), ("addressing_mode", "None"),
            ("mig_mode", self.many(("current_mig", "mig.mode.current"), ("pending_mig", "mig.mode.pending"))),
            ("mig_devices", self.mig_devices()),
            ("accounting_mode", "Disabled"), ("accounting_mode_buffer_size", "4000"),
            ("driver_model", _absent("current_dm", "pending_dm")),
            ("serial", self.of("serial")), ("uuid", self.of("uuid")),
            *([("pdi", "0x0000000000000001")] if self.v13 else []),
            ("minor_number", self.of("minor_number")), ("vbios_version", self.of("vbios_version")), ("multigpu_board", "No"),
            ("board_id", "0x" + self.bus().lstrip("0").lower() + "00"), ("board_part_number", self.of("board_part_number")),
            ("gpu_fru_part_number", NOT_AVAILABLE),
        ]

    def bus(self) -> str:
        return self.of("pci.bus")[2:]

    def mig_devices(self):
        return [("mig_device", self.mig_device(one)) for one in self.device.mig_devices()] or ["None"]

    @staticmethod
    def mig_device(one) -> list:
        attributes = one.attributes()
        return [
            ("index", str(one.index)), ("gpu_instance_id", show(one.number("GpuInstanceId"))),
            ("compute_instance_id", show(one.number("ComputeInstanceId"))),
            ("device_attributes", [("shared", [
                ("multiprocessor_count", str(attributes.multiprocessors)), ("copy_engine_count", str(attributes.copy_engines)),
                ("encoder_count", str(attributes.encoders)), ("decoder_count", str(attributes.decoders)),
                ("ofa_count", str(attributes.ofa)), ("jpg_count", str(attributes.jpeg))])]),
            ("ecc_error_count", [("volatile_count", [("sram_uncorrectable", "0")])]),
            ("fb_memory_usage", [(tag, read(one, "memory." + tag)) for tag in ("total", "reserved", "used", "free")]),
            ("bar1_memory_usage", [("total", "65535 MiB"), ("used", "0 MiB"), ("free", "65535 MiB")]),
        ]

    def state_of_health(self) -> list:
        recovery, reset = self.of("gpu_recovery_action"), []
        if not self.v13:
            asked = DEPRECATED if self.two_draws else "Yes" if recovery in ("Reset", "Drain and Reset") else "No"
            reset = [("gpu_reset_status", [("reset_required", asked), ("drain_and_reset_recommended", DEPRECATED if self.two_draws else "No")])]
        # Drivers that still said it in the first place did not know the second.
        action = [("gpu_recovery_action", recovery)] if self.v13 or self.two_draws else []
        return [
            ("gpu_virtualization_mode", [("virtualization_mode", "None"), *_absent("host_vgpu_mode", "vgpu_heterogeneous_mode")]),
            *reset, *action, ("gsp_firmware_version", self.state.get("driver", NOT_AVAILABLE)),
            ("pci", [
                ("pci_bus", self.bus()), ("pci_device", self.of("pci.device")[2:]), ("pci_domain", self.of("pci.domain")[2:]),
                ("pci_base_class", "3"), ("pci_sub_class", "2"), ("pci_device_id", self.of("pci.device_id")[2:]),
                ("pci_bus_id", self.of("pci.bus_id")), ("pci_sub_system_id", self.of("pci.sub_device_id")[2:]),
                ("replay_counter", "0"), ("replay_rollover_counter", "0")]),
            ("fan_speed", NOT_AVAILABLE), ("performance_state", self.of("pstate")),
            ("clocks_event_reasons", [(f"clocks_event_reason_{tag}", self.of(f"clocks_event_reasons.{csv}"))
                                      for tag, (_bit, csv) in REASONS.items()]),
            *([("clocks_event_reasons_counters", [(f"clocks_event_reasons_counters_{tag}", self.of(f"clocks_event_reasons_counters.{tag}"))
                                                  for tag in COUNTERS])] if self.v13 else []),
        ]

    def amounts(self) -> list:
        return [
            ("fb_memory_usage", [(tag, self.of("memory." + tag)) for tag in ("total", "reserved", "used", "free")]),
            ("bar1_memory_usage", [(tag, self.of("bar1." + tag)) for tag in ("total", "used", "free")]),
            ("compute_mode", self.of("compute_mode")),
            ("utilization", [*self.many(("gpu_util", "utilization.gpu"), ("memory_util", "utilization.memory")),
                             *((tag, "0 %") for tag in ("encoder_util", "decoder_util", "jpeg_util", "ofa_util"))]),
        ]

    def errors(self) -> list:
        counts = []
        for kind in ("volatile", "aggregate"):
            dram = [self.of(f"ecc.errors.{which}.{kind}.dram") for which in ("corrected", "uncorrected")]
            sram = dram[0] if isinstance(dram[0], Bad) else "0"
            counts.append((kind, [("sram_correctable", sram), ("sram_uncorrectable_parity", sram), ("sram_uncorrectable_secded", sram),
                                  ("dram_correctable", dram[0]), ("dram_uncorrectable", dram[1])]))
        counts[1][1].append(("sram_threshold_exceeded", "No"))
        retired = [(tag, _absent("retired_count", "retired_pagelist"))
                   for tag in ("multiple_single_bit_retirement", "double_bit_retirement")]
        return [
            ("ecc_mode", self.many(("current_ecc", "ecc.mode.current"), ("pending_ecc", "ecc.mode.pending"))),
            ("ecc_errors", counts),
            ("retired_pages", [*retired, *_absent("pending_blacklist", "pending_retirement")]),
            ("remapped_rows", self.remapped_rows()),
        ]

    def remapped_rows(self):
        """A subtree, or a text in its place."""
        first, banks = self.of("remapped_rows.correctable"), self.device.banks()
        if isinstance(first, Bad):
            return first
        histogram = banks if isinstance(banks, Bad) else [
            (f"row_remapper_histogram_{tag}", f"{number} bank(s)")
            for tag, number in zip(("max", "high", "partial", "low", "none"), banks)]
        return [*self.many(("remapped_row_corr", "remapped_rows.correctable"), ("remapped_row_unc", "remapped_rows.uncorrectable"),
                           ("remapped_row_pending", "remapped_rows.pending"), ("remapped_row_failure", "remapped_rows.failure")),
                ("row_remapper_histogram", histogram)]

    def temperatures(self) -> list:
        tlimit = self.of("temperature.gpu.tlimit")
        if isinstance(tlimit, Bad) and tlimit.code == NOT_SUPPORTED:  # boards that give thresholds, not margins
            thresholds = [("gpu_temp_max_threshold", "92 C"), ("gpu_temp_slow_threshold", "89 C"), ("gpu_temp_max_gpu_threshold", "85 C"),
                          ("gpu_target_temperature", NOT_AVAILABLE), ("memory_temp", self.of("temperature.memory")),
                          ("gpu_temp_max_mem_threshold", "95 C")]
        else:
            thresholds = [*self.many(("gpu_temp_max_tlimit_threshold", "temperature.shutdown_tlimit"),
                                     ("gpu_temp_slow_tlimit_threshold", "temperature.slowdown_tlimit"),
                                     ("gpu_temp_max_gpu_tlimit_threshold", "temperature.operating_tlimit")),
                          ("gpu_target_temperature", NOT_AVAILABLE), ("memory_temp", self.of("temperature.memory")),
                          ("gpu_temp_max_mem_tlimit_threshold", self.of("temperature.memory_tlimit"))]
        return [("gpu_temp", self.of("temperature.gpu")), ("gpu_temp_tlimit", tlimit), *thresholds]

    def power_and_clocks(self) -> list:
        if self.v13 or self.two_draws:
            draws = self.many(("average_power_draw", "power.draw.average"), ("instant_power_draw", "power.draw.instant"))
        else:
            draws = self.many(("power_draw", "power.draw"))
        limits = self.many(("current_power_limit", "power.limit"), ("requested_power_limit", "power.limit"),
                           ("default_power_limit", "power.default_limit"), ("min_power_limit", "power.min_limit"),
                           ("max_power_limit", "power.max_limit"))
        return [
            ("temperature", self.temperatures()),
            ("gpu_power_readings", [("power_state", self.of("pstate")), *draws, *limits]),
            ("clocks", [(tag + "_clock", self.of("clocks.current." + name)) for tag, name in _CLOCKS]),
            ("applications_clocks", self.many(("graphics_clock", "clocks.applications.graphics"),
                                              ("mem_clock", "clocks.applications.memory"))),
            ("default_applications_clocks", self.many(("graphics_clock", "clocks.default_applications.graphics"),
                                                      ("mem_clock", "clocks.default_applications.memory"))),
            ("deferred_clocks", _absent("mem_clock")),
            ("max_clocks", [(tag + "_clock", self.of("clocks.max." + name)) for tag, name in _CLOCKS]),
        ]

    def rest(self) -> list:
        health = _absent(*(["summary"] if self.v13 else []), "bandwidth", "route_recovery_in_progress", "route_unhealthy",
                         "access_timeout_recovery", *(["incorrect_configuration"] if self.v13 else []))
        return [
            ("fabric", [*self.many(("state", "fabric.state"), ("status", "fabric.status")),
                        *_absent("cliqueId", "clusterUuid"), ("health", health)]),
            ("supported_clocks", self.supported_clocks()),
            ("processes", self.processes()),
            ("accounted_processes", []),
        ]

    def supported_clocks(self):
        memories = self.device.memory_clocks()
        if isinstance(memories, Bad):
            return memories
        return [("supported_mem_clock", [("value", f"{memory} MHz"), *(("supported_graphics_clock", f"{clock} MHz")
                                                                       for clock in self.device.graphics_clocks(memory))])
                for memory in memories]

    def processes(self):
        found = self.device.processes()
        if isinstance(found, Bad):
            return found
        return [("process_info", [
            ("gpu_instance_id", _or_absent(gpu_instance)), ("compute_instance_id", _or_absent(compute_instance)),
            ("pid", str(pid)), ("type", kind), ("process_name", self.device.nvml.process_name(pid)),
            ("used_memory", _or_absent(used, "{} MiB"))]) for pid, kind, used, gpu_instance, compute_instance in found]


_CLOCKS = (("graphics", "graphics"), ("sm", "sm"), ("mem", "memory"), ("video", "video"))


def _absent(*tags) -> list:
    return [(tag, NOT_AVAILABLE) for tag in tags]


def _or_absent(value, form="{}") -> str:
    return NOT_AVAILABLE if value is None else form.format(value)


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _lines(elements: list, depth: int):
    for element in elements:
        if isinstance(element, str):  # text among elements stands on a line of its own
            yield "\t" * depth + element
            continue
        tag, content = element
        if isinstance(content, list):
            yield "\t" * depth + f"<{tag}>"
            yield from _lines(content, depth + 1)
            yield "\t" * depth + f"</{tag.split()[0]}>"
        else:
            text = bad_text(content) if isinstance(content, Bad) else content
            yield "\t" * depth + f"<{tag}>{_escaped(text)}</{tag}>"


def document(devices: list, all_gpus: int, driver: str, cuda: str, state: dict) -> str:
    """The text of `nvidia-smi -q -x`. state: the state file's keys, for what NVML has no call for."""
    schema = state.get("schema", "v13")
    lines = ['<?xml version="1.0" ?>', f'<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{schema}.dtd">', "<nvidia_smi_log>"]
    lines += _lines([("timestamp", time.strftime("%a %b %e %H:%M:%S %Y")), ("driver_version", driver), ("cuda_version", cuda),
                     ("attached_gpus", str(all_gpus))], 1)
    for device in devices:
        bus_id = read(device, "pci.bus_id")
        lines += _lines([(f'gpu id="{bus_id}"', _Gpu(device, schema, state, driver).elements())], 1)
        lines.append("")
    return "\n".join(lines + ["</nvidia_smi_log>"]) + "\n"
