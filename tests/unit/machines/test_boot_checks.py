# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot scenario's check tells right from wrong, and its list of wrong values is complete and really wrong."""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

from tests.support import boot  # noqa: E402

PLANTED = boot.Planted.read()


@pytest.mark.parametrize("name", sorted(boot.rows()))
def test_every_setting_has_a_wrong_value_that_is_wrong(name):
    row = boot.rows()[name]
    assert name in PLANTED.values, f"add a wrong value of {name} to molecule/boot/vars/wrong_values.yml"
    computed = row.mode.startswith("at_least") and not row.value.replace(" ", "").isdigit()
    if not computed and name not in PLANTED.cannot_be_wrong:
        assert not boot.holds(row.mode, row.value, PLANTED.values[name])


def test_what_cannot_be_wrong_is_planted_too_and_has_a_reason():
    assert set(PLANTED.cannot_be_wrong) <= set(PLANTED.values)
    assert all(len(reason) > 20 for reason in PLANTED.cannot_be_wrong.values())


@pytest.mark.parametrize("mode, wanted, value, wanted_answer", [
    ("exact", "4096 5 6", "4096\t5\t6", True), ("exact", "bbr", "reno", False), ("exact", "8", "80", False),
    ("at_least", "8192", "65535", True), ("at_least", "8192", "511", False), ("at_least", "10", "9", False),
    ("at_least_fields", "4096 16384 100", "4096 16384 200", True), ("at_least_fields", "4096 16384 100", "4096 8192 200", False),
    ("exact", "1", None, False), ("at_least", "1", None, False),
])
def test_holds(mode, wanted, value, wanted_answer):
    assert boot.holds(mode, wanted, value) is wanted_answer


def test_a_setting_that_vanished_is_a_deviation():
    found = boot.deviations({"net.core.somaxconn": "8192", "kernel.panic": "10"}, {"net.core.somaxconn": "8192"})
    assert list(found) == ["kernel.panic"]
