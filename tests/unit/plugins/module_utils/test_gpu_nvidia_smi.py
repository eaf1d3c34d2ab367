# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parser of `nvidia-smi -q -x`: values, absent values and broken values."""

from __future__ import annotations

import pathlib

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_shape, _nvidia_smi

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "unit" / "fixtures" / "nvidia-smi"


def parse(name):
    return _nvidia_smi.parse((FIXTURES / name).read_text())


def one(body, head=""):
    """The facts of one GPU with these elements."""
    text = "<nvidia_smi_log>{0}<attached_gpus>1</attached_gpus><gpu id='00000000:01:00.0'>{1}</gpu></nvidia_smi_log>"
    return _nvidia_smi.parse(text.format(head, body))["gpus"][0]


HEALTHY = (
    "<product_name>NVIDIA H200</product_name><uuid>GPU-1</uuid><mig_mode><current_mig>Disabled</current_mig></mig_mode>"
    "<fb_memory_usage><total>143771 MiB</total><used>{used}</used></fb_memory_usage>{more}"
)


def healthy(more="", used="0 MiB"):
    return one(HEALTHY.format(more=more, used=used))


def test_h100():
    parsed = parse("h100-580-idle.xml")
    assert parsed["driver_version"] == "580.105.08" and parsed["cuda_version"] == "13.0"
    assert parsed["attached_gpus"] == 2
    assert [gpu["index"] for gpu in parsed["gpus"]] == [0, 1]
    gpu = parsed["gpus"][0]
    assert gpu["name"] == "NVIDIA H100 80GB HBM3" and gpu["state"] == "ok"
    assert (gpu["memory_total_mib"], gpu["memory_used_mib"], gpu["memory_free_mib"]) == (81559, 0, 81080)
    assert gpu["memory_reserved_mib"] == 480
    # sm_clock occurs under clocks and under max_clocks.
    assert (gpu["sm_clock_mhz"], gpu["sm_clock_max_mhz"]) == (345, 1980)
    assert (gpu["memory_clock_mhz"], gpu["memory_clock_max_mhz"]) == (2619, 2619)
    assert (gpu["power_draw_w"], gpu["power_limit_w"]) == (68.57, 700.0)
    assert gpu["persistence_mode"] is True and gpu["mig_mode"] == "disabled"
    assert gpu["recovery_action"] is None and gpu["processes"] == [] and gpu["broken_fields"] == []


def test_h200_under_load():
    parsed = parse("h200-590-load.xml")
    busy, idle = parsed["gpus"]
    assert parsed["driver_version"] == "590.48.01"
    assert (busy["memory_total_mib"], busy["memory_used_mib"], busy["memory_free_mib"]) == (143771, 32362, 110796)
    assert [(p["pid"], p["name"], p["memory_mib"]) for p in busy["processes"]] == [
        (10291, "/root/tools/memhog", 2566),
        (10293, "/root/tools/memhog", 1542),
        (10309, "./gpu_burn", 28234),
    ]
    assert idle["memory_used_mib"] == 0 and idle["processes"] == []
    assert busy["uuid"] != idle["uuid"] and busy["pci_bus_id"] == "00000000:83:00.0"


@pytest.mark.parametrize(
    ("power", "draw", "limit"),
    [
        # v11, v12, v13, and a GPU that knows only one of the two draws.
        ("<power_readings><power_draw>61.50 W</power_draw><power_limit>400.00 W</power_limit></power_readings>", 61.5, 400.0),
        (
            "<gpu_power_readings><power_draw>61.50 W</power_draw><current_power_limit>400 W</current_power_limit>"
            "</gpu_power_readings>", 61.5, 400,
        ),
        (
            "<gpu_power_readings><average_power_draw>60 W</average_power_draw><instant_power_draw>70 W</instant_power_draw>"
            "<current_power_limit>400 W</current_power_limit></gpu_power_readings>", 60, 400,
        ),
        (
            "<gpu_power_readings><average_power_draw>N/A</average_power_draw><instant_power_draw>70 W</instant_power_draw>"
            "</gpu_power_readings>", 70, None,
        ),
    ],
)
def test_power_in_every_schema(power, draw, limit):
    gpu = healthy(power)
    assert (gpu["power_draw_w"], gpu["power_limit_w"], gpu["broken_fields"]) == (draw, limit, [])


@pytest.mark.parametrize(
    "text",
    ["N/A", "[N/A]", "[Not Supported]", "", "\n\t None \n", "Requested functionality has been deprecated",
     "[Requested functionality has been deprecated]"],
)
def test_absent_is_null_and_not_broken(text):
    gpu = healthy("<temperature><gpu_temp>{0}</gpu_temp></temperature>".format(text))
    assert gpu["temperature_c"] is None and gpu["broken_fields"] == [] and gpu["state"] == "ok"


