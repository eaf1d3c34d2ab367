# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""daemon.json: foreign settings survive, malformed files stop everything, each key is loaded the right way."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config as dc
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_keys
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_text as dt

FOREIGN = """{
  "data-root": "/data/docker",
  "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}},
  "log-opts": {"tag": "{{.Name}}"},
  "default-address-pools": [{"base": "10.90.0.0/16", "size": 24}]
}
"""


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_missing_or_empty_file_has_no_settings(text):
    assert dt.parse(text) == {}


@pytest.mark.parametrize("text, place, cause", [
    ('{\n  "live-restore" true\n}', "line 2, column 18", "not valid JSON"),
    ('{"a": 1}\n{"b": 2}', "line 2, column 1", "a second JSON document"),
    ('{"a": 1 "b": 2}', "line 1, column 9", "not valid JSON"),
    ('{\n  "labels": ["a"],\n}', "line ", "not valid JSON"),  # Python 3.13 points at the comma, older ones at the brace
    ('\ufeff{}', "line 1, column 1", "not valid JSON"),
])
def test_report_20_malformed_file_stops_before_writing_and_names_place_and_cure(text, place, cause):
    with pytest.raises(dt.DaemonConfigError) as caught:
        dt.parse(text, "/etc/docker/daemon.json")
    message = str(caught.value)
    assert place in message and cause in message
    assert "/etc/docker/daemon.json" in message and "Nothing was written" in message and "Repair" in message


def test_a_list_is_not_a_configuration():
    with pytest.raises(dt.DaemonConfigError, match="wanted is one object"):
        dt.parse("[]")


def test_a_file_that_is_no_text_is_refused_like_any_malformed_one():
    with pytest.raises(dt.DaemonConfigError, match="byte 2 is no UTF-8.*Nothing was written"):
        dt.decode(b'{"\xff": 1}', "/etc/docker/daemon.json")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_lacks_are_refused(word):
    with pytest.raises(dt.DaemonConfigError, match=word):
        dt.parse('{"a": %s}' % word)


def test_duplicate_keys_are_not_guessed():
    with pytest.raises(dt.DaemonConfigError, match="debug more than once"):
        dt.parse('{"debug": true, "debug": false}')


def test_report_19_foreign_keys_and_order_survive():
    before = dt.parse(FOREIGN)
    after = dc.merge(before, {"live-restore": True, "log-opts": {"max-size": "100m"}})
    assert list(after) == ["data-root", "runtimes", "log-opts", "default-address-pools", "live-restore"]
    assert after["log-opts"] == {"tag": "{{.Name}}", "max-size": "100m"}
    for key in ("data-root", "runtimes", "default-address-pools"):
        assert after[key] == before[key]
    assert json.loads(dt.render(after)) == after
    assert dc.merge(after, {"live-restore": True, "log-opts": {"max-size": "100m"}}) == after


ODD = """{
\t"insecure-registries" : ["10.0.0.1:5000" ,"r\\u00e9gistre.example"],
\t"default-shm-size": 6.40e7,
\t"log-opts": {"tag": "{{.Name}}",   "mode": "non-blocking"},
\t"debug":   false
}"""


@pytest.mark.parametrize("text, settings, expected", [
    (ODD, {"debug": True}, ODD.replace("false", "true")),
    (ODD, {"live-restore": True}, ODD.replace("false\n", 'false,\n\t"live-restore": true\n')),
    (ODD, {"log-opts": {"max-file": "3"}}, ODD.replace('"non-blocking"', '"non-blocking", "max-file": "3"')),
    ('{"a":1}', {"live-restore": True}, '{"a":1, "live-restore": true}'),
    ('{"a":{}}\n', {"a": {"b": 1}}, '{"a":{"b": 1}}\n'),
    ('{\r\n  "a": 1\r\n}\r\n', {"b": {"c": 1}}, '{\r\n  "a": 1,\n  "b": {\n    "c": 1\n  }\r\n}\r\n'),
    ('{"runtimes": {\n    "x": {"path": "/x"}\n  }}', {"runtimes": {"y": {"path": "/y"}}},
     '{"runtimes": {\n    "x": {"path": "/x"},\n    "y": {\n      "path": "/y"\n    }\n  }}'),
    ("", {"debug": True}, '{\n    "debug": true\n}\n'),
    ("{}", {"debug": True}, '{\n    "debug": true\n}\n'),
])
def test_report_19_foreign_values_keep_their_bytes(text, settings, expected):
    wanted = dc.merge(dt.parse(text), settings)
    after = dt.rewrite(text, wanted)
    assert after == expected
    assert _daemon_keys.same(dt.parse(after), wanted) and list(dt.parse(after)) == list(wanted)
    assert dt.rewrite(after, wanted) == after


