# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which parts of a driver have to agree, and when a reboot helps."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _driver_match

OLD, NEW = "580.82.07", "580.95.05"


def host(**differs):
    """A host whose driver is in step."""
    found = {"gpus": 8, "nvswitches": 0, "kernel": "6.8.0-50-generic", "next_kernel": None, "loaded": NEW, "module": NEW, "module_next": None,
             "libraries": {"libnvidia-ml.so.1": NEW, "libcuda.so.1": NEW}, "fabric_manager": None, "installed_at": 100, "booted_at": 200}
    found.update(differs)
    return found


def bare(**differs):
    return host(**dict({"loaded": None, "module": None, "libraries": {}, "installed_at": None}, **differs))


def judge(found, wanted=None):
    return _driver_match.judge(found, wanted)


@pytest.mark.parametrize("text, version", [
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 10:11:16 UTC 2025\nGCC version:  gcc version 12.3.0 (Ubuntu)\n", NEW),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build  (builder@host)  Wed\nGCC version: gcc 13.2.0\n", OLD),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.124  Release Build\n", "570.124"),
    ("GCC version:  gcc version 12.3.0 (Ubuntu)\n", None),
    ("", None),
    (None, None),
])
def test_the_loaded_version_is_read_from_both_kinds_of_module(text, version):
    assert _driver_match.loaded_version(text) == version


def test_versions_of_packages_and_files():
    assert _driver_match.package_version("580.95.05-0ubuntu0.24.04.2") == NEW
    assert _driver_match.package_version("1:580.95.05-1") == NEW
    assert _driver_match.package_version("unknown") is None
    assert _driver_match.library_version("/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05") == NEW
    assert _driver_match.library_version("/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1") is None
    assert _driver_match.modinfo("filename:       /lib/modules/x/nvidia.ko\nversion:        580.95.05\nsrcversion:     AB\n") == {
        "version": NEW, "path": "/lib/modules/x/nvidia.ko"}
    assert _driver_match.modinfo("name: nvidia\n") is None


def test_the_next_kernel_is_the_newest_of_the_same_flavour():
    installed = ["6.8.0-9-generic", "6.8.0-50-generic", "6.8.0-51-generic", "6.8.0-100-generic", "6.11.0-1-lowlatency"]
    assert _driver_match.next_kernel("6.8.0-50-generic", installed) == "6.8.0-100-generic"
    assert _driver_match.next_kernel("6.8.0-100-generic", installed) is None


def test_in_step_is_ok():
    verdict = judge(host())
    assert verdict["state"] == "ok" and not verdict["reboot_required"] and verdict["notes"] == [] and verdict["version"] == NEW


def test_no_gpu_is_nothing_to_do_and_no_failure_of_any_wish():
    for gpus in (0, None):
        verdict = judge(bare(gpus=gpus, nvswitches=gpus), "580")
        assert verdict["state"] == "no_gpu" and verdict["satisfied"] and not verdict["reboot_required"]


def test_a_gpu_that_fell_off_the_bus_is_not_no_gpu():
    assert judge(host(gpus=0))["state"] == "ok"


def test_a_gpu_without_driver_is_told_apart_from_no_gpu():
    verdict = judge(bare(), "580")
    assert verdict["state"] == "driver_missing" and not verdict["satisfied"] and "8 NVIDIA GPU(s)" in verdict["reason"]


# Reports of unattended upgrades (29): the libraries are replaced under a running kernel module.
def test_an_upgrade_under_a_running_kernel_module_asks_for_a_reboot_and_says_both_versions():
    verdict = judge(host(loaded=OLD, installed_at=300))
    assert verdict["state"] == "reboot_required" and verdict["reboot_required"]
    assert verdict["reason"] == "driver 580.95.05 is installed, and the kernel has 580.82.07 loaded"


def test_a_new_branch_that_is_installed_whole_needs_only_the_reboot():
    assert judge(host(loaded="570.172.08", installed_at=300))["state"] == "reboot_required"


