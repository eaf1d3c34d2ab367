"""After a boot that nobody helped everything reads as planned. Runs after the power cut and again after the reboot."""
from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import boot  # noqa: E402  pylint: disable=wrong-import-position


def test_the_role_applied_each_of_its_settings(plan):
    assert set(plan.settings) == set(boot.rows())
    assert not [item for item in plan.outcome if item["state"] not in ("ok", "applied")]


def test_an_earlier_file_has_a_wrong_value_for_each(plan, planted, before):
    assert set(plan.settings) <= set(planted.values)
    there = {name: before["settings"].get(name) for name in plan.settings}
    missing = {name for name, value in there.items() if value is None}
    assert {name: value for name, value in there.items() if name not in missing and value != planted.values[name]} == {}
    # Before the role loads their modules the kernel has no such settings.
    assert missing <= {name for name, row in boot.rows().items() if row.module}


def test_the_guest_has_booted_anew(plan, now):
    assert now["boot_id"] != plan.state["boot_id"] and now["failed_units"] == ""


def test_every_setting_reads_as_planned(plan, now):
    assert boot.deviations(plan.settings, now["settings"]) == {}


def test_numa_balancing_stays_off_on_two_nodes(now):
    assert now["nodes"] == ["node0", "node1"]
    if "kernel.numa_balancing" in boot.rows():
        assert now["settings"]["kernel.numa_balancing"] == "0"


def test_modules_that_settings_need_are_loaded(now):
    assert {row.module for row in boot.rows().values() if row.module} <= set(now["modules"])


def test_new_network_cards_are_paced_by_the_discipline(now):
    assert now["qdiscs"]["eth0"] == boot.rows()["net.core.default_qdisc"].value


def test_policy_of_huge_pages_reads_as_planned(before, plan, now):
    assert now["huge_pages"] == plan.state["huge_pages"] != before["huge_pages"]


def test_steering_of_received_packets_reads_as_planned(before, plan, now):
    assert now["queues"] == plan.state["queues"] != before["queues"]
    assert now["queues"]["/sys/class/net/eth0/queues/rx-0/rps_cpus"] == 2 ** now["processors"] - 1
