# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arithmetic of a benchmark: percentiles, the summary of a level, what the figures mean.

PRIVATE to the collection. Pure: no clock, no socket, no files.
Times come in seconds of one monotonic clock and go out in milliseconds.
"""

from __future__ import annotations

PERCENTILES = (50, 90, 95, 99)

# A server that gains less than this from company works on one request at a time,
# provided that the others are seen to wait for it (see is_serial).
SERIAL_GAIN = 1.3
SERIAL_WAIT_SHARE = 0.6


class Outcome:
    """What became of one request.

    start, first, last, end -- seconds; first/last content token, None when there was none
    error                   -- None, or the kind: connect, tls, timeout, reset, truncated,
                               in_band, protocol, empty, http_<status>
    cut                     -- True when the time limit ended it: neither success nor error
    output_tokens, prompt_tokens -- as counted by the server, None when it did not say
    chunks                  -- content chunks seen; the fallback count of tokens
    detail                  -- text of the server or of the exception, for messages only
    """

    __slots__ = ("start", "first", "last", "end", "error", "cut", "output_tokens", "prompt_tokens",
                 "chunks", "detail")

    def __init__(self, start: float = 0.0) -> None:
        self.start = start
        self.first = None
        self.last = None
        self.end = start
        self.error = None
        self.cut = False
        self.output_tokens = None
        self.prompt_tokens = None
        self.chunks = 0
        self.detail = ""

    @property
    def succeeded(self) -> bool:
        return self.error is None and not self.cut

    @property
    def tokens(self) -> int:
        """Output tokens: the server's count, else (flagged in the level) the chunks."""
        return self.chunks if self.output_tokens is None else self.output_tokens


def percentile(values: list, percent: float) -> float | None:
    """Percentile by linear interpolation between the closest ranks.

    The position is ``(n - 1) * percent / 100`` in the sorted values, so p50 of two
    values is their mean and p0/p100 are the extremes. None for no values.
    """
    if not values:
        return None
    ordered = sorted(values)
    position = (len(ordered) - 1) * percent / 100.0
    lower = int(position)
    upper = min(lower + 1, len(ordered) - 1)
    return ordered[lower] + (ordered[upper] - ordered[lower]) * (position - lower)


def spread(values: list) -> dict:
    """``{"p50", "p90", "p95", "p99", "mean"}`` rounded to microseconds; None where empty."""
    result = {"p%d" % percent: _rounded(percentile(values, percent)) for percent in PERCENTILES}
    result["mean"] = _rounded(sum(values) / len(values)) if values else None
    return result


def requests_for_level(requests: int, concurrency: int) -> int:
    """Requests sent at a level: as asked, but two rounds for every user at least."""
    return max(requests, 2 * concurrency)


def summarise_level(concurrency: int, outcomes: list, started: float, ended: float) -> dict:
    """Turn the outcomes of one concurrency level into its entry of the record.

    Latencies are taken over the requests that succeeded; throughput counts the
    tokens of those requests over the whole duration, waiting included.
    """
    good = [outcome for outcome in outcomes if outcome.succeeded]
    errors = {}
    for outcome in outcomes:
        if outcome.error is not None:
            errors[outcome.error] = errors.get(outcome.error, 0) + 1
    duration = max(ended - started, 1e-9)
    output_tokens = sum(outcome.tokens for outcome in good)
    prompt_counts = [outcome.prompt_tokens for outcome in good if outcome.prompt_tokens is not None]
    timed = [outcome for outcome in good if outcome.first is not None]
    per_user = [outcome.tokens / (outcome.end - outcome.start) for outcome in good if outcome.end > outcome.start]
    return {
        "concurrency": concurrency,
        "requests": len(outcomes),
        "completed": len(good),
        "cut_off": sum(1 for outcome in outcomes if outcome.cut),
        "errors": errors,
        "duration_seconds": round(duration, 6),
        "ttft_ms": spread([(outcome.first - outcome.start) * 1000.0 for outcome in timed]),
        # The first token is prefill, not decoding: it is left out of the rate.
        "time_per_output_token_ms": spread([
            (outcome.last - outcome.first) * 1000.0 / (outcome.tokens - 1)
            for outcome in timed if outcome.tokens > 1
        ]),
        "end_to_end_ms": spread([(outcome.end - outcome.start) * 1000.0 for outcome in good]),
        "output_tokens_total": output_tokens,
        "prompt_tokens_total": sum(prompt_counts) if prompt_counts else None,
        "tokens_estimated": sum(1 for outcome in good if outcome.output_tokens is None),
        "output_tokens_per_second": _rounded(output_tokens / duration),
        "requests_per_second": _rounded(len(good) / duration),
        "output_tokens_per_second_per_user_p50": _rounded(percentile(per_user, 50)),
    }


