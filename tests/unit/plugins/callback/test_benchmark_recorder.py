# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback itself: it hands over the right results, writes atomically, and never breaks a play."""

from __future__ import annotations

import stat
import types

import pytest

from ansible_collections.indiaai.inference.plugins.callback import benchmark_recorder
from ansible_collections.indiaai.inference.tests.unit.plugins.plugin_utils.test_bench_samples import after, before

FQCN = "indiaai.inference.llm_benchmark"


class Display:
    def __init__(self):
        self.lines, self.warnings = [], []

    def banner(self, text):
        self.lines.append(text)

    def display(self, text):
        self.lines.append(text)

    def vvv(self, text):
        pass

    def warning(self, text):
        self.warnings.append(text)


@pytest.fixture(name="callback")
def callback_fixture(tmp_path):
    made = benchmark_recorder.CallbackModule()
    made._display = Display()
    options = {"output_dir": str(tmp_path / "reports"), "formats": ["html", "json"], "label": "", "show_table": True}
    made.get_option = options.__getitem__
    made.options = options
    return made


def host(name="llm1"):
    return types.SimpleNamespace(get_name=lambda: name)


def new_result(document, action=FQCN):
    return types.SimpleNamespace(host=host(), task=types.SimpleNamespace(resolved_action=action), result=document)


def old_result(document, action=FQCN):
    return types.SimpleNamespace(_host=host(), _task=types.SimpleNamespace(resolved_action=action), _result=document)


@pytest.mark.parametrize("make", [new_result, old_result])
def test_a_report_is_written(callback, tmp_path, make):
    callback.v2_runner_on_ok(make({"record": before()}))
    callback.v2_runner_on_ok(make({"record": after()}))
    callback.v2_runner_on_ok(make({"record": after(host="other")}, "other.collection.llm_benchmark"))
    callback.v2_playbook_on_stats(None)
    folder = tmp_path / "reports" / "llm1"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {"after.json": 0o600, "before.json": 0o600, "report.json": 0o600, "report.html": 0o644}
    assert callback._display.lines[0] == "BENCHMARK llm1"
    assert callback._display.lines[-1] == "Report: %s" % (folder / "report.html")
    assert any(line.startswith("Tokens/s, 16 users") for line in callback._display.lines)
    assert callback._display.warnings == []


def test_a_play_without_the_module_leaves_no_trace(callback, tmp_path):
    callback.v2_runner_on_ok(new_result({"changed": False}, "ansible.builtin.debug"))
    callback.v2_playbook_on_stats(None)
    assert callback._display.lines == [] and not (tmp_path / "reports").exists()


def test_check_mode_without_records_leaves_no_trace(callback, tmp_path):
    callback.v2_runner_on_ok(new_result({"measured": False, "stored": {"before": None, "after": None}}))
    callback.v2_playbook_on_stats(None)
    assert callback._display.lines == [] and not (tmp_path / "reports").exists()


def test_a_failed_task_that_has_a_record_is_reported(callback, tmp_path):
    callback.v2_runner_on_failed(new_result({"failed": True, "record": after()}), ignore_errors=False)
    callback.v2_playbook_on_stats(None)
    assert (tmp_path / "reports" / "llm1" / "report.html").exists()


def test_nothing_is_raised(callback, tmp_path):
    (tmp_path / "reports").write_text("a file where the folder should be")
    callback.v2_runner_on_ok(None)
    callback.v2_runner_on_ok(new_result({"record": after()}))
    callback.v2_playbook_on_stats(None)
    assert len(callback._display.warnings) == 2


def test_a_table_can_be_left_out(callback):
    callback.options["show_table"] = False
    callback.v2_runner_on_ok(new_result({"record": after()}))
    callback.v2_playbook_on_stats(None)
    assert len(callback._display.lines) == 2


def test_it_is_off_unless_enabled():
    assert benchmark_recorder.CallbackModule.CALLBACK_NEEDS_ENABLED
    assert benchmark_recorder.CallbackModule.CALLBACK_TYPE == "aggregate"
