# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark report: one host, what it could do before and what it can do now.

PRIVATE to the collection. Pure: records in, a page out. Figures and judgements come from
``_comparison``; this file only decides how they are shown.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils import _bench
from ansible_collections.indiaai.inference.plugins.plugin_utils import _comparison
from ansible_collections.indiaai.inference.plugins.plugin_utils._report import charts, components
from ansible_collections.indiaai.inference.plugins.plugin_utils._report.markup import element, join

_TONE = {"better": "good", "worse": "bad", "same": "neutral", "unknown": "neutral"}

METHOD = [
    ("Load", "Closed loop: each user sends the next request when the last one is answered. The prompts are the same in every "
             "record with the same seed, no two are alike, and their opening words are new in every run, so that no cache "
             "of an earlier prompt can answer them."),
    ("Time to first token", "From the moment a user begins to send, connection and handshake included where one is needed, "
                            "to the first piece of text. Comments and the announcement of the role do not count."),
    ("Time per output token", "From the first token to the last, divided by the tokens after the first."),
    ("Tokens/s", "Output tokens of all answered requests, as the server's own usage report counts them, divided by the "
                 "duration of the level. Tokens/s per user is the median over requests, waiting included."),
    ("Concurrent users", "The highest measured number of users, counted upwards without a gap, at which every request was "
                         "answered, the 95th percentile of the time to first token is inside the limit named above, and "
                         "users do not simply queue behind one another."),
    ("Percentiles", "Interpolated linearly between the closest ranks, over answered requests. A p99 of fewer than a hundred "
                    "requests is close to the slowest of them."),
    ("Gateway overhead", "Requests with one user, alternating between the engine and the gateway; the difference of the "
                         "median times to first token."),
    ("Times better", "After divided by before where more is better, before divided by after where less is better. "
                     "Differences below 5 % are called equal."),
]


def benchmark_page(before: dict | None, after: dict | None, label: str = "") -> str:
    """The report of one host as a document; at least one of the records must be given."""
    comparison = _comparison.compare(before, after)
    records = [record for record in (before, after) if record]
    sections = [
        *_notices(comparison),
        _headline(comparison),
        _article_table(comparison),
        _charts(comparison, before, after),
    ]
    if any(record.get("gateway_overhead") for record in records):
        sections.append(_gateway(records))
    sections += [_configuration(comparison, before, after), _measured(records)]
    sections += [_percentiles(record) for record in records]
    sections += [_method(comparison), _raw(records)]
    return components.page(
        comparison["title"], sections, eyebrow=label or "Benchmark report", subtitle=comparison["headline"],
        badges=_badges(comparison, records),
        footer="Made by the Ansible collection indiaai.inference from records of schema version %s."
               % records[-1]["schema_version"])


def _badges(comparison: dict, records: list) -> list:
    found = []
    if comparison["stub"]:
        found.append(components.badge("STUB", "bad"))
    found += [components.badge(text.rstrip("."), "warn") for text in comparison["captions"]]
    if len(records) == 2:
        found.append(components.badge("Same workload", "good") if comparison["comparable"]
                     else components.badge("Not comparable", "bad"))
    for record in records:
        found.append(components.badge("%s: %s" % (record["label"], record["created_at"].replace("T", " ").replace("Z", " UTC"))))
    return found


def _notices(comparison: dict) -> list:
    found = []
    if comparison["stub"]:
        found.append(components.notice(
            "This was measured against the stub of the test suite. It shows that measuring works; the figures say nothing "
            "about any engine.", "bad", "STUB."))
    for reason in comparison["reasons"]:
        found.append(components.notice(reason, "warn"))
    return found


def _headline(comparison: dict) -> object:
    rows = comparison["rows"]
    rates = [row for row in rows if row["key"].startswith("throughput_") and row["key"] != "throughput_best"]
    waits = [row for row in rows if row["key"].startswith("ttft_")]
    chosen = rates[-1:] + (rates[:1] if len(rates) > 1 else []) + waits[-1:] + [row for row in rows if row["key"] == "users"]
    found = []
    for row in chosen:
        now = row["after"] if row["after"] is not None else row["before"]
        was = "was %s" % _comparison.shown(row["before"], row["unit"]) if None not in (row["before"], row["after"]) else ""
        ratio = ""
        if row["ratio"] is not None:
            ratio = _comparison.shown_ratio(row["ratio"]) + {"better": " better", "worse": ""}.get(row["verdict"], "")
        found.append(components.card(row["metric"], _comparison.shown(now, row["unit"]), before=was, ratio=ratio,
                                     tone=_TONE[row["verdict"]]))
    return components.cards(found)