def summarise_overhead(direct: list, gateway: list) -> dict:
    """What a gateway adds to the time to first token.

    ``direct`` and ``gateway`` hold the outcomes of alternating requests, pair by pair.
    ``added_ms_p50`` is the difference of the medians; ``paired_ms`` the quartiles of the
    differences inside the pairs, which show how far one figure may be trusted.
    """
    pairs = [
        (one, other) for one, other in zip(direct, gateway)
        if one.succeeded and other.succeeded and one.first is not None and other.first is not None
    ]
    direct_ms = [(one.first - one.start) * 1000.0 for one, dummy in pairs]
    gateway_ms = [(other.first - other.start) * 1000.0 for dummy, other in pairs]
    differences = [other - one for one, other in zip(direct_ms, gateway_ms)]
    added = percentile(gateway_ms, 50) - percentile(direct_ms, 50) if pairs else None
    return {
        "requests": len(pairs),
        "failed": len(direct) - len(pairs),
        "direct_ttft_ms": spread(direct_ms),
        "gateway_ttft_ms": spread(gateway_ms),
        "added_ms_p50": _rounded(added),
        "paired_ms": {
            "p25": _rounded(percentile(differences, 25)),
            "p50": _rounded(percentile(differences, 50)),
            "p75": _rounded(percentile(differences, 75)),
        },
    }


def level_of(levels: list, concurrency: int) -> dict | None:
    """The level measured at exactly this concurrency."""
    for level in levels:
        if level["concurrency"] == concurrency:
            return level
    return None


def error_count(level: dict) -> int:
    """Failed requests of a level, all kinds together."""
    return sum(level.get("errors", {}).values())


def is_serial(levels: list, level: dict) -> bool:
    """Whether the server answers one request at a time, seen at ``level``.

    True when company brings no throughput and each user waits for most of the
    others: the first token comes later by at least 60 % of the time that the
    requests in front need when each is answered alone.
    """
    alone = level_of(levels, 1)
    if alone is None or level["concurrency"] < 2:
        return False
    values = (alone["ttft_ms"]["p50"], level["ttft_ms"]["p50"], alone["end_to_end_ms"]["p50"],
              alone["output_tokens_per_second"], level["output_tokens_per_second"])
    if any(value is None for value in values) or not alone["output_tokens_per_second"]:
        return False
    waited = level["ttft_ms"]["p50"] - alone["ttft_ms"]["p50"]
    queue = (level["concurrency"] - 1) * alone["end_to_end_ms"]["p50"]
    gain = level["output_tokens_per_second"] / alone["output_tokens_per_second"]
    return gain < SERIAL_GAIN and waited >= SERIAL_WAIT_SHARE * queue


def concurrent_users(levels: list, slo_ttft_ms: float) -> dict:
    """How many users the server serves at once, as far as it was measured.

    The highest level, counted upwards without a gap, at which every request was
    answered, p95 of the time to first token is inside ``slo_ttft_ms``, and users do
    not simply queue behind one another. Returns ``{"value", "limited_by", "highest_measured"}``;
    ``limited_by`` is None when the highest level passed: the true figure may be higher.
    """
    value, limited_by = 0, None
    ordered = sorted(levels, key=lambda item: item["concurrency"])
    for level in ordered:
        ttft = level["ttft_ms"]["p95"]
        if error_count(level):
            limited_by = "errors at %d users" % level["concurrency"]
        elif level.get("cut_off"):
            limited_by = "%d users not answered inside the time limit" % level["concurrency"]
        elif ttft is None or ttft > slo_ttft_ms:
            limited_by = "time to first token at %d users" % level["concurrency"]
        elif is_serial(ordered, level):
            limited_by = "answers one request at a time"
        else:
            value = level["concurrency"]
            continue
        break
    return {
        "value": value,
        "limited_by": limited_by,
        "highest_measured": ordered[-1]["concurrency"] if ordered else 0,
    }


def best_throughput(levels: list) -> dict | None:
    """The level with the highest output tokens per second."""
    return max(levels, key=lambda item: item["output_tokens_per_second"] or 0) if levels else None


def summary_lines(record: dict) -> list:
    """A plain text table of a record's levels, for a terminal."""
    head = ("users", "requests", "failed", "tokens/s", "per user", "TTFT p50", "TTFT p95", "per token", "total p50")
    rows = [head]
    for level in record["levels"]:
        rows.append((
            str(level["concurrency"]), str(level["requests"]), str(error_count(level)),
            _text(level["output_tokens_per_second"]), _text(level["output_tokens_per_second_per_user_p50"]),
            _text(level["ttft_ms"]["p50"], " ms"), _text(level["ttft_ms"]["p95"], " ms"),
            _text(level["time_per_output_token_ms"]["p50"], " ms"), _text(level["end_to_end_ms"]["p50"], " ms"),
        ))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]


def _text(value: float | None, unit: str = "") -> str:
    if value is None:
        return "-"
    return ("%.0f" if abs(value) >= 100 else "%.1f") % value + unit


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
