# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Limits: raised, never lowered, never above what a login could be given."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _limits

PROC = ("Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max locked memory         8388608              8388608              bytes     \n"
        "Max open files            1024                 524288               files     \n")
WANTED = {"nofile": 1048576, "memlock": None}


@pytest.mark.parametrize("text, value", [("unlimited", None), ("infinity", None), ("18446744073709551615", None), ("65536", 65536), (0, 0)])
def test_numbers(text, value):
    assert _limits.number(text) == value


@pytest.mark.parametrize("text", [True, "many", "", "-5", "1.5"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(_limits.LimitError):
        _limits.number(text)


def test_a_login_is_never_promised_more_than_it_can_be_given():
    """pam_limits refuses a login whose limits it cannot set."""
    hard = _limits.hard_limits(PROC)
    assert hard == {"nofile": 524288, "memlock": 8192}
    found = _limits.decide(WANTED, {}, _limits.grantable(hard, False, 1048576))
    assert found["nofile"] == {"value": 524288, "wanted": 1048576, "clamped": True}
    assert found["memlock"] == {"value": 8192, "wanted": None, "clamped": True}


def test_a_machine_with_the_right_gets_what_is_wanted():
    found = _limits.decide(WANTED, {}, _limits.grantable(_limits.hard_limits(PROC), True, 1048576))
    assert {item: row["value"] for item, row in found.items()} == WANTED and not any(row["clamped"] for row in found.values())
    assert _limits.decide({"nofile": 2000000}, {}, {"nofile": 1048576})["nofile"]["clamped"], "the kernel's fs.nr_open is a wall"


def test_a_higher_limit_of_others_is_never_lowered():
    others = _limits.written(["* hard nofile 65536\n# x\nbob hard nofile 9\n", "root - nofile 900000\n* soft memlock 1\n* - memlock unlimited\n"])
    assert others == {"nofile": 900000, "memlock": None}
    found = _limits.decide({"nofile": 65536, "memlock": 64}, others, {"nofile": 1048576, "memlock": None})
    assert found["nofile"]["value"] == 900000 and found["memlock"]["value"] is None


def test_files_for_logins_and_services():
    assert _limits.logins({"nofile": 1048576, "memlock": None}, "Ours.").splitlines() == [
        "# Ours.", "* - nofile 1048576", "root - nofile 1048576", "* - memlock unlimited", "root - memlock unlimited"]
    assert _limits.services({"nofile": 1048576, "memlock": 8192}, 1024, "Ours.").splitlines() == [
        "# Ours.", "[Manager]", "DefaultLimitNOFILE=1024:1048576", "DefaultLimitMEMLOCK=8192K"]
    assert "DefaultLimitMEMLOCK=infinity" in _limits.services({"memlock": None}, 1024, "Ours.")


def test_what_systemd_has_loaded():
    assert _limits.manager("DefaultLimitNOFILE=524288\nDefaultLimitNOFILESoft=1024\nDefaultLimitMEMLOCK=8388608\n") == {
        "nofile": 524288, "nofile_soft": 1024, "memlock": 8192}
    assert _limits.manager("DefaultLimitNOFILE=infinity\n") == {"nofile": None}
