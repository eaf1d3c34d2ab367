# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is done to a running daemon, in which order, and what happens when it does not like it."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_host
from ansible_collections.indiaai.inference.plugins.modules import docker_daemon_config as module_code


class Failed(Exception):
    """fail_json was called."""


class Module:
    """As much of AnsibleModule as is needed."""

    check_mode = False
    tmpdir = None

    def __init__(self, path, **params):
        self.params = dict({"path": str(path), "settings": {}, "settings_if_absent": {}, "read_at_start": [], "restart_ok": False,
                            "backup": False, "reload_timeout": 1}, **params)
        self.warnings = []

    def fail_json(self, msg, **more):
        raise Failed(msg)

    def warn(self, text):
        self.warnings.append(text)


class Daemon:
    """A dockerd that takes what is in the file: at SIGHUP what can be reloaded, at a restart all of it."""

    binary = None

    def __init__(self, path, containers=(), swarm=False, refuses=(), programs=("runc",), flags=(), **info):
        self.path, self.containers, self.swarm, self.refuses = path, containers, swarm, refuses
        self.programs, self.flags = programs, flags
        self.pid = 1
        self.info = dict({"LiveRestoreEnabled": False, "LoggingDriver": "json-file", "DockerRootDir": "/var/lib/docker",
                          "Runtimes": {"runc": {}}, "DefaultRuntime": "runc", "CDISpecDirs": [], "Debug": False}, **info)
        self.done = []

    def config(self):
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def cmdline(self):
        return ["dockerd"] + list(self.flags)

    def unit_command(self):
        return ["dockerd", "-H", "fd://"]

    def which(self, program):
        return program if program in self.programs else None

    def grantable(self):
        return {"nofile": 524288}

    def running(self):
        return {name: (name, "start") for name in self.containers}

    def hangup(self, satisfied, seconds, want_event=False):
        self.done.append("reload")
        config = self.config()
        if set(config) & set(self.refuses):
            return False
        self.info["LiveRestoreEnabled"] = config.get("live-restore", self.info["LiveRestoreEnabled"])
        self.info["Runtimes"] = dict(self.info["Runtimes"], **config.get("runtimes", {}))
        return satisfied(self.info)

    def restart(self):
        self.done.append("restart with live-restore" if self.info["LiveRestoreEnabled"] else "restart")
        if set(self.config()) & set(self.refuses):
            raise _daemon_host.RestartFailed("systemctl restart docker.service failed: no")
        self.info["CDISpecDirs"] = ["/etc/cdi"] if self.config().get("features", {}).get("cdi") else []

    def describe(self):
        return {}


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr(_daemon_host, "started_at", lambda pid: 0)
    return tmp_path / "daemon.json"


def run(module, daemon):
    result = {"changed": False, "actions": [], "restart_required": [], "left_out": [], "clamped": [], "containers_restarted": []}
    module_code.present(module, daemon, result)
    return result


def test_live_restore_is_loaded_by_reload_before_any_restart(path):
    daemon = Daemon(path, containers=["a"])
    result = run(Module(path, settings={"live-restore": True, "features": {"cdi": True}}, restart_ok=True), daemon)
    assert daemon.done == ["reload", "restart with live-restore"] and result["restart_required"] == []
    assert result["actions"] == ["written", "reloaded", "restarted"]


def test_no_restart_under_containers_unless_allowed(path):
    daemon = Daemon(path, containers=["a"])
    result = run(Module(path, settings={"live-restore": True, "features": {"cdi": True}}), daemon)
    assert daemon.done == ["reload"] and result["restart_required"] == ["features"]


def test_no_restart_without_live_restore_even_when_allowed(path):
    daemon = Daemon(path, containers=["a"])
    result = run(Module(path, settings={"features": {"cdi": True}}, restart_ok=True), daemon)
    assert daemon.done == [] and result["restart_required"] == ["features"]


def test_no_restart_into_a_flag_that_somebody_elses_key_repeats(path):
    path.write_text('{"hosts": ["tcp://x"]}')
    module, daemon = Module(path, settings={"features": {"cdi": True}}), Daemon(path)
    result = run(module, daemon)
    assert daemon.done == [] and result["restart_required"] == ["features"]
    assert "hosts is set by the flag -H" in module.warnings[0]


def test_a_second_run_changes_nothing(path):
    daemon = Daemon(path, containers=["a"])
    settings = {"live-restore": True, "default-ulimits": {"nofile": 1048576}}
    first = run(Module(path, settings=settings), daemon)
    assert first["clamped"] == [{"limit": "nofile", "wanted": 1048576, "granted": 524288}]
    text = path.read_text()
    assert run(Module(path, settings=settings), daemon)["changed"] is False and path.read_text() == text