def test_a_key_that_goes_is_no_edit_and_still_right():
    assert dt.parse(dt.rewrite('{"a": 1, "b": 2}', {"b": 2})) == {"b": 2}


def test_true_is_not_one():
    assert dc.changed_keys({"debug": 1}, {"debug": True}) == {"reload": ["debug"], "restart": []}


def test_merge_leaves_its_input_alone():
    before = {"log-opts": {"tag": "x"}}
    dc.merge(before, {"log-opts": {"max-file": "3"}})
    assert before == {"log-opts": {"tag": "x"}}


def test_log_options_become_strings():
    wanted = dc.normalise({"log-opts": {"max-file": 3, "compress": True}, "live-restore": True})
    assert wanted == {"log-opts": {"max-file": "3", "compress": "true"}, "live-restore": True}


def test_report_21_swarm_node_gets_no_live_restore_and_a_message():
    kept, skipped = dc.applicable({}, {"live-restore": True, "debug": False}, swarm_active=True)
    assert kept == {"debug": False}
    assert skipped[0]["key"] == "live-restore" and "swarm" in skipped[0]["reason"]


@pytest.mark.parametrize("current, given", [
    ({}, True), ({"log-driver": "local"}, True), ({"log-driver": "journald"}, False)])
def test_size_limits_only_for_drivers_that_write_files(current, given):
    kept, skipped = dc.applicable(current, {"log-opts": {"max-size": "100m"}})
    assert ("log-opts" in kept) is given
    assert bool(skipped) is not given


def test_keys_are_classified_by_how_they_load():
    before = {"labels": ["a=b"], "debug": True, "data-root": "/a"}
    after = {"debug": False, "data-root": "/b", "live-restore": True, "log-driver": "local"}
    assert dc.changed_keys(before, after) == {
        "reload": ["debug", "live-restore"], "restart": ["data-root", "labels", "log-driver"]}


def test_what_the_daemon_has_not_loaded():
    info = {"LiveRestoreEnabled": False, "LoggingDriver": "json-file", "DockerRootDir": "/var/lib/docker",
            "Runtimes": {"runc": {}}, "Labels": ["x=1"], "RegistryConfig": {"Mirrors": ["https://mirror.example/"]}}
    config = {"live-restore": True, "log-driver": "local", "data-root": "/var/lib/docker/", "labels": ["x=1"],
              "runtimes": {"nvidia": {"path": "x"}}, "registry-mirrors": ["https://mirror.example"],
              "log-opts": {"max-size": "1m"}}
    assert [(item["key"], item["by"]) for item in dc.not_loaded(config, info)] == [
        ("live-restore", "reload"), ("log-driver", "restart"), ("runtimes", "reload")]
    assert dc.invisible(config, info) == ["log-opts"]


@pytest.mark.parametrize("config, info, waits", [
    ({"features": {"cdi": True}}, {"CDISpecDirs": []}, True),
    ({"features": {"cdi": True}}, {"CDISpecDirs": None}, True),
    ({"features": {"cdi": True}}, {"CDISpecDirs": ["/etc/cdi", "/var/run/cdi"]}, False),
    ({"exec-opts": ["native.cgroupdriver=cgroupfs"]}, {"CgroupDriver": "systemd"}, True),
    ({"exec-opts": ["native.cgroupdriver=cgroupfs"]}, {"CgroupDriver": "cgroupfs"}, False),
    ({"default-address-pools": [{"base": "10.9.0.0/16", "size": 24}]}, {"DefaultAddressPools": None}, True),
    ({"default-address-pools": [{"base": "10.9.0.0/16", "size": 24}]},
     {"DefaultAddressPools": [{"Base": "10.9.0.0/16", "Size": 24}]}, False),
])
def test_what_a_reload_does_not_load_waits_for_a_restart(config, info, waits):
    assert [item["by"] for item in dc.not_loaded(config, info)] == (["restart"] if waits else [])
    assert dc.changed_keys({}, config)["reload"] == []


