"""The test suite's runner and the disposable servers: what can be told without starting anything."""
from __future__ import annotations

import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests" / "tools"), str(ROOT / "tests" / "machines")]

from runner import places, plan, prepare, pythons, report  # noqa: E402  pylint: disable=wrong-import-position
from servers import capabilities, image, names, server  # noqa: E402  pylint: disable=wrong-import-position
from servers.shell import MachineError  # noqa: E402  pylint: disable=wrong-import-position


def result(name, outcome, seconds=0.0):
    return report.Result(name, outcome, seconds)


def test_last_line_counts_tests_and_not_preparation():
    results = [result("environment", report.DONE), result("a", report.PASSED), result("b", report.FAILED), result("c", report.PASSED)]
    assert report.table(results, 1.0).splitlines()[-1] == "2 passed, 1 failed"


def test_what_did_not_run_is_counted_apart():
    results = [result("a", report.PASSED), result("b", report.ABSENT), result("c", report.SKIPPED)]
    assert report.summary(results) == "1 passed, 0 failed, 2 skipped"


def test_table_begins_with_the_slowest():
    lines = report.table([result("quick", report.PASSED, 1), result("slow", report.FAILED, 9)], 10).splitlines()
    assert [line.split()[0] for line in lines[2:4]] == ["slow", "quick"]


def test_site_comes_last_and_alone():
    stages = plan.chosen(["test"])
    assert [stage.name for stage in stages if stage.alone] == ["molecule-site"]
    assert stages[-1].name == "molecule-site"


def test_a_stage_named_twice_runs_once():
    found = [stage.name for stage in plan.chosen(["unit", "check", "unit"])]
    assert len(found) == len(set(found)) and "unit-second" in found


def test_unknown_stage_names_the_known_ones():
    with pytest.raises(MachineError, match="no stage 'lnit'.*lint"):
        plan.chosen(["lnit"])


def test_shims_leave_the_path_and_nothing_else_does():
    path = "/root/.pyenv/shims:/usr/bin:/root/.pyenv/versions/3.11.7/bin:/opt/pyenvironment/bin:/bin"
    assert pythons.without_shims(path) == "/usr/bin:/opt/pyenvironment/bin:/bin"


def test_both_forms_of_a_name_mean_one_server():
    assert names.container_name("node1") == names.container_name("indiaai-node1") == "indiaai-node1"
    assert names.server_label("node1") == names.server_label("indiaai-node1")


def test_image_key_follows_its_inputs_and_its_parent(tmp_path, monkeypatch):
    monkeypatch.setattr(image, "SOURCES", tmp_path)
    (tmp_path / "a").write_text("one")
    first = image.inputs_hash("a")
    assert image.inputs_hash("a") == first
    assert image.inputs_hash("a", parent="other") != first
    (tmp_path / "a").write_text("two")
    assert image.inputs_hash("a") != first


def test_a_server_is_never_privileged_and_every_right_has_a_reason():
    command = server._create_command(server.Wanted("x", memory="1g"), "indiaai-x", "volume")  # pylint: disable=protected-access
    assert "--privileged" not in command and command[-1] == names.BARE_IMAGE
    assert command.count("--cap-add") == len(capabilities.CAPABILITIES)
    assert all(len(reason) > 20 for table in (capabilities.CAPABILITIES, capabilities.SECURITY_OPTIONS) for reason in table.values())


def test_stores_that_scenarios_ask_for_are_known_beforehand(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "ROOT", tmp_path)
    (tmp_path / "molecule" / "x").mkdir(parents=True)
    (tmp_path / "molecule" / "x" / "molecule.yml").write_text("platforms:\n  - name: a\n    engine_store: stub\n  - engine_store: none\n")
    assert prepare.engine_stores("molecule-x") == ["stub"]
    assert prepare.engine_stores("galaxy") == prepare.engine_stores("molecule-y") == []
