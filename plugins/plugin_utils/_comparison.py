# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two benchmark records side by side: the figures, and everything else that differs.

PRIVATE to the collection. Pure: records in, plain data or lines of text out.

A row is ``{"key", "metric", "unit", "before", "after", "ratio", "better", "verdict", "note"}``.
``ratio`` says how many times better "after" is, whichever direction is better: 4.0 is four
times the throughput or a quarter of the waiting time. It is None where one side is missing
or where the two were not the same workload.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils import _bench

# Two figures nearer to each other than this are called equal: runs differ by that much.
NOISE = 0.05

# Without agreement in these, two records measured different things.
SAME_WORKLOAD = ("name", "prompt_tokens_target", "max_tokens", "seed")

# Disagreement in these is named, and the comparison stands.
NAMED_WORKLOAD = ("requests_per_level", "ignore_eos", "warmup_requests", "slo_ttft_ms", "levels", "max_seconds")

ANSWER_LENGTH_TOLERANCE = 0.10


def compare(before: dict | None, after: dict | None) -> dict:
    """Compare two records; either may be missing.

    Returns ``{"title", "stub", "captions", "comparable", "reasons", "caveats", "rows", "levels",
    "configuration", "headline"}``. ``reasons`` says why it is not comparable (a list, empty when
    it is); ``levels`` has one entry per number of users found in either record.
    """
    present = [record for record in (before, after) if record]
    stub = any(record.get("stub") for record in present)
    reasons = _reasons(before, after)
    rows = _rows(before, after, comparable=not reasons)
    return {
        "title": _title(before, after, stub),
        "stub": stub,
        "captions": _captions(present),
        "comparable": not reasons,
        "reasons": reasons,
        "caveats": _caveats(before, after),
        "rows": rows,
        "levels": _level_rows(before, after, comparable=not reasons),
        "configuration": _configuration(before, after),
        "headline": _headline(before, after, rows, reasons),
    }


def table_lines(comparison: dict) -> list:
    """The comparison's rows as lines of a table for a terminal, title and remarks included."""
    cells = [("", "before", "after", "times better")]
    for row in comparison["rows"]:
        cells.append((row["metric"], shown(row["before"], row["unit"]), shown(row["after"], row["unit"]),
                      shown_ratio(row["ratio"])))
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    lines = [comparison["title"]]
    lines += comparison["captions"]
    for number, line in enumerate(cells):
        lines.append("  ".join([line[0].ljust(widths[0])] + [
            cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]).rstrip())
        if number == 0:
            lines.append("  ".join("-" * width for width in widths))
    notes = ["%s (%s)." % (row["metric"], row["note"]) for row in comparison["rows"] if row["note"]]
    return lines + notes + comparison["reasons"] + comparison["caveats"]


