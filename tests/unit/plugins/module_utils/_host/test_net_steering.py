# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Receive steering: the verdict on each kind of interface, masks for any number of CPUs, and writing them."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import cli, net_devices, net_steering, net_units, paths


def machine(cpus, nodes=1, online=None):
    """CPUs dealt out to nodes in turn, as two sockets do."""
    return {"possible": cpus, "online": set(range(cpus)) if online is None else online,
            "nodes": {node: set(range(node, cpus, nodes)) for node in range(nodes)}}


def card(queues=1, node=0, **changes):
    found = {"name": "eth0", "physical": True, "bond": False, "type": 1, "numa_node": node,
             "queues": {"rx-%d" % number: {"rps_cpus": "0\n", "rps_flow_cnt": "0\n"} for number in range(queues)}}
    return dict(found, **changes)


def verdict(device, here, mode="auto"):
    return net_steering.decide(device, here, mode, 32768)


@pytest.mark.parametrize("cpus, mask", [
    (1, "00000001"),
    (4, "0000000f"),
    (24, "00ffffff"),
    (32, "ffffffff"),
    (48, "0000ffff,ffffffff"),
    (64, "ffffffff,ffffffff"),
    (96, "ffffffff,ffffffff,ffffffff"),
    (128, "ffffffff,ffffffff,ffffffff,ffffffff"),
    (129, "00000001,ffffffff,ffffffff,ffffffff,ffffffff"),
    (192, ",".join(["ffffffff"] * 6)),
])
def test_masks_for_any_number_of_cpus(cpus, mask):
    assert net_steering.format_mask(range(cpus), cpus) == mask
    assert net_steering.parse_mask(mask) == (1 << cpus) - 1


def test_masks_of_a_part_of_the_cpus():
    assert net_steering.format_mask(range(32, 64), 64) == "ffffffff,00000000"
    assert net_steering.format_mask([], 96) == "00000000,00000000,00000000"
    assert net_steering.format_mask(range(0, 48, 2), 48) == "00005555,55555555"


def test_a_cpu_that_the_machine_cannot_have_is_never_in_a_mask():
    with pytest.raises(ValueError, match="CPU 24"):
        net_steering.format_mask(range(25), 24)


def test_masks_are_compared_as_numbers():
    assert net_steering.parse_mask("3\n") == net_steering.parse_mask("00000003") == net_steering.parse_mask("00000000,00000003")
    for text in ("", "0x3", "1-2", "fffffffff"):
        with pytest.raises(ValueError):
            net_steering.parse_mask(text)


@pytest.mark.parametrize("text, cpus", [("0-3,8\n", {0, 1, 2, 3, 8}), ("0\n", {0}), ("\n", set()), ("", set())])
def test_lists_of_cpus(text, cpus):
    assert net_steering.parse_cpulist(text) == cpus


@pytest.mark.parametrize("entries, queues, flows", [(32768, 1, 32768), (32768, 16, 2048), (32768, 3, 16384), (30000, 1, 32768), (0, 4, 0), (8, 0, 0)])
def test_flow_counts_are_powers_of_two(entries, queues, flows):
    assert net_steering.flows_per_queue(entries, queues) == flows


def test_a_card_with_one_queue_hands_on_to_the_cpus_of_its_node():
    found = verdict(card(), machine(48, nodes=2))
    assert found["action"] == "steer" and found["cpus"] == "00005555,55555555" and found["flows"] == 32768
    assert "1 RX queue for 24 CPUs in NUMA node 0" in found["reason"]


def test_a_card_of_no_node_hands_on_to_all_cpus_that_run():
    found = verdict(card(node=-1), machine(8, online={0, 1, 2, 3}))
    assert found["cpus"] == "0000000f" and "of the machine" in found["reason"]


def test_few_queues_share_the_flows():
    found = verdict(card(queues=16), machine(64, nodes=2))
    assert found["action"] == "steer" and found["flows"] == 2048


def test_a_card_with_a_queue_for_each_cpu_has_rps_off_and_the_reason_is_told():
    """Steering on such a card only adds interrupts between CPUs."""
    device = card(queues=63)
    for values in device["queues"].values():
        values["rps_cpus"], values["rps_flow_cnt"] = "ffffffff,ffffffff\n", "512\n"
    found = verdict(device, machine(64, nodes=2))
    assert found["action"] == "off" and found["reason"] == "63 RX queues >= 32 CPUs in NUMA node 0: the card spreads the work itself"
    changes = net_steering.changes(device, found)
    assert len(changes) == 63 and {item["file"] for item in changes} == {"rps_cpus"}, "hardware steering needs its flow counts"
    assert net_steering.parse_mask(changes[0]["after"]) == 0


def test_a_card_with_many_queues_is_steered_when_asked():
    assert verdict(card(queues=64), machine(32), mode="on")["action"] == "steer"