def test_what_the_daemon_does_not_show_is_judged_by_its_age():
    """Docker 20.10 shows no CDI folders, and no daemon its default limits."""
    assert dc.invisible({"features": {"cdi": True}, "default-ulimits": {}, "max-concurrent-downloads": 2}, {}) == [
        "default-ulimits", "features"]


def test_settings_only_where_nobody_spoke():
    nvidia = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}
    assert dc.complete({}, {}, nvidia) == nvidia
    assert dc.complete({"runtimes": {"nvidia": {"path": "/opt/n"}}}, {"debug": True}, nvidia) == {"debug": True}
    assert dc.complete({"runtimes": {"kata": {"path": "/k"}}}, {"runtimes": {"x": {"path": "/x"}}}, nvidia) == {
        "runtimes": {"x": {"path": "/x"}, "nvidia": nvidia["runtimes"]["nvidia"]}}
    assert dc.complete({"features": {"cdi": False}}, {}, {"features": {"cdi": True}}) == {}


def test_the_unit_of_a_daemon_that_does_not_run_counts_too():
    shown = ("ExecStart={ path=/usr/sbin/dockerd ; argv[]=/usr/sbin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock "
             "$DOCKER_OPTS ; ignore_errors=no ; start_time=[n/a] ; pid=0 ; status=0/0 }")
    command = dc.unit_command(shown)
    assert dc.conflicts({"hosts": ["unix:///run/docker.sock"]}, command) == ["hosts is set by the flag -H of dockerd"]
    assert dc.unit_command("ExecStart=") == [] == dc.unit_command("")


ROUTES = """Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT
eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0
eth0\t0000000A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
eth1\t001014AC\t0100000A\t0003\t0\t0\t0\t00F0FFFF\t0\t0\t0
docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0
"""


@pytest.mark.parametrize("settings, hidden", [
    ({"default-address-pools": [{"base": "172.16.0.0/12", "size": 24}]}, ["172.20.16.0/20"]),
    ({"default-address-pools": [{"base": "10.90.0.0/16", "size": 24}]}, []),
    ({"bip": "172.20.17.1/24"}, ["172.20.16.0/20"]),
    ({"bip": "172.17.0.1/16"}, []),
    ({"bip": "nonsense", "default-address-pools": "nonsense"}, []),
])
def test_address_pools_do_not_hide_networks_of_the_host(settings, hidden):
    routes = dc.routes(ROUTES)
    assert [interface for interface, ignored in routes] == ["eth0", "eth1"]
    found = dc.shadowed_routes(settings, routes)
    assert len(found) == len(hidden) and all(network in text for network, text in zip(hidden, found))


def test_a_flag_of_the_daemon_conflicts_with_the_file():
    command = ["/usr/sbin/dockerd", "-H", "fd://", "--live-restore=true", "--log-opt", "max-size=1m"]
    assert set(dc.flag_names(command)) == {"hosts", "live-restore", "log-opts"}
    found = dc.conflicts({"live-restore": True, "debug": True}, command)
    assert found == ["live-restore is set by the flag --live-restore of dockerd"]


def test_runtimes_are_checked_before_writing():
    assert dc.runtime_binaries({"runtimes": {"nvidia": {"path": "/usr/bin/n"}}}) == ({"nvidia": "/usr/bin/n"}, None)
    assert "does not define" in dc.runtime_binaries({"default-runtime": "nvidia"})[1]
    assert dc.runtime_binaries({"default-runtime": "runc"})[1] is None
