# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the GPUs of each profile are: the keys of a fresh state file.

Clocks, memory and power limits are those that the real boards report; every other reading is only plausible.
"""
from __future__ import annotations

MAX_GPUS = 8
_BUSES = ("18", "2A", "3A", "5D", "9A", "AB", "BA", "DB")

_COMMON = {
    "driver": "590.48.01",
    "cuda": "13.1",
    "schema": "v13",  # of nvidia-smi -q -x: v12 or v13
    "root_only": "1",  # setters need root
    "persistence": "1",  # what a GPU starts with; 0 is a host without the persistence daemon
    "fault": "",  # words, see faults.py; gpu.N.fault for one GPU
    "busy": "0",  # 1: as under full load
    "processes": "",  # words PID:MIB:TYPE:GPU_INSTANCE:COMPUTE_INSTANCE:NAME
    "used_mib": "0",  # used by nobody in the list of processes
    "ecc": "1",
    "ecc_errors": "0 0 0 0",  # volatile corrected and uncorrected, aggregate corrected and uncorrected
    "remapped_rows": "0 0 0 0",  # corrected, uncorrected, pending, failed
    "power_cap_us": "7015662857",  # a counter that only grows
    "compute_mode": "0",
    "pstate": "0",
    "mem_skew": "0",  # what is read as memory clock differs by this from what is set
    "sm_step": "15",
    "cpu_affinity": "0xffff",
}

_BOARDS = {
    "h200": {
        "name": "NVIDIA H200", "product_architecture": "Hopper", "architecture": "9", "compute": "9 0",
        "pci_ids": "0x233510DE 0x18BE10DE", "vbios": "96.00.A5.00.03", "board_part": "695-2G520-0280-001",
        "memory_mib": "143771", "reserved_mib": "614", "bar1_mib": "262144",
        "sm_min": "345", "sm_max": "1980", "mem_clocks": "3201 1593", "video_clocks": "765 1545",
        "power_default_mw": "700000", "power_range_mw": "200000 700000", "power_draw_mw": "77670 627400",
        "temperatures": "28 52 32 41", "temperature_limit": "87", "remap_banks": "3072 0 0 0 0",
        "nvlinks": "18", "fabric": "1", "mig_devices": "3g.71gb:1:0:71040 3g.71gb:2:0:71040",
    },
    "h100": {
        "name": "NVIDIA H100 80GB HBM3", "product_architecture": "Hopper", "architecture": "9", "compute": "9 0",
        "pci_ids": "0x233010DE 0x16C110DE", "vbios": "96.00.99.00.01", "board_part": "692-2G520-0200-000",
        "memory_mib": "81559", "reserved_mib": "480", "bar1_mib": "131072",
        "sm_min": "345", "sm_max": "1980", "mem_clocks": "2619 1593", "video_clocks": "765 1545",
        "power_default_mw": "700000", "power_range_mw": "200000 700000", "power_draw_mw": "68570 640000",
        "temperatures": "29 58 37 48", "temperature_limit": "87", "remap_banks": "2560 0 0 0 0",
        "nvlinks": "18", "fabric": "1", "mig_devices": "3g.40gb:1:0:40448 3g.40gb:2:0:40448",
        "driver": "580.105.08", "cuda": "13.0",
    },
    "a100": {
        "name": "NVIDIA A100-SXM4-40GB", "product_architecture": "Ampere", "architecture": "7", "compute": "8 0",
        "pci_ids": "0x20B010DE 0x134F10DE", "vbios": "92.00.45.00.03", "board_part": "692-2G506-0200-003",
        "memory_mib": "40960", "reserved_mib": "518", "bar1_mib": "65536",
        "sm_min": "210", "sm_max": "1410", "sm_default": "1095", "mem_clocks": "1215", "video_clocks": "585 1290",
        "power_default_mw": "400000", "power_range_mw": "100000 400000", "power_draw_mw": "49680 390000",
        "temperatures": "33 60 34 62", "remap_banks": "640 0 0 0 0",
        "nvlinks": "12", "fabric": "0", "mig_devices": "3g.20gb:1:0:19968 3g.20gb:2:0:19968",
        "driver": "570.148.08", "cuda": "12.8", "schema": "v12",
    },
    "l40s": {
        "name": "NVIDIA L40S", "product_architecture": "Ada Lovelace", "architecture": "8", "compute": "8 9",
        "pci_ids": "0x26B910DE 0x185110DE", "vbios": "95.02.66.00.02", "board_part": "900-2G133-0080-000",
        "memory_mib": "46068", "reserved_mib": "600", "bar1_mib": "65536",
        "sm_min": "210", "sm_max": "2520", "mem_clocks": "9001 405", "mem_idle": "405", "video_clocks": "1185 1950",
        "power_default_mw": "350000", "power_range_mw": "100000 350000", "power_draw_mw": "35000 330000",
        "temperatures": "31 66 0 0", "remap_banks": "192 0 0 0 0", "nvlinks": "0", "fabric": "0", "mig_devices": "",
    },
}

NAMES = tuple(_BOARDS)
# Keys that are read where they are set, and are in no fresh state.
OPTIONAL = ("devices", "library", "cdi", "event_reasons", "utilization", "recovery_action", "mem_idle", "sm_default",
            "temperature_limit")


def fresh(profile: str, count: int, now: int) -> dict:
    """The values of a state file for ``count`` GPUs of a profile that are well, unlocked and idle since ``now``."""
    values = {"profile": profile, "count": str(count), "started": str(now), **_COMMON, **_BOARDS[profile]}
    for gpu in range(count):
        values[f"gpu.{gpu}.uuid"] = f"GPU-0057ab{gpu:02x}-{profile.encode().hex()[:4]}-4000-8000-0000000000{gpu:02x}"
        values[f"gpu.{gpu}.pci"] = f"00000000:{_BUSES[gpu]}:00.0"
        values[f"gpu.{gpu}.serial"] = f"16500000000{gpu:02d}"
        if profile == "h200" and gpu % 2:
            values[f"gpu.{gpu}.mem_skew"] = "-2"  # real boards read 3199 or 3201
    return values
