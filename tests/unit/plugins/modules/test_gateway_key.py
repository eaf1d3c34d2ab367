# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module: a secret goes to its file and nowhere else, and one that cannot be kept is taken back."""

from __future__ import annotations

import json
import os
import stat

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _docker_exec
from ansible_collections.indiaai.inference.plugins.modules import gateway_key

SECRET = "sk-ind-AbcdEfghIjklMnopQrstUvwxYz0123456789wxyz"


class Stop(Exception):
    """The module ended."""


class Gateway:
    """The command line in the container."""

    def __init__(self, *names):
        self.names = list(names)
        self.calls = []
        self.fails = False

    def run(self, _api, container, argv, timeout=60):
        assert container == "inference-gateway" and argv[:3] == ["python3", "-m", "indiaai_gateway"]
        arguments = argv[3:]
        self.calls.append(arguments[1])
        if self.fails:
            raise _docker_exec.ExecFailed("there is no container inference-gateway")
        if arguments[1] == "list":
            return 0, json.dumps([self._key(name) for name in self.names]), ""
        if arguments[1] == "create":
            self.names.append(arguments[2])
            return 0, json.dumps(dict(self._key(arguments[2]), secret=SECRET)), ""
        if arguments[1] == "delete":
            self.names.remove(arguments[2])
        return 0, "", ""

    @staticmethod
    def _key(name):
        return {"name": name, "models": ["*"], "enabled": True, "expires_at": None, "prefix": "sk-ind-Abcd", "last4": "wxyz"}


@pytest.fixture(name="run")
def run_fixture(tmp_path, monkeypatch):
    """Run the module against a gateway -> its result; failures have the key "failed"."""
    plain_write = gateway_key.atomic.write
    monkeypatch.setattr(gateway_key.atomic, "write", lambda path, data, mode, uid, gid: plain_write(path, data, mode))

    def run(gateway, keys, check_mode=False):
        results = []

        class Module:
            no_log_values = set()

            def __init__(self, argument_spec, supports_check_mode):
                defaults = {name: option["default"] for name, option in argument_spec["keys"]["options"].items() if "default" in option}
                self.params = {"keys": [dict(defaults, **key) for key in keys], "secret_dir": str(tmp_path / "keys"),
                               "container": "inference-gateway", "docker_socket": "/nowhere"}
                self.check_mode = check_mode

            def exit_json(self, **result):
                results.append(result)
                raise Stop

            def fail_json(self, **result):
                results.append(dict(result, failed=True))
                raise Stop

        monkeypatch.setattr(gateway_key, "AnsibleModule", Module)
        monkeypatch.setattr(gateway_key._docker_exec, "run", gateway.run)
        with pytest.raises(Stop):
            gateway_key.main()
        return results[0]

    return run


def test_a_new_keys_secret_is_in_its_file_only(run, tmp_path):
    result = run(Gateway(), [{"name": "health"}])
    path = tmp_path / "keys" / "health.key"
    assert result["changed"] and result["actions"] == ["create health"]
    assert path.read_text(encoding="utf-8") == SECRET + "\n"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and stat.S_IMODE(os.stat(path.parent).st_mode) == 0o700
    assert SECRET not in json.dumps(result)
    shown = {"name": "health", "display": "sk-ind-Abcd…wxyz", "models": ["*"], "enabled": True, "expires_at": None, "secret_file": str(path)}
    assert result["gateway_keys"] == [shown]


def test_the_second_run_asks_once_and_changes_nothing(run):
    gateway = Gateway("health")
    result = run(gateway, [{"name": "health"}, {"name": "gone", "state": "absent"}])
    assert not result["changed"] and gateway.calls == ["list"]
    assert result["gateway_keys"][0]["secret_file"] is None


def test_a_secret_that_cannot_be_kept_is_taken_back(run, tmp_path, monkeypatch):
    gateway = Gateway()

    def full(*_arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gateway_key.atomic, "write", full)
    result = run(gateway, [{"name": "health"}])
    assert result["failed"] and "No space" in result["msg"] and SECRET not in json.dumps(result)
    assert gateway.names == [] and gateway.calls == ["list", "create", "delete"]


def test_a_deleted_keys_file_goes_too(run, tmp_path):
    gateway = Gateway()
    run(gateway, [{"name": "health"}])
    result = run(gateway, [{"name": "health", "state": "absent"}])
    assert result["actions"] == ["delete health"] and not (tmp_path / "keys" / "health.key").exists()


def test_check_mode_only_looks(run, tmp_path):
    gateway = Gateway("pilot")
    result = run(gateway, [{"name": "health"}, {"name": "pilot", "state": "absent"}], check_mode=True)
    assert result["changed"] and result["actions"] == ["create health", "delete pilot"] and gateway.calls == ["list"]
    assert not (tmp_path / "keys").exists()


def test_without_a_gateway_check_mode_goes_on_and_a_real_run_fails(run):
    gateway = Gateway()
    gateway.fails = True
    assert run(gateway, [{"name": "health"}], check_mode=True)["actions"] == ["create health"]
    result = run(gateway, [{"name": "health"}])
    assert result["failed"] and "inference-gateway" in result["msg"]


def test_a_wrong_key_is_refused_before_anything_is_asked(run):
    gateway = Gateway()
    assert run(gateway, [{"name": "a b"}])["failed"] and gateway.calls == []
