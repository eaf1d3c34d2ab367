# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The engines' files: a key made once and never shown, a way back that survives any number of failed changes."""

from __future__ import annotations

import json
import os
import stat

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _engine_files as files
from ansible_collections.indiaai.inference.plugins.modules import engine_spec

DELIVERY = {"format": "yaml", "option": "api-key"}


def spec(slug="demo", port=30000):
    return {"slug": slug, "name": slug, "container": "inference-" + slug, "port": port, "key_file": "/x/%s.key" % slug, "mounts": [{"source": "/m"}]}


class Module:
    """As much of AnsibleModule as the folder uses."""

    def __init__(self, directory, check_mode=False):
        self.params = {"directory": str(directory), "docker_socket": str(directory / "no.sock")}
        self.check_mode = check_mode
        self.commands = []

    def run_command(self, argv):
        self.commands.append(argv)
        return 0, "", ""


@pytest.fixture(name="folder")
def folder_fixture(tmp_path, monkeypatch):
    """The folder of a host, for tests that do not run as root."""
    plain_write = engine_spec.atomic.write
    monkeypatch.setattr(engine_spec.atomic, "write", lambda path, text, mode, uid, gid: plain_write(path, text, mode=mode))
    monkeypatch.setattr(engine_spec, "_private", lambda path: not stat.S_IMODE(os.stat(path).st_mode) & 0o077)
    directory = tmp_path / "engines"
    directory.mkdir(mode=0o700)
    return engine_spec.EngineFolder(Module(directory))


def content(folder, name):
    with open(os.path.join(folder.path, name), encoding="utf-8") as handle:
        return handle.read()


def test_first_time(folder):
    assert folder.ensure_engine(spec(), DELIVERY) is True
    key = content(folder, "demo.key").strip()
    assert len(key) == 64 and int(key, 16)
    assert content(folder, "demo.secret.yaml") == 'api-key: "%s"\n' % key
    assert json.loads(content(folder, "demo.json")) == spec()
    for name in os.listdir(folder.path):
        assert stat.S_IMODE(os.stat(os.path.join(folder.path, name)).st_mode) == 0o600
    assert key not in json.dumps([folder.before, folder.after])


def test_the_key_stays(folder):
    folder.ensure_engine(spec(), DELIVERY)
    key = content(folder, "demo.key")
    assert folder.ensure_engine(spec(), DELIVERY) is False
    assert folder.ensure_engine(spec(port=30001), DELIVERY) is True
    assert content(folder, "demo.key") == key


def test_a_key_somebody_made_readable_is_closed_again(folder):
    folder.ensure_engine(spec(), DELIVERY)
    os.chmod(os.path.join(folder.path, "demo.key"), 0o644)
    folder.ensure_engine(spec(), DELIVERY)
    assert stat.S_IMODE(os.stat(os.path.join(folder.path, "demo.key")).st_mode) == 0o600


def test_a_new_key_starts_the_engine_anew(folder):
    folder.ensure_engine(spec(), DELIVERY)
    os.unlink(os.path.join(folder.path, "demo.key"))
    assert folder.ensure_engine(spec(), DELIVERY) is True


def complete(**changes):
    parts = {"schema_version": 1, "image": "a:1", "command": ["--port", "30000"], "served_model": "demo", "devices": ["cpu"]}
    readiness = {"readiness": {"request": {"path": "/v1/chat/completions", "body": {}}}}
    return dict(spec(), mounts=[{"source": "/m", "target": "/model"}], **dict(parts, **dict(readiness, **changes)))


def test_time_limits_are_no_reason_to_start_an_engine_anew(folder):
    folder.ensure_engine(complete(), DELIVERY)
    os.unlink(files.pending_path(folder.path, "demo"))
    assert folder.ensure_engine(complete(drain={"drain_seconds": 300}), DELIVERY) is True
    assert folder.pending("demo") is None
    assert folder.ensure_engine(complete(command=["--port", "1"]), DELIVERY) is True
    assert json.loads(folder.pending("demo")["previous"])["drain"] == {"drain_seconds": 300}


def test_the_way_back_is_the_last_that_answered(folder):
    folder.ensure_engine(spec(port=1), DELIVERY)
    os.unlink(files.pending_path(folder.path, "demo"))  # it answered
    folder.ensure_engine(spec(port=2), DELIVERY)
    folder.ensure_engine(spec(port=3), DELIVERY)  # the second never answered
    assert folder.roll_back("demo") == "restored"
    assert json.loads(content(folder, "demo.json"))["port"] == 1
    assert folder.pending("demo") == {"previous": None, "applied": False}


def test_an_engine_that_never_answered_is_stopped(folder):
    folder.ensure_engine(spec(), DELIVERY)
    stopped = []
    folder.stop = lambda slug, container: stopped.append((slug, container))
    assert folder.roll_back("demo") == "stopped"
    assert stopped == [("demo", "inference-demo")]


def test_an_engine_without_a_change_is_left_alone(folder):
    folder.ensure_engine(spec(), DELIVERY)
    os.unlink(files.pending_path(folder.path, "demo"))
    assert folder.roll_back("demo") == "kept"


def test_check_mode_writes_nothing(folder):
    folder.check = True
    assert folder.ensure_engine(spec(), DELIVERY) is True
    assert os.listdir(folder.path) == []
    assert folder.after["demo"] == spec()


def test_removal_takes_all_files_of_one_engine(folder):
    folder.ensure_engine(spec(), DELIVERY)
    folder.ensure_engine(spec("other"), DELIVERY)
    folder.stop = lambda slug, container: True
    folder.remove("demo")
    assert folder.slugs() == ["other"]
    assert not [name for name in os.listdir(folder.path) if name.startswith("demo")]


def test_missing_sources(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "good").mkdir()
    (tmp_path / "good/config.json").write_text("{}", encoding="utf-8")
    engines = [dict(spec(name), mounts=[{"source": str(tmp_path / name)}]) for name in ("good", "empty", "absent")]
    problems = engine_spec.missing_sources(engines)
    assert len(problems) == 2
    assert "empty holds no config.json" in problems[0]
    assert "absent is not a folder on this host" in problems[1]
    assert all("inference_models[].source" in problem for problem in problems)


def test_a_damaged_record_is_one_without_a_way_back():
    for text in ("", "{", "[]", "null"):
        assert files.read_pending(text) == {"previous": None, "applied": False}


def test_an_unknown_delivery():
    with pytest.raises(ValueError, match="toml"):
        files.secret_text("x", {"format": "toml", "option": "k"})


def test_a_key_is_quoted():
    assert files.secret_text('a"b: #c', DELIVERY) == 'api-key: "a\\"b: #c"\n'