@pytest.mark.parametrize("text", ["[Unknown Error]", "ERR!", "Unknown Error", "something new", "12 34"])
def test_broken_is_neither_zero_nor_absent(text):
    gpu = healthy("<temperature><gpu_temp>{0}</gpu_temp></temperature>".format(text))
    assert gpu["temperature_c"] is None and gpu["broken_fields"] == ["temperature_c"]
    assert gpu["state"] == "ok", "a thermometer out of order takes no GPU out of service"


@pytest.mark.parametrize(
    ("text", "state"),
    [("GPU is lost", "lost"), ("[GPU requires reset]", "needs_reset"), ("[Unknown Error]", "unknown"), ("ERR!", "unknown")],
)
def test_broken_memory_takes_the_gpu_out_of_service(text, state):
    gpu = healthy(used=text)
    assert gpu["state"] == state
    assert gpu["memory_used_mib"] is None and "memory_used_mib" in gpu["broken_fields"]


def test_a_subtree_that_is_one_text_speaks_for_its_fields():
    gpu = one("<uuid>GPU-1</uuid><fb_memory_usage>GPU is lost</fb_memory_usage>")
    assert gpu["state"] == "lost"
    assert {"memory_total_mib", "memory_used_mib", "memory_free_mib"} <= set(gpu["broken_fields"])


@pytest.mark.parametrize(
    ("element", "state"),
    [
        ("<gpu_recovery_action>None</gpu_recovery_action>", "ok"),
        ("<gpu_recovery_action>Reset</gpu_recovery_action>", "needs_reset"),
        ("<gpu_recovery_action>Drain and Reset</gpu_recovery_action>", "needs_reset"),
        ("<gpu_recovery_action>Bus Reset</gpu_recovery_action>", "unknown"),
        ("<gpu_recovery_action>Reboot</gpu_recovery_action>", "unknown"),
        ("<gpu_recovery_action>Word Of Tomorrow</gpu_recovery_action>", "unknown"),
        ("<gpu_reset_status><reset_required>Yes</reset_required></gpu_reset_status>", "needs_reset"),
        ("<gpu_reset_status><reset_required>No</reset_required></gpu_reset_status>", "ok"),
        ("", "ok"),
    ],
)
def test_what_the_driver_asks_for(element, state):
    assert healthy(element)["state"] == state


def process(pid, memory, instance="N/A", name="python3", kind="C"):
    return (
        "<process_info><gpu_instance_id>{2}</gpu_instance_id><pid>{0}</pid><type>{4}</type><process_name>{3}</process_name>"
        "<used_memory>{1}</used_memory></process_info>"
    ).format(pid, memory, instance, name, kind)


def test_processes():
    gpu = healthy(
        "<processes>" + process(30, "100 MiB") + process(20, "N/A") + process(30, "50 MiB")
        + process(40, "16925 MiB", "1") + process(40, "16925 MiB", "1") + process(50, "7 MiB", name="Unknown Error")
        + process(60, "9 MiB") + process(60, "9 MiB", kind="G") + process(70, "5 MiB", kind="M+C")
        + process(80, "10 MiB", "1") + process(80, "20 MiB", "2") + "</processes>"
    )
    assert [(p["pid"], p["name"], p["type"], p["memory_mib"], p["gpu_instances"]) for p in gpu["processes"]] == [
        (20, "python3", "C", None, []),
        (30, "python3", "C", 150, []),
        (40, "python3", "C", 16925, [1]),
        (50, None, "C", 7, []),
        (60, "python3", "C+G", 9, []),
        (70, "python3", "M+C", 5, []),
        (80, "python3", "C", 30, [1, 2]),
    ]


def test_processes_that_cannot_be_listed_are_not_none():
    gpu = healthy("<processes>[Unknown Error]</processes>")
    assert gpu["processes"] == [] and gpu["broken_fields"] == ["processes"]


@pytest.mark.parametrize("name", ["a & b < c", "x &amp; y", "bell \x07", "</process_name>"])
def test_a_process_may_call_itself_what_it_likes(name):
    gpu = healthy("<processes>" + process(30, "100 MiB", name=name) + process(31, "1 MiB", name="&lt;x&gt;") + "</processes>")
    assert [p["pid"] for p in gpu["processes"]] == [30, 31] and gpu["processes"][1]["name"] == "<x>"
    assert gpu["processes"][0]["name"] in (name, "x & y", "bell ?")