def _article_table(comparison: dict) -> object:
    rows = [
        (row["metric"], _comparison.shown(row["before"], row["unit"]), _comparison.shown(row["after"], row["unit"]),
         element("span", _comparison.shown_ratio(row["ratio"]), class_=row["verdict"] if row["ratio"] is not None else "muted"),
         element("span", row["note"], class_="muted"))
        for row in comparison["rows"]
    ]
    return components.section(
        "Before and after",
        components.table(["Metric", "Before", "After", "Times better", "Remark"], rows, numeric=(1, 2, 3)),
        intro="The gain with one user stands beside the gain with many: they come from different causes. "
              "A dash means that there is nothing to compare.")


def _charts(comparison: dict, before: dict | None, after: dict | None) -> object:
    levels = comparison["levels"]
    users = ["%d" % level["concurrency"] for level in levels]
    sides = [(side, record) for side, record in (("before", before), ("after", after)) if record]

    def values(side, *path):
        return [_dig(level[side], path) for level in levels]

    rates = [{"name": side, "tone": side, "values": values(side, "output_tokens_per_second")} for side, dummy in sides]
    waits = [{"name": side + ", median", "tone": side, "values": values(side, "ttft_ms", "p50")} for side, dummy in sides]
    waits += [{"name": side + ", p95", "tone": side, "dashed": True, "values": values(side, "ttft_ms", "p95")}
              for side, dummy in sides]
    known = [value for item in waits for value in item["values"] if value]
    wide = bool(known) and max(known) / min(known) > 20
    return components.section(
        "By number of users",
        components.figure(
            charts.bar_chart("Tokens per second by number of users", users, rates, "users at once", "tokens/s", _axis_number),
            _level_table(levels, sides, ("output_tokens_per_second",), "tok/s", "throughput_ratio", "Tokens/s"),
            "Throughput of the whole server", "tokens/s"),
        components.figure(
            charts.line_chart("Time to first token by number of users", users, waits, "users at once", "", _axis_time, log=wide),
            _level_table(levels, sides, ("ttft_ms", "p50"), "ms", "ttft_ratio", "Time to first token, median"),
            "How long a user waits for the first word", "time to first token, logarithmic scale" if wide else "time to first token"))


def _level_table(levels: list, sides: list, path: tuple, unit: str, ratio: str, caption: str) -> object:
    rows = []
    for level in levels:
        row = ["%d" % level["concurrency"]]
        row += [_comparison.shown(_dig(level[side], path), unit) for side, dummy in sides]
        if len(sides) == 2:
            row.append(_comparison.shown_ratio(level[ratio]))
        rows.append(row)
    headers = ["Users"] + [side.capitalize() for side, dummy in sides] + (["Times better"] if len(sides) == 2 else [])
    return components.table(headers, rows, numeric=tuple(range(1, len(headers))), caption=caption)


def _gateway(records: list) -> object:
    rows = []
    for record in records:
        overhead = record.get("gateway_overhead")
        if not overhead:
            continue
        for name, key in (("engine", "direct_ttft_ms"), ("through the gateway", "gateway_ttft_ms")):
            rows.append(["%s, %s" % (record["label"], name)] + [
                _comparison.shown(overhead[key][part], "ms") for part in ("p50", "p90", "p95", "mean")])
        paired = overhead["paired_ms"]
        rows.append(["%s, added by the gateway" % record["label"], _comparison.shown(overhead["added_ms_p50"], "ms"), "", "",
                     ""])
        remark = "%d pairs of alternating requests with one user. Half of the differences inside a pair lie between %s and %s." % (
            overhead["requests"], _comparison.shown(paired["p25"], "ms"), _comparison.shown(paired["p75"], "ms"))
    return components.section(
        "What the gateway adds",
        components.table(["Time to first token", "p50", "p90", "p95", "Mean"], rows, numeric=(1, 2, 3, 4)), intro=remark)


def _configuration(comparison: dict, before: dict | None, after: dict | None) -> object:
    if not before or not after:
        return ""
    rows = [(item["name"], item["area"], components.plain(item["before"]), components.plain(item["after"]))
            for item in comparison["configuration"]]
    content = (components.table(["Setting", "Part", "Before", "After"], rows) if rows
               else components.paragraph("Nothing that the records know of."))
    return components.section(
        "What differs between the two", content,
        intro="Every difference of configuration that the two records hold. The gain belongs to all of them together.")


