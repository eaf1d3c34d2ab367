# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: what it judges, what it keeps over a boot, and what stays as it is where nothing can be written."""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import net_units, paths
from ansible_collections.indiaai.inference.plugins.modules import net_steering

UNIT = "%s/%s" % (paths.SYSTEMD_UNITS, net_units.UNIT_NAME)
CHANGE = {"queue": "rx-0", "file": "rps_cpus", "before": "0", "after": "0000000f"}


def verdict(action, name="eth0"):
    return {"device": name, "action": action, "reason": "so", "cpus": "0000000f", "flows": None}


def test_steering_is_kept_over_a_boot_only_where_an_interface_is_steered():
    items = net_steering.judge([(verdict("skip", "lo"), []), (verdict("off", "eth1"), [])])
    assert set(net_steering.persistence(items, "auto", 32768).values()) == {None}
    items = net_steering.judge([(verdict("steer"), [])])
    assert items[0]["state"] == "ok" and None not in net_steering.persistence(items, "auto", 32768).values()


def test_an_interface_of_the_machine_below_is_named_and_left_alone(tmp_path):
    items = net_steering.judge([(verdict("steer"), [CHANGE])], root=str(tmp_path))
    assert items[0]["state"] == "readonly" and items[0]["changes"] == []
    assert set(net_steering.persistence(items, "auto", 32768).values()) == {None}, "there is nothing to keep"


def test_diff_shows_what_is_written(tmp_path):
    path = tmp_path / "sys/class/net/eth0/queues/rx-0/rps_cpus"
    path.parent.mkdir(parents=True)
    path.write_text("0\n", encoding="ascii")
    items = net_steering.judge([(verdict("steer"), [CHANGE])], root=str(tmp_path))
    assert net_steering.differences(items, [("/etc/x", None, "text")]) == [
        {"before_header": "/etc/x", "after_header": "/etc/x", "before": "", "after": "text"},
        {"before_header": "network interfaces", "after_header": "network interfaces", "before": "eth0/rx-0/rps_cpus = 0\n",
         "after": "eth0/rx-0/rps_cpus = 0000000f\n"}]


class Host:
    """Notes what systemd is told."""

    def __init__(self):
        self.told = []

    def systemctl(self, *arguments):
        self.told.append(arguments)


def test_a_unit_that_is_not_wanted_any_more_is_disabled_before_its_file_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(net_steering.paths, "SYSTEMD_UNITS", str(tmp_path))
    unit = tmp_path / net_units.UNIT_NAME
    unit.write_text("old", encoding="ascii")
    host = Host()
    net_steering.write_files([(str(unit), "old", None)], host)
    assert not unit.exists() and host.told == [("disable", net_units.UNIT_NAME), ("daemon-reload",)]
    net_steering.write_files([], host)
    assert len(host.told) == 2
