# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is decided for a GPU, and what its readings mean. Pure."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_policy
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import gpus

STEPS = gpus.H200_SM
LOCKED = {"sm_clock": {"value": [1980, 1980], "verified": True}, "memory_clock": {"value": [3201, 3201], "verified": True}}


def found(**other):
    return dict({"sm_mhz": 345, "memory_mhz": 3201, "event_reasons": 0x1, "persistence": True, "power_limit_watts": 700, "power_min_watts": 200,
                 "power_max_watts": 700, "memory_clocks": [3201, 1593], "sm_clocks": {3201: STEPS, 1593: STEPS}}, **other)


def settings(**other):
    return dict(gpu_policy.DEFAULTS, **other)


def aim(wanted, now=None):
    return gpu_policy.aim(wanted, now or found())


LOCK = settings(policy="lock_max", memory_lock=True)


@pytest.mark.parametrize("name, memory, sm", [
    ("H200", [3201, 1593], STEPS), ("H100", [2619, 1593], STEPS), ("A100", [1593], [1410 - 15 * step for step in range(81)]),
    ("B200", [3996, 3402], [1965, 1950, 120]), ("a model nobody has heard of", [5555], [2345, 2330]),
])
def test_clocks_come_from_the_list_of_the_gpu_and_not_from_a_table_of_models(name, memory, sm):
    """Report 8: tables by model broke on each new GPU."""
    target, problems = aim(LOCK, found(memory_clocks=memory, sm_clocks={memory[0]: sm}))
    assert not problems
    assert target["sm_clock"] == [sm[0], sm[0]] and target["memory_clock"] == [memory[0], memory[0]]


@pytest.mark.parametrize("reads", [3199, 3200, 3201, 3203])
def test_a_memory_clock_that_reads_3199_is_3201(reads):
    """Report 8."""
    target = aim(LOCK)[0]
    now = found(sm_mhz=1980, memory_mhz=reads)
    assert gpu_policy.decide(target, now, LOCKED) == []
    assert gpu_policy.judge(target, now, LOCKED, LOCK, False) == ("ok", "")


def test_a_memory_clock_further_away_is_another():
    target = aim(LOCK)[0]
    assert [action["setting"] for action in gpu_policy.decide(target, found(sm_mhz=1980, memory_mhz=3198), LOCKED)] == ["memory_clock"]


@pytest.mark.parametrize("bits, word", [(0x4, "software power cap"), (0x20, "software thermal"), (0x4 | 0x10, "software power cap")])
def test_a_clock_below_the_lock_at_the_power_limit_is_ok_power_limited(bits, word):
    """Report 9: an H200 at 700 W does not hold 1830 MHz."""
    target = aim(LOCK)[0]
    now = found(sm_mhz=1695, event_reasons=bits)
    assert gpu_policy.decide(target, now, LOCKED) == []
    state, reason = gpu_policy.judge(target, now, LOCKED, LOCK, False)
    assert state == "power_limited" and reason.startswith("ok, power limited: SM clock 1695 MHz") and word in reason


@pytest.mark.parametrize("bits", [0x8, 0x40, 0x80, 0x4 | 0x8])
def test_a_slowdown_by_the_hardware_is_an_alarm_and_no_reason_to_lock_again(bits):
    target = aim(LOCK)[0]
    now = found(sm_mhz=900, event_reasons=bits)
    assert gpu_policy.decide(target, now, LOCKED) == []
    state, reason = gpu_policy.judge(target, now, LOCKED, LOCK, False)
    assert state == "alarm" and "hardware" in reason


def test_the_hardware_slowdown_of_a_gpu_without_a_lock_is_an_alarm_too():
    assert gpu_policy.judge(aim(settings())[0], found(event_reasons=0x80), {}, settings(), False)[0] == "alarm"


@pytest.mark.parametrize("clock, again", [(1980, False), (1965, False), (1964, True), (345, True)])
def test_a_lost_lock_is_seen_beyond_one_step(clock, again):
    target = aim(LOCK)[0]
    assert bool(gpu_policy.decide(target, found(sm_mhz=clock), LOCKED)) is again


def test_a_reading_that_never_followed_the_lock_does_not_lock_again_at_every_run():
    target = aim(settings(policy="lock_max"))[0]
    applied = {"sm_clock": {"value": [1980, 1980], "verified": False}}
    assert gpu_policy.decide(target, found(), applied) == []
    assert gpu_policy.judge(target, found(), applied, settings(policy="lock_max"), False)[0] == "drift"


def test_without_a_record_the_lock_is_made_even_when_the_clock_reads_so_already():
    assert gpu_policy.decide(aim(settings(policy="lock_max"))[0], found(sm_mhz=1980, event_reasons=0), {})


def test_a_record_in_doubt_is_made_true_again():
    doubt = {"sm_clock": {"value": [1980, 1980], "verified": True, "stale": True}}
    assert gpu_policy.decide(aim(settings(policy="lock_max"))[0], found(sm_mhz=1980), doubt)


def test_readings_that_a_gpu_does_not_have_prove_nothing():
    target = aim(LOCK)[0]
    assert gpu_policy.decide(target, found(sm_mhz=None, memory_mhz=None), LOCKED) == []
    assert gpu_policy.decide(target, found(sm_mhz=345, event_reasons=None), LOCKED) == []


def test_nothing_is_locked_by_default():
    target, problems = aim(settings())
    assert not problems and target["sm_clock"] is None and target["memory_clock"] is None and target["power_limit_watts"] is None
    assert gpu_policy.decide(target, found(), {}) == []


