"""GPUs are set up at the boot before what uses them starts, also when they answer late."""
from __future__ import annotations

import pytest

LOCKED = {"sm_lock": "1980 1980", "mem_lock": "3201 3201", "power_limit_mw": "600000", "persistence": "1"}


@pytest.fixture
def units(now):
    return now["gpu"]["units"]


def test_the_role_set_up_both_gpus(plan):
    assert plan.state["gpu"]["gpus"] == [LOCKED, LOCKED]


def test_both_gpus_are_set_up_again_without_help(now):
    assert now["gpu"]["gpus"] == [LOCKED, LOCKED]


def test_docker_starts_once_and_after_the_gpus_are_set_up(units):
    """Report 34: it is held back until the unit is done, since all waiting is inside of it."""
    assert units["gpu-init.service"]["result"] == "success" and units["gpu-init.service"]["restarts"] == 0
    assert 0 < units["gpu-init.service"]["done"] <= units["docker.service"]["began"]


def test_gpus_that_are_late_by_a_minute_are_waited_for(now, units):
    if now["gpu"]["fault"] != "late:60":
        pytest.skip("they are late at the other boot")
    assert units["gpu-init.service"]["done"] - units["stub-gpu.service"]["began"] >= 59
