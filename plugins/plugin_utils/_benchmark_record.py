# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a play said about benchmarks, host by host, and the files made of it.

PRIVATE to the collection. Knows nothing of Ansible's callback objects, so that it is
tested without Ansible; the callback only hands results over.
"""

from __future__ import annotations

import json
import re

from ansible_collections.indiaai.inference.plugins.plugin_utils import _comparison
from ansible_collections.indiaai.inference.plugins.plugin_utils._report.benchmark import benchmark_page

MODULE = "indiaai.inference.llm_benchmark"
FORMATS = ("html", "json")
REPORT_SCHEMA_VERSION = 1


class BenchmarkCollection:
    """Collects results of the module and turns them into reports.

    A record that was measured in this play wins over a stored one of the same label.
    """

    def __init__(self) -> None:
        self._measured = {}
        self._stored = {}
        self.problems = []

    def add(self, host: str, result: dict) -> None:
        """Take one result of the module, of a loop or a single one; anything else is left alone."""
        for item in result.get("results") or [result]:
            if not isinstance(item, dict) or item.get("skipped"):
                continue
            if "censored" in item:
                self.problems.append("%s: the benchmark ran with no_log, its record cannot be read" % host)
                continue
            for label, record in (item.get("stored") or {}).items():
                self._keep(self._stored, host, label, record)
            record = item.get("record")
            if isinstance(record, dict):
                self._keep(self._measured, host, record.get("label"), record)

    def hosts(self) -> list:
        """Hosts with at least one record, sorted."""
        return sorted(set(self._measured) | set(self._stored))

    def records(self, host: str) -> dict:
        """``{label: record}`` of one host."""
        found = dict(self._stored.get(host, {}))
        found.update(self._measured.get(host, {}))
        return found

    def comparison(self, host: str) -> dict:
        """The comparison of the records ``before`` and ``after`` of one host."""
        records = self.records(host)
        return _comparison.compare(records.get("before"), records.get("after"))

    def files(self, host: str, formats=FORMATS, label: str = "") -> dict:
        """``{file name: text}`` for one host. Without a record before or after there is no report."""
        records = self.records(host)
        found = {}
        reported = records.get("before") or records.get("after")
        if "json" in formats:
            for name, record in records.items():
                found[name + ".json"] = _json(record)
            if reported:
                found["report.json"] = _json({
                    "schema_version": REPORT_SCHEMA_VERSION, "host": host, "label": label,
                    "comparison": self.comparison(host), "table": self.table(host),
                })
        if "html" in formats and reported:
            found["report.html"] = benchmark_page(records.get("before"), records.get("after"), label)
        return found

    def table(self, host: str) -> list:
        """The lines for the terminal; empty without a record before or after."""
        records = self.records(host)
        if not (records.get("before") or records.get("after")):
            return []
        return _comparison.table_lines(self.comparison(host))

    def _keep(self, where: dict, host: str, label, record) -> None:
        if not isinstance(record, dict) or "levels" not in record or not isinstance(label, str):
            return
        if record.get("schema_version") != 1:
            self.problems.append("%s: the record '%s' has schema version %r, this report reads 1"
                                 % (host, label, record.get("schema_version")))
            return
        where.setdefault(host, {})[label] = record


def folder_name(host: str) -> str:
    """A host's name as a folder name: nothing in it leads out of the parent."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", host).lstrip(".")
    return name or "_"


def _json(document: dict) -> str:
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