def test_what_was_set_because_nobody_spoke_of_it_still_waits_in_the_next_run(path):
    daemon = Daemon(path, containers=["a"])
    for changed in (True, False):
        result = run(Module(path, settings_if_absent={"features": {"cdi": True}}), daemon)
        assert result["changed"] is changed and result["restart_required"] == ["features"]


def test_a_refused_reload_puts_the_file_back(path):
    path.write_text('{"labels":  ["a=b"]}')
    with pytest.raises(Failed, match="did not take over live-restore.*as it was found"):
        run(Module(path, settings={"live-restore": True}), Daemon(path, containers=["a"], refuses=["live-restore"]))
    assert path.read_text() == '{"labels":  ["a=b"]}'


def test_a_daemon_that_does_not_come_up_gets_its_old_file_back_and_runs(path):
    path.write_text('{"labels":  ["a=b"]}')
    daemon = Daemon(path, refuses=["mtu"])
    with pytest.raises(Failed, match="Docker runs with it again"):
        run(Module(path, settings={"mtu": 1400}), daemon)
    assert path.read_text() == '{"labels":  ["a=b"]}' and daemon.done == ["restart", "restart"]


def test_a_reload_of_what_the_daemon_does_not_show_asks_for_its_own_report(path):
    asked = []
    daemon = Daemon(path, containers=["a"])
    daemon.hangup = lambda satisfied, seconds, want_event=False: asked.append(want_event) or True
    run(Module(path, settings={"max-concurrent-downloads": 2}), daemon)
    run(Module(path, settings={"live-restore": True}), Daemon(path))
    assert asked == [True]


@pytest.mark.parametrize("before", ["", '{"live-restore" true}', '{"a": 1}{"b": 2}', "[]"])
def test_report_20_malformed_file_nothing_written_docker_left_alone(path, before):
    path.write_text(before)
    daemon = Daemon(path, containers=["a"])
    if not before:
        assert run(Module(path, settings={"live-restore": True}), daemon)["changed"]  # an empty file has no settings
        return
    with pytest.raises(module_code._daemon_text.DaemonConfigError, match="Nothing was written"):
        run(Module(path, settings={"live-restore": True}), daemon)
    assert path.read_text() == before and daemon.done == []


def test_report_21_swarm_node_live_restore_skipped_with_message(path):
    daemon = Daemon(path, swarm=True)
    result = run(Module(path, settings={"live-restore": True, "debug": False}), daemon)
    assert "live-restore" not in json.loads(path.read_text()) and "swarm" in result["left_out"][0]["reason"]


@pytest.mark.parametrize("settings, words", [
    ({"default-runtime": "nvidia"}, "runtimes does not define it"),
    ({"default-runtime": "nvidia", "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}, "does not exist"),
    ({"runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}}, "does not exist"),
    ({"hosts": ["fd://"]}, "flag -H of dockerd"),
    ({"live-restore": True}, "flag --live-restore"),
    ({"data-root": "/data"}, "3 images"),
])
def test_what_docker_would_choke_on_is_not_written(path, settings, words):
    daemon = Daemon(path, containers=["a"], flags=["--live-restore=false"] if "live-restore" in settings else [], Images=3)
    with pytest.raises(Failed, match=words):
        run(Module(path, settings=settings), daemon)
    assert not path.exists() and daemon.done == []


def test_somebody_elses_missing_runtime_is_a_warning(path):
    path.write_text('{"runtimes": {"kata": {"path": "/opt/kata"}}}')
    module = Module(path, settings={"live-restore": True})
    run(module, Daemon(path, Runtimes={"runc": {}, "kata": {}}))
    assert "kata (/opt/kata)" in module.warnings[0]


def test_a_default_runtime_that_was_there_and_whose_binary_went_is_named(path):
    """Ours or not: when the settings speak of it, it has to exist."""
    path.write_text('{"default-runtime": "kata", "runtimes": {"kata": {"path": "/opt/kata"}}}')
    with pytest.raises(Failed, match="kata"):
        run(Module(path, settings={"default-runtime": "kata"}), Daemon(path))


def test_a_hook_younger_than_the_daemon_waits_for_its_restart(path, tmp_path):
    hook = tmp_path / "hook"
    hook.write_text("")
    result = run(Module(path, settings={"live-restore": True}, read_at_start=[str(hook), "/nowhere"]), Daemon(path, containers=["a"]))
    assert result["restart_required"] == [str(hook)]


def test_the_pure_rules_are_those_of_the_table():
    assert _daemon_config.changed_keys({}, {"live-restore": True, "features": {}, "unheard-of": 1}) == {
        "reload": ["live-restore"], "restart": ["features", "unheard-of"]}