def test_a_fresh_driver_is_loaded_by_a_reboot():
    assert judge(host(loaded=None, installed_at=300))["state"] == "reboot_required"


def test_a_reboot_that_did_not_help_is_not_asked_for_again():
    for loaded in (None, OLD):
        verdict = judge(host(loaded=loaded, installed_at=100, booted_at=200))
        assert verdict["state"] == "not_loaded" and not verdict["reboot_required"] and "another reboot does not help" in verdict["reason"]


def test_without_times_the_reboot_is_asked_for():
    assert judge(host(loaded=OLD, booted_at=None))["state"] == "reboot_required"


def test_installed_parts_of_different_branches_are_no_case_for_a_reboot():
    verdict = judge(host(module="570.172.08", loaded="570.172.08", installed_at=300))
    assert verdict["state"] == "out_of_step" and not verdict["reboot_required"]
    assert "different branches (570, 580)" in verdict["reason"] and "570.172.08" in verdict["reason"] and NEW in verdict["reason"]


def test_two_libraries_of_different_versions_are_out_of_step():
    verdict = judge(host(libraries={"libnvidia-ml.so.1": NEW, "libcuda.so.1": OLD}))
    assert verdict["state"] == "out_of_step" and "different versions" in verdict["reason"]


def test_the_module_for_the_next_kernel_counts_when_that_of_the_running_one_stayed():
    # Modules that come ready-made with each kernel: the old kernel's stays old when driver and kernel are upgraded together.
    found = host(loaded=OLD, module=OLD, next_kernel="6.8.0-51-generic", module_next=NEW, installed_at=300)
    assert judge(found)["state"] == "reboot_required"


def test_a_next_kernel_without_a_module_is_told_before_the_reboot():
    verdict = judge(host(next_kernel="6.8.0-51-generic"))
    assert verdict["state"] == "ok" and "6.8.0-51-generic" in verdict["notes"][0] and "no nvidia module" in verdict["notes"][0]


def test_the_fabric_manager_has_to_match_where_there_are_switches():
    assert judge(host(nvswitches=4, fabric_manager=NEW))["state"] == "ok"
    verdict = judge(host(nvswitches=4, fabric_manager=OLD))
    assert verdict["state"] == "out_of_step" and "fabric manager 580.82.07" in verdict["reason"]


def test_without_switches_the_fabric_manager_is_no_error():
    assert judge(host())["state"] == "ok"
    verdict = judge(host(fabric_manager=OLD))
    assert verdict["state"] == "ok" and "not used" in verdict["notes"][0]


def test_switches_without_fabric_manager_are_incomplete():
    verdict = judge(host(nvswitches=4))
    assert verdict["state"] == "incomplete" and "no fabric manager" in verdict["reason"]


def test_a_missing_part_is_named():
    verdict = judge(host(libraries={}))
    assert verdict["state"] == "incomplete" and "no library libnvidia-ml.so.1" in verdict["reason"]
    verdict = judge(host(module=None, loaded=None))
    assert verdict["state"] == "incomplete" and "no kernel module for kernel 6.8.0-50-generic" in verdict["reason"]
    assert judge(host(module=None, loaded=OLD, installed_at=300))["state"] == "incomplete"


def test_a_host_that_cannot_be_asked_for_modules_is_judged_by_what_runs():
    verdict = judge(host(module=None))
    assert verdict["state"] == "ok" and "after a reboot" in verdict["notes"][0]


def test_a_library_without_a_version_is_not_taken_for_another_version():
    verdict = judge(host(libraries={"libnvidia-ml.so.1": None}))
    assert verdict["state"] == "ok" and "not compared" in verdict["notes"][0]


@pytest.mark.parametrize("wanted, satisfied", [
    (None, True), ("580", True), ("580.95", True), (NEW, True), ("58", False), ("570", False), (OLD, False), ("580.95.05.1", False)])
def test_a_branch_stands_for_its_versions(wanted, satisfied):
    assert judge(host(), wanted)["satisfied"] is satisfied
