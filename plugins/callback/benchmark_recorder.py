# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: benchmark_recorder
type: aggregate
short_description: Report what a server could do before a play and what it can do after
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Collects the records of M(indiaai.inference.llm_benchmark) from any play and writes, for each host, the records, the
    comparison as JSON and a report as one HTML file that needs nothing else to be read.
  - Prints the table of before and after at the end of the play.
  - A play that measured nothing is reported with the records that the host keeps. A play without the module leaves no trace.
requirements:
  - enable in configuration
options:
  output_dir:
    description: Folder on the control machine for the reports; each host gets a folder in it.
    type: path
    default: ./reports
    env:
      - name: INDIAAI_BENCHMARK_OUTPUT_DIR
    ini:
      - section: callback_benchmark_recorder
        key: output_dir
  formats:
    description: What to write. V(html) is the report, V(json) the records and the comparison.
    type: list
    elements: str
    choices: [html, json]
    default: [html, json]
    env:
      - name: INDIAAI_BENCHMARK_FORMATS
    ini:
      - section: callback_benchmark_recorder
        key: formats
  label:
    description: Text above the title of the report, for example the name of the department or a ticket.
    type: str
    default: ""
    env:
      - name: INDIAAI_BENCHMARK_LABEL
    ini:
      - section: callback_benchmark_recorder
        key: label
  show_table:
    description: Whether to print the table at the end of the play.
    type: bool
    default: true
    env:
      - name: INDIAAI_BENCHMARK_SHOW_TABLE
    ini:
      - section: callback_benchmark_recorder
        key: show_table
seealso:
  - module: indiaai.inference.llm_benchmark
"""

import functools
import os
import traceback

from ansible.plugins.callback import CallbackBase

from ansible_collections.indiaai.inference.plugins.module_utils._bench_store import write_atomically
from ansible_collections.indiaai.inference.plugins.plugin_utils._benchmark_record import (
    MODULE,
    BenchmarkCollection,
    folder_name,
)

REPORT = "report.html"


def never_raises(hook):
    """A report must not break the play that it reports on: failures become warnings."""

    @functools.wraps(hook)
    def guarded(self, *args, **kwargs):
        try:
            return hook(self, *args, **kwargs)
        except Exception as exc:  # pylint: disable=broad-except
            self._display.warning("benchmark_recorder: %s: %s" % (type(exc).__name__, exc))
            self._display.vvv(traceback.format_exc())
            return None

    return guarded


def part(result, name):
    """A part of a task result: ``result.task`` since ansible-core 2.19, ``result._task`` before."""
    value = getattr(result, name, None)
    return value if value is not None else getattr(result, "_" + name)


class CallbackModule(CallbackBase):
    """Hands results of the benchmark to the collection and writes its files at the end."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "indiaai.inference.benchmark_recorder"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.collection = BenchmarkCollection()

    @never_raises
    def v2_runner_on_ok(self, result):
        self._collect(result)

    @never_raises
    def v2_runner_on_failed(self, result, ignore_errors=False):
        self._collect(result)

    @never_raises
    def v2_playbook_on_stats(self, stats):
        for problem in self.collection.problems:
            self._display.warning("benchmark_recorder: " + problem)
        for host in self.collection.hosts():
            self._report(host)

    def _collect(self, result):
        if getattr(part(result, "task"), "resolved_action", None) != MODULE:
            return
        document = part(result, "result")
        if isinstance(document, dict):
            self.collection.add(part(result, "host").get_name(), document)

    def _report(self, host):
        files = self.collection.files(host, self.get_option("formats"), self.get_option("label"))
        folder = os.path.join(os.path.abspath(os.path.expanduser(self.get_option("output_dir"))), folder_name(host))
        lines = self.collection.table(host) if self.get_option("show_table") else []
        if files:
            os.makedirs(folder, mode=0o755, exist_ok=True)
            for name, text in sorted(files.items()):
                write_atomically(os.path.join(folder, name), text, 0o644 if name == REPORT else 0o600)
            lines.append("Report: %s" % os.path.join(folder, REPORT if REPORT in files else ""))
        if lines:
            self._display.banner("BENCHMARK %s" % host)
            for line in lines:
                self._display.display(line)