@pytest.mark.parametrize("changes, said", [
    ({"name": "lo", "physical": False, "type": 772}, "loopback"),
    ({"name": "veth12ab", "physical": False}, "virtual"),
    ({"name": "docker0", "physical": False}, "virtual"),
    ({"name": "br-0123", "physical": False}, "virtual"),
    ({"name": "br-0123", "physical": True}, "virtual"),
    ({"name": "bond0", "physical": False, "bond": True}, "its members"),
    ({"name": "ib0", "type": 32}, "Ethernet"),
    ({"name": "eth9", "queues": 0}, "no receive queues"),
])
def test_loopback_virtual_and_bond_interfaces_are_never_touched_even_when_forced(changes, said):
    for mode in ("auto", "on"):
        found = verdict(card(**changes), machine(32), mode)
        assert found["action"] == "skip" and said in found["reason"] and net_steering.changes(card(**changes), found) == []


def test_too_few_cpus():
    found = verdict(card(), machine(1))
    assert found["action"] == "skip" and "1 CPU" in found["reason"]


def test_off_touches_nothing():
    device = card()
    device["queues"]["rx-0"]["rps_cpus"] = "f\n"
    assert net_steering.changes(device, verdict(device, machine(4), "off")) == []


@pytest.fixture
def root(tmp_path):
    """A machine of two nodes: a card with queues of odd names, a bridge, the loopback interface."""
    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")

    put("sys/devices/system/cpu/online", "0-23\n")
    put("sys/devices/system/cpu/possible", "0-23\n")
    put("sys/devices/system/node/node0/cpulist", "0-11\n")
    put("sys/devices/system/node/node1/cpulist", "12-23\n")
    (tmp_path / "sys/class/net").mkdir(parents=True)
    for name, folder, kind in (("ens3", "pci0000:00/0000:00:03.0/net/ens3", "1"), ("br-1", "virtual/net/br-1", "1"), ("lo", "virtual/net/lo", "772")):
        put("sys/devices/%s/type" % folder, kind + "\n")
        for queue in ("rx-0", "rx-7") if name == "ens3" else ("rx-0",):
            put("sys/devices/%s/queues/%s/rps_cpus" % (folder, queue), "000000\n")
            put("sys/devices/%s/queues/%s/rps_flow_cnt" % (folder, queue), "0\n")
        put("sys/devices/%s/queues/tx-0/xps_cpus" % folder, "000000\n")
        (tmp_path / "sys/class/net" / name).symlink_to("../../devices/" + folder)
    put("sys/devices/pci0000:00/0000:00:03.0/numa_node", "1\n")
    (tmp_path / "sys/devices/pci0000:00/0000:00:03.0/net/ens3/device").symlink_to("../../../0000:00:03.0")
    (tmp_path / "sys/class/net/bonding_masters").write_text("\n", encoding="ascii")
    return str(tmp_path)


def test_interfaces_are_read_and_steered_and_the_second_time_nothing_is_left(root):
    said = []
    assert net_devices.run(said.append, "auto", 32768, root=root) == 0
    assert said == ["br-1: skip (a virtual interface)", "ens3: steer (2 RX queues for 12 CPUs in NUMA node 1); changed",
                    "lo: skip (the loopback interface)"]
    for queue in ("rx-0", "rx-7"):
        with open(net_devices.queue_file("ens3", queue, "rps_cpus", root), encoding="ascii") as handle:
            assert handle.read() == "00fff000\n"
        with open(net_devices.queue_file("ens3", queue, "rps_flow_cnt", root), encoding="ascii") as handle:
            assert handle.read() == "16384\n"
    said.clear()
    net_devices.run(said.append, "auto", 32768, only="ens3", root=root)
    assert said == ["ens3: steer (2 RX queues for 12 CPUs in NUMA node 1)"]


def test_a_value_that_does_not_hold_is_told(root, monkeypatch):
    monkeypatch.setattr(net_devices.sysfs, "write", lambda path, value: None)
    said = []
    assert net_devices.run(said.append, "auto", 32768, root=root) == 1
    assert any("reads 000000 after 00fff000 was written" in line for line in said)


def test_an_interface_that_goes_away_is_told_and_the_others_go_on(root, monkeypatch):
    def gone(path, value):
        raise FileNotFoundError(2, "No such file or directory")
    monkeypatch.setattr(net_devices.sysfs, "write", gone)
    said = []
    assert net_devices.run(said.append, "auto", 32768, root=root) == 1 and len(said) == 3


def test_boot_and_a_new_interface_call_the_same_program():
    rule, unit = (net_units.files("auto", 32768)[path] for path in (net_units.RULE, paths.SYSTEMD_UNITS + "/" + net_units.UNIT_NAME))
    call = paths.CLI + " net-steering --mode auto --flow-entries 32768"
    assert 'ACTION=="add", SUBSYSTEM=="net", RUN+="%s --device $name"' % call in rule
    assert "ExecStart=%s\n" % call in unit and "Type=oneshot" in unit and "After=network-online.target" in unit
    wanted = cli.parser().parse_args(["net-steering", "--mode", "auto", "--flow-entries", "32768", "--device", "eth0"])
    assert (wanted.mode, wanted.flow_entries, wanted.device) == ("auto", 32768, "eth0")
