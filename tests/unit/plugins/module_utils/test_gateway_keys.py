# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys of the gateway: what is wanted against what is there, and the command lines that lead from one to the other."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gateway_keys as keys

MARCH = 1806431400000000  # 2027-03-30T18:30:00Z, which is midnight in India


def has(name, **changes):
    return dict({"name": name, "models": ["*"], "enabled": True, "expires_at": None, "prefix": "sk-ind-Abcd", "last4": "wxyz"}, **changes)


def steps(wanted, found):
    return keys.actions(keys.normalise(wanted), found)


@pytest.mark.parametrize("text, wanted", [
    (None, None), ("", None), ("never", None), (" Never ", None), ("1970-01-01", 0), ("1970-01-01T00:00:01Z", 1000000),
    ("2027-03-31T00:00:00+05:30", MARCH), ("2027-03-30 18:30:00", MARCH),
])
def test_moments(text, wanted):
    assert keys.moment(text) == wanted


@pytest.mark.parametrize("wanted, words", [
    ([{"name": "../etc"}], "name is '../etc'"),
    ([{"name": ""}], "1 to 64"),
    ([{"name": "a" * 65}], "1 to 64"),
    ([{"name": "a", "models": ["*"]}, {"name": "a"}], "two keys"),
    ([{"name": "a", "models": []}], "no models"),
    ([{"name": "a", "models": ["x,y"]}], "'x,y' is no name"),
    ([{"name": "a", "models": ["*"], "expires_at": "soon"}], "key 'a': expires_at is 'soon'"),
])
def test_what_cannot_be_meant(wanted, words):
    with pytest.raises(keys.WrongKey, match=words):
        keys.normalise(wanted)


def test_a_missing_key_is_made():
    found = steps([{"name": "a", "models": ["x", "y"], "expires_at": "2027-03-30T18:30:00Z", "enabled": False}], [])
    assert [keys.arguments(step) for step in found] == [
        ["keys", "create", "a", "--json", "--models", "x,y", "--expires", "2027-03-30T18:30:00+00:00", "--disabled"]]


def test_nothing_to_do():
    wanted = [{"name": "a", "models": ["y", "x"]}, {"name": "b", "models": ["*", "x"]}, {"name": "gone", "state": "absent"}]
    assert steps(wanted, [has("a", models=["x", "y"]), has("b"), has("of somebody else")]) == []


@pytest.mark.parametrize("wanted, found, arguments", [
    ({"models": ["x"]}, {}, ["--models", "x"]),
    ({"models": ["*"], "enabled": False}, {}, ["--disable"]),
    ({"models": ["*"]}, {"enabled": False}, ["--enable"]),
    ({"models": ["*"]}, {"expires_at": MARCH}, ["--expires", "never"]),
    ({"models": ["*"], "expires_at": "2027-03-31T00:00:00+05:30"}, {"expires_at": 5}, ["--expires", "2027-03-30T18:30:00+00:00"]),
    ({"models": ["*"], "expires_at": "2027-03-31T00:00:00+05:30"}, {"expires_at": MARCH}, None),
])
def test_changes(wanted, found, arguments):
    made = [keys.arguments(step) for step in steps([dict(wanted, name="a")], [has("a", **found)])]
    assert made == ([] if arguments is None else [["keys", "update", "a", "--json"] + arguments])


def test_an_unwanted_key_is_deleted():
    assert [keys.arguments(step) for step in steps([{"name": "a", "state": "absent"}], [has("a")])] == [["keys", "delete", "a"]]


def test_the_difference_shows_what_changes_and_no_part_of_a_secret():
    found = [has("a"), has("b"), has("c")]
    wanted = [{"name": "a", "models": ["x"]}, {"name": "b", "state": "absent"}, {"name": "d", "models": ["*"]}, {"name": "c", "models": ["*"]}]
    difference = keys.difference(found, steps(wanted, found))
    assert difference["before"].splitlines() == ["a: enabled, models *, never expires", "b: enabled, models *, never expires"]
    assert difference["after"].splitlines() == ["a: enabled, models x, never expires", "d: enabled, models *, never expires"]