def test_a_lock_of_ours_goes_when_nobody_wants_it_any_more_and_a_foreign_one_stays():
    target = aim(settings())[0]
    assert [gpu_policy.told(action) for action in gpu_policy.decide(target, found(sm_mhz=1980), LOCKED)] == ["reset sm_clock", "reset memory_clock"]
    assert gpu_policy.decide(target, found(sm_mhz=1980), {}) == []


def test_another_lock_replaces_ours():
    target = aim(settings(policy="range", sm_min_mhz=1200, sm_max_mhz=1800))[0]
    assert gpu_policy.decide(target, found(sm_mhz=1980), {"sm_clock": LOCKED["sm_clock"]}) == [
        {"setting": "sm_clock", "do": "lock", "value": [1200, 1800]}]


@pytest.mark.parametrize("given, wanted", [
    ({"sm_max_mhz": 1800}, [345, 1800]), ({"sm_min_mhz": 1200}, [1200, 1980]), ({"sm_min_mhz": 1200, "sm_max_mhz": 1800}, [1200, 1800])])
def test_a_range_with_one_end_takes_the_other_from_the_list(given, wanted):
    assert aim(settings(policy="range", **given)) == (
        {"persistence": True, "power_limit_watts": None, "sm_clock": wanted, "memory_clock": None}, [])


@pytest.mark.parametrize("given, words", [
    ({"policy": "range", "sm_max_mhz": 1999}, ["gpu_clocks_sm_max_mhz", "found 1999", "1980"]),
    ({"policy": "range", "sm_min_mhz": 1207}, ["gpu_clocks_sm_min_mhz", "found 1207", "1200 and 1215"]),
    ({"policy": "range", "sm_min_mhz": 100}, ["gpu_clocks_sm_min_mhz", "found 100", "345"]),
    ({"memory_lock": True, "memory_mhz": 2619}, ["gpu_clocks_memory_mhz", "found 2619", "1593 and 3201"]),
    ({"power_limit_watts": 900}, ["gpu_clocks_power_limit_watts", "found 900", "200 to 700"]),
])
def test_what_the_gpu_does_not_support_is_refused_with_the_nearest_and_the_variable(given, words):
    problems = aim(settings(**given))[1]
    assert len(problems) == 1
    for word in words:
        assert word in problems[0]


@pytest.mark.parametrize("now", [found(memory_clocks=[], sm_clocks={}), found(sm_clocks={3201: []})])
def test_a_policy_that_the_gpu_cannot_do_is_refused_with_the_variable(now):
    assert "gpu_clocks_policy" in aim(settings(policy="lock_max"), now)[1][0]


def test_a_power_limit_that_cannot_be_set_is_refused():
    now = found(power_limit_watts=None, power_min_watts=None, power_max_watts=None)
    assert "gpu_clocks_power_limit_watts" in aim(settings(power_limit_watts=600), now)[1][0]


@pytest.mark.parametrize("given, word", [
    ({"sm_max_mhz": True}, "found true"), ({"power_limit_watts": False}, "found false"), ({"memory_mhz": 0}, "found 0"), ({"sm_min_mhz": "x"}, "found x"),
    ({"policy": "fast"}, "none, lock_max, range"), ({"policy": "range"}, "neither"), ({"policy": "range", "sm_min_mhz": 1800, "sm_max_mhz": 1200}, "at most"),
])
def test_settings_that_make_no_sense_are_refused_without_a_gpu(given, word):
    (problem,) = gpu_policy.check(settings(**given))
    assert word in problem and "gpu_clocks_" in problem


def test_what_has_no_effect_is_said():
    assert len(gpu_policy.unused(settings(sm_min_mhz=345, memory_mhz=3201))) == 2
    assert gpu_policy.unused(settings(policy="range", sm_min_mhz=345)) == []


def test_a_power_limit_of_ours_is_taken_back_when_nobody_wants_it_any_more():
    target = aim(settings())[0]
    ours = {"power_limit": {"value": 500, "before": 650}}
    assert gpu_policy.decide(target, found(power_limit_watts=500), ours) == [{"setting": "power_limit", "do": "set", "value": 650}]
    assert gpu_policy.decide(target, found(power_limit_watts=400), ours) == [], "somebody changed it since"


def test_persistence_comes_before_locks_and_is_never_switched_off():
    target = aim(LOCK)[0]
    assert gpu_policy.decide(target, found(persistence=False), {})[0]["setting"] == "persistence"
    assert gpu_policy.decide(aim(settings(persistence=False))[0], found(persistence=True), {}) == []


def test_a_memory_clock_that_cannot_be_locked_is_noted_and_no_fault():
    target = aim(LOCK)[0]
    applied = dict(LOCKED, memory_clock={"value": [3201, 3201], "unsupported": True})
    now = found(sm_mhz=1980, memory_mhz=405)
    assert gpu_policy.decide(target, now, applied) == []
    state, reason = gpu_policy.judge(target, now, applied, LOCK, False)
    assert state == "ok" and "skipped" in reason


def test_gpus_are_chosen_by_index_or_uuid_and_a_wrong_one_is_named():
    rows = [{"index": 0, "uuid": "GPU-a"}, {"index": 1, "uuid": "GPU-b"}]
    assert gpu_policy.select(rows, ["all"]) == (rows, [])
    assert gpu_policy.select(rows, ["1", "GPU-b"]) == (rows[1:], [])
    chosen, problems = gpu_policy.select(rows, ["2"])
    assert not chosen and "gpu_clocks_gpus" in problems[0] and "GPU-b" in problems[0]


def test_bits_in_words():
    assert gpu_policy.reason_names(0x5) == ["idle", "software power cap"]
    assert gpu_policy.reason_names(0x800) == ["0x800"] and gpu_policy.reason_names(0) == [] and gpu_policy.reason_names(None) is None