def shown(value, unit: str) -> str:
    """A figure for people: three significant digits are all that a run supports."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if unit == "MiB":
        return "%.1f GiB" % (value / 1024.0) if abs(value) >= 1024 else "%d MiB" % value
    if unit == "ms" and abs(value) >= 10000:
        return "%.1f s" % (value / 1000.0)
    text = "%.0f" % value if isinstance(value, int) or abs(value) >= 100 else "%.1f" % value if abs(value) >= 10 else "%.2f" % value
    return "%s %s" % (text, unit) if unit and unit != "users" else text


def shown_ratio(ratio: float | None) -> str:
    """``4.2x``, or a dash."""
    if ratio is None:
        return "-"
    return "%.0fx" % ratio if ratio >= 100 else "%.1fx" % ratio if ratio >= 10 else "%.2fx" % ratio


def common_levels(before: dict | None, after: dict | None) -> list:
    """Numbers of users measured in every record there is, ascending."""
    sets = [set(level["concurrency"] for level in record["levels"]) for record in (before, after) if record]
    return sorted(set.intersection(*sets)) if sets else []


def free_gpu_memory(record: dict | None) -> int | None:
    """Free memory of all GPUs together in MiB; None without a GPU."""
    gpus = ((record or {}).get("gpu") or {}).get("gpus") or []
    values = [gpu.get("memory_free_mib") for gpu in gpus]
    return sum(values) if values and all(value is not None for value in values) else None


def _rows(before: dict | None, after: dict | None, comparable: bool) -> list:
    levels = common_levels(before, after)
    rows = []

    def add(key, metric, unit, better, read, note="", compared=True):
        values = [read(record) if record else None for record in (before, after)]
        ratio = _ratio(values[0], values[1], better) if comparable and compared else None
        rows.append({"key": key, "metric": metric, "unit": unit, "better": better, "before": values[0],
                     "after": values[1], "ratio": ratio, "verdict": _verdict(ratio), "note": note})

    def at(users, group, name=None):
        def read(record):
            level = _bench.level_of(record["levels"], users) or {}
            return (level.get(group) or {}).get(name) if name else level.get(group)
        return read

    ends = levels[:1] + levels[-1:] if len(levels) > 1 else levels
    for users in ends:
        add("throughput_%d" % users, "Tokens/s, %s" % _users(users), "tok/s", "higher", at(users, "output_tokens_per_second"))
    best = [_bench.best_throughput(record["levels"]) for record in (before, after) if record]
    if any(level and level["concurrency"] not in ends for level in best):
        add("throughput_best", "Tokens/s, best level", "tok/s", "higher",
            lambda record: (_bench.best_throughput(record["levels"]) or {}).get("output_tokens_per_second"))
    for users in ends:
        add("ttft_%d" % users, "Time to first token, %s" % _users(users), "ms", "lower", at(users, "ttft_ms", "p50"))
    add("users", "Concurrent users", "users", "higher", _user_value, note=_user_note(before, after))
    add("memory", "Free memory, host", "MiB", "higher",
        lambda record: (record.get("host_facts") or {}).get("memory_available_mib"))
    if any(free_gpu_memory(record) is not None for record in (before, after)):
        add("gpu_memory", "Free memory, GPU", "MiB", "higher", free_gpu_memory)
    add("gateway", "Gateway overhead", "ms", "lower",
        lambda record: (record.get("gateway_overhead") or {}).get("added_ms_p50"),
        note=_gateway_note(after), compared=False)
    return rows


def _level_rows(before: dict | None, after: dict | None, comparable: bool) -> list:
    users = sorted(set(level["concurrency"] for record in (before, after) if record for level in record["levels"]))
    found = []
    for number in users:
        pair = [_bench.level_of(record["levels"], number) if record else None for record in (before, after)]
        rates = [level["output_tokens_per_second"] if level else None for level in pair]
        waits = [level["ttft_ms"]["p50"] if level else None for level in pair]
        found.append({
            "concurrency": number, "before": pair[0], "after": pair[1],
            "throughput_ratio": _ratio(rates[0], rates[1], "higher") if comparable else None,
            "ttft_ratio": _ratio(waits[0], waits[1], "lower") if comparable else None,
        })
    return found


def _reasons(before: dict | None, after: dict | None) -> list:
    if not before or not after:
        missing = "before" if after else "after" if before else "before and after"
        return ["There is no record %s: improvement cannot be claimed." % missing]
    reasons = []
    for name in SAME_WORKLOAD:
        one, other = before["workload"].get(name), after["workload"].get(name)
        if one != other:
            reasons.append("Not the same workload: %s is %s before and %s after." % (name, one, other))
    if not common_levels(before, after):
        reasons.append("Not the same workload: no number of users was measured in both records.")
    if bool(before.get("stub")) != bool(after.get("stub")):
        reasons.append("One of the records was made against a stub, the other was not.")
    return reasons


def _caveats(before: dict | None, after: dict | None) -> list:
    found = []
    for record in (before, after):
        for note in (record or {}).get("notes") or []:
            found.append("%s: %s" % (record["label"], note))
    if not before or not after:
        return found
    for name in NAMED_WORKLOAD:
        one, other = before["workload"].get(name), after["workload"].get(name)
        if one != other:
            found.append("Measured with %s = %s before and %s after." % (name, one, other))
    if before.get("host") != after.get("host"):
        found.append("Measured on two hosts: %s and %s." % (before.get("host"), after.get("host")))
    if before["endpoint"].get("via") != after["endpoint"].get("via"):
        found.append("Measured %s before and %s after." % (_via(before), _via(after)))
    lengths = [_answer_length(record) for record in (before, after)]
    if all(lengths) and abs(lengths[1] - lengths[0]) > ANSWER_LENGTH_TOLERANCE * lengths[0]:
        found.append("Answers differ in length: %.0f tokens before and %.0f after; compare rates rather than whole times."
                     % tuple(lengths))
    return found


def _via(record: dict) -> str:
    return "through the gateway" if record["endpoint"].get("via") == "gateway" else "direct"


def _answer_length(record: dict) -> float | None:
    answers = sum(level.get("completed", level["requests"]) for level in record["levels"])
    return sum(level["output_tokens_total"] for level in record["levels"]) / answers if answers else None


def _configuration(before: dict | None, after: dict | None) -> list:
    """Every difference of configuration as ``{"area", "name", "before", "after"}``."""
    if not before or not after:
        return []
    areas = (
        ("endpoint", before["endpoint"], after["endpoint"]),
        ("engine", _without(before["engine"], "flags"), _without(after["engine"], "flags")),
        ("flag", before["engine"].get("flags"), after["engine"].get("flags")),
        ("kernel setting", before.get("tuning"), after.get("tuning")),
        ("host", _without(before.get("host_facts"), "memory_available_mib"),
         _without(after.get("host_facts"), "memory_available_mib")),
        ("GPU", _gpu_configuration(before), _gpu_configuration(after)),
    )
    found = []
    for area, one, other in areas:
        if area == "flag" and (one is None) != (other is None):
            found.append({"area": area, "name": "(all)", "before": "not known" if one is None else "known",
                          "after": "not known" if other is None else "known"})
            continue
        one, other = one or {}, other or {}
        for name in sorted(set(one) | set(other)):
            if str(one.get(name)) != str(other.get(name)):
                found.append({"area": area, "name": name, "before": one.get(name), "after": other.get(name)})
    return found


def _gpu_configuration(record: dict) -> dict:
    gpu = record.get("gpu") or {}
    names = ["%s (%s MiB)" % (item.get("name"), item.get("memory_total_mib")) for item in gpu.get("gpus") or []]
    return {"driver_version": gpu.get("driver_version"), "gpus": ", ".join(names) or "none"}


def _without(document: dict | None, name: str) -> dict:
    return {key: value for key, value in (document or {}).items() if key != name}


def _captions(records: list) -> list:
    """What must stand beside the figures: what they were measured on."""
    captions = []
    for record in records:
        text = record.get("caption") or ""
        if not text and not (record.get("gpu") or {}).get("gpus"):
            text = "Measured on CPU, without a GPU."
        if text and text not in captions:
            captions.append(text)
    return captions


def _title(before: dict | None, after: dict | None, stub: bool) -> str:
    record = after or before
    if record is None:
        return "No benchmark record"
    title = "%s on %s" % (record["endpoint"]["model"], record["host"])
    if before and after:
        title += ": before and after"
    elif before:
        title += ": before"
    else:
        title += ": %s" % record["label"]
    return "STUB, figures mean nothing: " + title if stub else title


def _headline(before: dict | None, after: dict | None, rows: list, reasons: list) -> str:
    if reasons:
        return reasons[0]
    parts = []
    for row in rows:
        if row["key"].startswith("throughput_") and row["ratio"] is not None and row["key"] != "throughput_best":
            parts.append("%s times the tokens per second at %s" % (shown_ratio(row["ratio"])[:-1], row["metric"].split(", ")[1]))
    return ", ".join(parts) + "." if parts else ""


def _user_value(record: dict) -> int:
    return _bench.concurrent_users(record["levels"], record["workload"].get("slo_ttft_ms") or 5000)["value"]


def _user_note(before: dict | None, after: dict | None) -> str:
    parts = []
    for name, record in (("before", before), ("after", after)):
        if record:
            found = _bench.concurrent_users(record["levels"], record["workload"].get("slo_ttft_ms") or 5000)
            parts.append("%s: %s" % (name, found["limited_by"] or "no limit found up to %d" % found["highest_measured"]))
    return "; ".join(parts)


def _gateway_note(after: dict | None) -> str:
    overhead = (after or {}).get("gateway_overhead")
    if not overhead or overhead.get("added_ms_p50") is None:
        return ""
    paired = overhead.get("paired_ms") or {}
    if paired.get("p25") is None:
        return "median of %d pairs of requests" % overhead["requests"]
    return "difference of medians over %d alternating pairs, half of the differences lie between %.1f and %.1f ms" % (
        overhead["requests"], paired["p25"], paired["p75"])


def _ratio(before, after, better: str) -> float | None:
    if before is None or after is None:
        return None
    top, bottom = (after, before) if better == "higher" else (before, after)
    return round(top / bottom, 4) if bottom > 0 else None


def _verdict(ratio: float | None) -> str:
    if ratio is None:
        return "unknown"
    if ratio > 1 + NOISE:
        return "better"
    return "worse" if ratio < 1 / (1 + NOISE) else "same"


def _users(number: int) -> str:
    return "1 user" if number == 1 else "%d users" % number
