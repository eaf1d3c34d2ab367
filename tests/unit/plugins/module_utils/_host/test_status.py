# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The merged picture: systemd's text, Docker's answers and the engine's."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import cli, container, health, status, units
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import specs

SHOW = """Id=inference-engine@demo.service
LoadState=loaded
ActiveState=active
SubState=running
StatusText=ready
NRestarts=2
Result=success
UnitFileState=enabled
MainPID=77

Id=inference-engine@old.service
LoadState=loaded
ActiveState=failed
SubState=failed
StatusText=a=b
NRestarts=0
Result=exit-code
UnitFileState=disabled
MainPID=0
"""


def running(spec):
    return {
        "Id": "abc", "Name": "/inference-demo", "State": {"Running": True, "StartedAt": "2026-01-01T00:00:00.123456789Z"},
        "Config": {"Labels": container.labels(spec)},
    }


def test_the_output_of_systemctl_is_taken_apart():
    found = status.parse_show(SHOW)
    assert found["inference-engine@demo.service"]["NRestarts"] == "2"
    assert found["inference-engine@old.service"]["StatusText"] == "a=b"
    assert status.parse_show("") == {}


def test_engines_are_found_wherever_they_left_a_trace():
    listed = [{"Labels": {container.MANAGED: "true", container.ENGINE: "stray"}}, {"Labels": {container.MANAGED: "true"}}, {"Labels": None}]
    assert status.slugs(["spec"], status.parse_show(SHOW), listed) == ["demo", "old", "spec", "stray"]


def test_a_healthy_engine():
    spec = specs.complete()
    view = status.engine_view("demo", spec, status.parse_show(SHOW)["inference-engine@demo.service"], running(spec), health.Answer(True, ""), {})
    assert view["active"] == "active" and view["healthy"] and view["restarts"] == 2 and view["config_current"]
    assert view["container"] == {"id": "abc", "running": True, "started_at": "2026-01-01T00:00:00.123456789Z"}
    assert view["url"] == "http://127.0.0.1:30000" and view["model"] == "demo" and view["warnings"] == []


def test_a_container_without_its_unit_and_with_an_old_configuration():
    spec = specs.complete()
    view = status.engine_view("demo", spec, {"ActiveState": "failed"}, running(specs.complete(command=["x"])), None, {"reason": "hung"})
    assert [words for words in ("runs without its unit", "older configuration") if any(words in w for w in view["warnings"])] == [
        "runs without its unit", "older configuration"]
    assert view["failure"] == "hung" and not view["healthy"] and not view["config_current"]


def test_an_engine_that_is_only_a_container():
    view = status.engine_view("demo", None, {}, running(specs.complete()), None, {})
    assert view["url"] == "http://127.0.0.1:30000" and view["model"] is None and view["devices"] == ["cpu"]
    assert "no longer configured" in view["warnings"][0]


def test_the_table_is_aligned_and_tells_what_needs_a_look():
    spec = specs.complete()
    shown = status.parse_show(SHOW)
    loading = {"ActiveState": "activating", "SubState": "start", "StatusText": "loading for 3 s"}
    engines = [
        status.engine_view("demo", spec, shown["inference-engine@demo.service"], running(spec), health.Answer(True, ""), {}),
        status.engine_view("a-long-name", None, loading, None, None, {"reason": "why"}),
    ]
    doc = status.document(engines, {"container": None, "socket": "/s", "listening": False}, ["a note"])
    lines = status.table(doc).splitlines()
    assert lines[0].split() == ["ENGINE", "STATE", "HEALTHY", "RESTARTS", "STARTED", "URL", "MODEL"]
    assert lines[0].index("STATE") == lines[1].index("active") == lines[2].index("activating")
    assert "2026-01-01T00:00:00Z" in lines[1]
    assert "Gateway: not running, socket not listening" in lines
    assert lines[-4:] == ["a-long-name: why", "a-long-name: no specification: the engine is no longer configured", "a-long-name: loading for 3 s", "a note"]
    json.dumps(doc)


def test_nothing_there():
    assert status.table(status.document([], None, ["No plan"])) == "No engines.\n\nNo plan"


@pytest.mark.parametrize("arguments", [[], ["run"], ["run", "a/b"], ["run", "a@b"], ["unknown"], ["status", "--xml"]])
def test_wrong_use_is_exit_code_2(arguments, capsys):
    with pytest.raises(SystemExit) as error:
        cli.main(arguments)
    assert error.value.code == cli.USAGE and "inferctl" in capsys.readouterr().err


def test_version(capsys):
    assert cli.main(["version"]) == cli.OK
    assert capsys.readouterr().out.startswith("inferctl 1.0.0 (")


def test_the_unit_follows_the_measured_rules():
    text = units.ENGINE_UNIT
    for line in ("Type=notify", "NotifyAccess=main", "KillMode=mixed", "Restart=on-failure", "Wants=docker.service", "PartOf=ai-stack.target",
                 "ExecStart=/usr/local/bin/inferctl run %i", "ExecStopPost=-/usr/local/bin/inferctl post %i", "WatchdogSec=60",
                 "RestartPreventExitStatus=%d" % cli.CONFIG, "WantedBy=ai-stack.target"):
        assert line in text.splitlines()
    assert "Requires=" not in text and "RestartSteps" not in text
    assert "DefaultDependencies=no" in units.TARGET.splitlines()
