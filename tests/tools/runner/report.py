"""Results of a run, and the table at its end."""
from __future__ import annotations

import dataclasses

PASSED, FAILED, SKIPPED, ABSENT = "passed", "failed", "skipped", "absent"
DONE = "done"  # preparation: takes time, but is no test and is not counted


@dataclasses.dataclass
class Result:
    name: str
    outcome: str  # one of the five above
    seconds: float = 0.0
    note: str = ""


def table(results: list[Result], wall_seconds: float) -> str:
    """Where the time went, the slowest first; then what did not run; the last line alone counts stages."""
    ran = sorted((result for result in results if result.outcome in (PASSED, FAILED, DONE)), key=lambda result: -result.seconds)
    rest = [result for result in results if result.outcome in (SKIPPED, ABSENT)]
    lines = ["", f"{'stage':<28} {'seconds':>8}  result"]
    lines += [f"{result.name:<28} {result.seconds:8.1f}  {_words(result)}" for result in ran + rest]
    lines += [f"{'wall clock':<28} {wall_seconds:8.1f}", "", summary(results)]
    return "\n".join(lines)


def _words(result: Result) -> str:
    return result.outcome + (f" ({result.note})" if result.note else "")


def summary(results: list[Result]) -> str:
    """``N passed, N failed`` with ``, N skipped`` where something did not run."""
    count = {outcome: sum(result.outcome == outcome for result in results) for outcome in (PASSED, FAILED, SKIPPED, ABSENT)}
    skipped = count[SKIPPED] + count[ABSENT]
    return f"{count[PASSED]} passed, {count[FAILED]} failed" + (f", {skipped} skipped" if skipped else "")