def _measured(records: list) -> object:
    facts = [_facts(record) for record in records]
    rows = [[name] + [fact[number][1] for fact in facts] for number, (name, dummy) in enumerate(facts[0])]
    return components.section(
        "What was measured", components.table([""] + [record["label"].capitalize() for record in records], rows))


def _facts(record: dict) -> list:
    engine, host, load = record["engine"], record["host_facts"], record["workload"]
    gpus = (record.get("gpu") or {}).get("gpus") or []
    return [
        ("Endpoint", element("code", "%s (%s, %s)" % (
            record["endpoint"]["url"], record["endpoint"]["api"],
            "through the gateway" if record["endpoint"]["via"] == "gateway" else "direct"))),
        ("Model", record["endpoint"]["model"]),
        ("Engine", " ".join(str(part) for part in (engine.get("name"), engine.get("version")) if part) or "not known"),
        ("Image", components.plain(engine.get("image") or "not known")),
        ("GPU", ", ".join("%s, %s" % (gpu.get("name"), _comparison.shown(gpu.get("memory_total_mib"), "MiB")) for gpu in gpus)
            or "none"),
        ("Host", "%s CPUs%s, %s memory, kernel %s" % (
            host["cpu_count"], " (%s)" % host["cpu_model"] if host.get("cpu_model") else "",
            _comparison.shown(host["memory_total_mib"], "MiB"), host["kernel"])),
        ("Workload", "%s: prompts of about %s tokens, answers of %s, %s requests a level, seed %s" % (
            load["name"], load["prompt_tokens_target"], load["max_tokens"], load["requests_per_level"], load["seed"])),
        ("Limit for the first token", _comparison.shown(load.get("slo_ttft_ms"), "ms")),
        ("Users at once", _users(record)),
        ("CPU used by the client", "%s %% of one core" % record["client"]["cpu_percent"]),
    ]


def _users(record: dict) -> str:
    found = _bench.concurrent_users(record["levels"], record["workload"].get("slo_ttft_ms") or 5000)
    return "%d (%s)" % (found["value"], found["limited_by"] or "the highest number measured; no limit was found")


def _percentiles(record: dict) -> object:
    parts = ("p50", "p90", "p95", "p99")
    rows = []
    for level in record["levels"]:
        failed = _bench.error_count(level) + level.get("cut_off", 0)
        row = ["%d" % level["concurrency"], "%d" % level["requests"], "%d" % failed]
        for name in ("ttft_ms", "time_per_output_token_ms", "end_to_end_ms"):
            row += [_cell(level[name][part]) for part in parts]
        row += [_cell(level["output_tokens_per_second"]), _cell(level["output_tokens_per_second_per_user_p50"])]
        rows.append(row)
    headers = ["Users", "Requests", "Failed"] + list(parts) * 3 + ["server", "user p50"]
    kinds = {}
    for level in record["levels"]:
        for kind, number in level["errors"].items():
            kinds[kind] = kinds.get(kind, 0) + number
    errors = components.paragraph("Failures by kind: " + ", ".join("%s %d" % item for item in sorted(kinds.items())) + ".")
    return components.section(
        "Every level, %s" % record["label"],
        components.table(headers, rows, numeric=tuple(range(1, len(headers))),
                         groups=[("", 3), ("Time to first token, ms", 4), ("Time per output token, ms", 4),
                                 ("Whole answer, ms", 4), ("Tokens/s", 2)], dense=True),
        errors if kinds else "")


def _method(comparison: dict) -> object:
    caveats = comparison["caveats"] + comparison["captions"]
    return components.section(
        "Method and caveats",
        join((element("h3", "Keep in mind"), components.bullets(caveats))) if caveats else "",
        element("h3", "How it was measured"), components.definitions(METHOD))


def _raw(records: list) -> object:
    return components.section(
        "The records", *[components.details("Record '%s' as JSON" % record["label"], components.data(record)) for record in records],
        intro="Everything above is computed from these documents.")


def _dig(document, path: tuple):
    for name in path:
        document = document.get(name) if document else None
    return document


def _cell(value) -> str:
    return _comparison.shown(value, "")


def _axis_number(value: float) -> str:
    return "%g" % value if abs(value) < 10 and value != int(value) else "{:,.0f}".format(value)


def _axis_time(value: float) -> str:
    if value >= 1000:
        return "%.3g s" % (value / 1000.0)
    return "%.3g ms" % value