def unused_memory(used, *sizes, mig="Disabled"):
    body = HEALTHY.format(used=used, more="<processes>" + "".join(process(9 + n, size) for n, size in enumerate(sizes)) + "</processes>")
    return one(body.replace("<current_mig>Disabled", "<current_mig>" + mig))["memory_unattributed_mib"]


def test_memory_that_no_process_admits_to():
    assert unused_memory("32362 MiB", "2566 MiB", "29776 MiB") == 20
    assert unused_memory("100 MiB") == 100
    assert unused_memory("100 MiB", "120 MiB") == 0
    assert unused_memory("100 MiB", "[N/A]") is None
    assert unused_memory("[N/A]") is None
    assert unused_memory("100 MiB", mig="Enabled") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("00000000:0A:00.0", "00000000:0a:00.0"),
        ("0000:0a:00.0", "00000000:0a:00.0"),
        ("0A:00.0", "00000000:0a:00.0"),
        ("0009:01:00.0", "00000009:01:00.0"),
        ("", None),
        (None, None),
        ("something else", "something else"),
    ],
)
def test_bus_ids_are_written_one_way(text, expected):
    assert _gpu_shape.bus_id(text) == expected


@pytest.mark.parametrize(
    "name",
    ["a100-510-mig", "a100-535-mig", "gb200-580-lost", "h100-580-idle", "h100-580-reset", "h200-590-load", "l40s-595-idle",
     "rtx2080s-610-desktop"],
)
def test_every_schema_from_v11_to_v13_is_read_without_a_broken_field_that_is_not_one(name):
    for gpu in parse(name + ".xml")["gpus"]:
        assert gpu["uuid"].startswith("GPU-") and gpu["power_limit_w"] > 0 and gpu["sm_clock_max_mhz"] > 0
        assert bool(gpu["broken_fields"]) == (gpu["state"] != "ok")


def test_report_12_old_and_new_field_names_give_the_same_fact():
    old = healthy(
        "<power_readings><power_draw>61.50 W</power_draw><power_limit>300.00 W</power_limit><enforced_power_limit>290.00 W"
        "</enforced_power_limit></power_readings><clocks_throttle_reasons><clocks_throttle_reason_sw_power_cap>Active"
        "</clocks_throttle_reason_sw_power_cap></clocks_throttle_reasons><gpu_reset_status><reset_required>Yes</reset_required>"
        "</gpu_reset_status><ecc_errors><volatile><sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2"
        "</dram_uncorrectable></volatile></ecc_errors>"
    )
    new = healthy(
        "<gpu_power_readings><average_power_draw>61.50 W</average_power_draw><instant_power_draw>70.00 W</instant_power_draw>"
        "<current_power_limit>290.00 W</current_power_limit><requested_power_limit>300.00 W</requested_power_limit>"
        "</gpu_power_readings><clocks_event_reasons><clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>"
        "</clocks_event_reasons><gpu_recovery_action>Reset</gpu_recovery_action><ecc_errors><volatile>"
        "<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>0</sram_uncorrectable_secded>"
        "<dram_uncorrectable>2</dram_uncorrectable></volatile></ecc_errors>"
    )
    assert old == new
    assert (new["power_draw_w"], new["power_limit_w"], new["power_limit_requested_w"]) == (61.5, 290.0, 300.0)
    assert (new["clock_event_reasons"], new["recovery_action"]) == (["sw_power_cap"], "reset")
    assert new["ecc_volatile_uncorrected"] == 3


def test_before_ampere_there_is_one_total_of_errors():
    gpu = healthy(
        "<ecc_errors><volatile><single_bit><device_memory>4</device_memory><total>5</total></single_bit>"
        "<double_bit><total>N/A</total></double_bit></volatile></ecc_errors>"
    )
    assert (gpu["ecc_volatile_corrected"], gpu["ecc_volatile_uncorrected"]) == (5, None)


def test_utilisation_is_reported_and_not_believed():
    gpu = parse("l40s-595-idle.xml")["gpus"][0]
    assert (gpu["utilization_percent"], gpu["memory_used_mib"], gpu["memory_unattributed_mib"]) == (100, 0, 0)


def test_warnings_around_the_document_are_skipped():
    warning = "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"
    text = warning + (FIXTURES / "h100-580-idle.xml").read_text() + warning
    assert len(_nvidia_smi.parse(text)["gpus"]) == 2


@pytest.mark.parametrize("text", ["", "No devices were found", "<nvidia_smi_log><gpu>"])
def test_what_is_no_document(text):
    with pytest.raises(_nvidia_smi.ParseError):
        _nvidia_smi.parse(text)
