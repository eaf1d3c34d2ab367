# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the kernel module against the loaded module. Pure."""

from __future__ import annotations

import pathlib

import pytest
import yaml

from ansible_collections.indiaai.inference.plugins.module_utils import _driver_options

RUNNING = _driver_options.params('InitializeSystemMemoryAllocations: 1\nEnableStreamMemOPs: 0\nRegistryDwords: "a=1"\nUsePageAttributeTable: 4294967295\n')
DEFAULTS = pathlib.Path(__file__).resolve().parents[4] / "roles" / "gpu_clocks" / "defaults" / "main.yml"


def states(options, running=None):
    return [row["state"] for row in _driver_options.compare(options, RUNNING if running is None else running)]


@pytest.mark.parametrize("options, wanted", [
    ({"NVreg_EnableStreamMemOPs": 0}, "ok"), ({"NVreg_EnableStreamMemOPs": "0x0"}, "ok"), ({"NVreg_EnableStreamMemOPs": 1}, "reboot_required"),
    ({"NVreg_UsePageAttributeTable": -1}, "ok"), ({"NVreg_RegistryDwords": "a=1"}, "ok"), ({"NVreg_RegistryDwords": "a=2"}, "reboot_required"),
    ({"NVreg_NoSuchThing": 1}, "unknown")])
def test_a_reboot_is_required_only_where_the_loaded_module_differs(options, wanted):
    assert states(options) == [wanted]


def test_a_module_that_is_not_loaded_needs_no_reboot():
    assert _driver_options.compare({"NVreg_EnableStreamMemOPs": 1}, None)[0]["state"] == "not_loaded"


def test_the_file_has_one_line_and_none_without_options():
    assert _driver_options.text({"NVreg_B": 2, "NVreg_A": "x"}).splitlines()[-1] == "options nvidia NVreg_A=x NVreg_B=2"
    assert _driver_options.text({}) is None


@pytest.mark.parametrize("options, word", [
    ({"EnableStreamMemOPs": 1}, "NVreg_"), ({"NVreg_A": True}, "found true"), ({"NVreg_A": "a b"}, "blanks"), ({"NVreg_A": "a\nb"}, "blanks"),
    ({"NVreg_A": [1]}, "number"), ({"NVreg_A=1 NVreg_B": 1}, "NVreg_"), ({"NVreg_A": ""}, "number")])
def test_wrong_options_are_named(options, word):
    (problem,) = _driver_options.check(options)
    assert word in problem


def test_what_is_not_set_any_more_holds_until_the_next_boot():
    assert _driver_options.dropped("options nvidia NVreg_A=1 NVreg_B=2\n", {"NVreg_B": 2}) == ["NVreg_A"]
    assert _driver_options.dropped(None, {}) == []


def test_another_file_with_the_same_option_is_named():
    files = [("/etc/modprobe.d/nvidia.conf", "# x\noptions nvidia NVreg_A=5 NVreg_C=1\n"), ("/etc/modprobe.d/b.conf", "options other NVreg_A=5\n")]
    assert _driver_options.set_elsewhere({"NVreg_A": 1}, files) == [("/etc/modprobe.d/nvidia.conf", "NVreg_A")]


def test_memory_is_zeroed_by_default_and_switching_that_off_is_warned_of():
    assert yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))["gpu_clocks_driver_options"] == {}
    assert "trusted" in _driver_options.warnings({"NVreg_InitializeSystemMemoryAllocations": 0})[0]
    assert not _driver_options.warnings({"NVreg_InitializeSystemMemoryAllocations": 1})
