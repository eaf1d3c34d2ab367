# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""daemon.json: foreign settings survive, malformed files stop everything, each key is loaded the right way."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config as dc

FOREIGN = """{
  "data-root": "/data/docker",
  "runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}},
  "log-opts": {"tag": "{{.Name}}"},
  "default-address-pools": [{"base": "10.90.0.0/16", "size": 24}]
}
"""


@pytest.mark.parametrize("text", [None, "", "  \n"])
def test_missing_or_empty_file_has_no_settings(text):
    assert dc.parse(text) == {}


@pytest.mark.parametrize("text, place, cause", [
    ('{\n  "live-restore" true\n}', "line 2, column 18", "not valid JSON"),
    ('{"a": 1}\n{"b": 2}', "line 2, column 1", "a second JSON document"),
    ('{"a": 1 "b": 2}', "line 1, column 9", "not valid JSON"),
])
def test_malformed_file_names_place_and_cure(text, place, cause):
    with pytest.raises(dc.DaemonConfigError) as caught:
        dc.parse(text, "/etc/docker/daemon.json")
    message = str(caught.value)
    assert place in message and cause in message
    assert "/etc/docker/daemon.json" in message and "Nothing was written" in message and "Repair" in message


def test_a_list_is_not_a_configuration():
    with pytest.raises(dc.DaemonConfigError, match="wanted is one object"):
        dc.parse("[]")


def test_duplicate_keys_are_not_guessed():
    with pytest.raises(dc.DaemonConfigError, match="debug more than once"):
        dc.parse('{"debug": true, "debug": false}')


def test_foreign_keys_and_order_survive():
    before = dc.parse(FOREIGN)
    after = dc.merge(before, {"live-restore": True, "log-opts": {"max-size": "100m"}})
    assert list(after) == ["data-root", "runtimes", "log-opts", "default-address-pools", "live-restore"]
    assert after["log-opts"] == {"tag": "{{.Name}}", "max-size": "100m"}
    for key in ("data-root", "runtimes", "default-address-pools"):
        assert after[key] == before[key]
    assert json.loads(dc.render(after)) == after
    assert dc.merge(after, {"live-restore": True, "log-opts": {"max-size": "100m"}}) == after


def test_merge_leaves_its_input_alone():
    before = {"log-opts": {"tag": "x"}}
    dc.merge(before, {"log-opts": {"max-file": "3"}})
    assert before == {"log-opts": {"tag": "x"}}


def test_log_options_become_strings():
    wanted = dc.normalise({"log-opts": {"max-file": 3, "compress": True}, "live-restore": True})
    assert wanted == {"log-opts": {"max-file": "3", "compress": "true"}, "live-restore": True}


def test_swarm_node_gets_no_live_restore():
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
    assert dc.invisible(config) == ["log-opts"]


def test_a_flag_of_the_daemon_conflicts_with_the_file():
    command = ["/usr/sbin/dockerd", "-H", "fd://", "--live-restore=true", "--log-opt", "max-size=1m"]
    assert set(dc.flag_names(command)) == {"hosts", "live-restore", "log-opts"}
    found = dc.conflicts({"live-restore": True, "debug": True}, command)
    assert found == ["live-restore is set by the flag --live-restore of the running dockerd"]


def test_runtimes_are_checked_before_writing():
    assert dc.runtime_binaries({"runtimes": {"nvidia": {"path": "/usr/bin/n"}}}) == ({"nvidia": "/usr/bin/n"}, None)
    assert "does not define" in dc.runtime_binaries({"default-runtime": "nvidia"})[1]
    assert dc.runtime_binaries({"default-runtime": "runc"})[1] is None
