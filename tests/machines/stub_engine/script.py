# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The script of faults and pacing: what can be asked for, and from where.

One flat JSON object. Keys of ``Process`` concern the whole stub and count at start-up (``--stub-script``,
``STUB_SCRIPT``) and through ``PUT /stub/script``. Keys of ``Answer`` concern one answer: defaults from the same two
places, and for one request alone from the header ``x-stub-script`` or the body's field ``stub``, which
pass through a gateway that forwards unknown fields. An unknown key is an error: a test with a typo must not pass.
"""
from __future__ import annotations

import dataclasses
from typing import Any, Dict, List, Optional, Tuple


class ScriptError(ValueError):
    """The script has a key that does not exist, or a value of another type."""


@dataclasses.dataclass(frozen=True)
class Process:
    """Life of the stub. Seconds count from its start, or from the moment when the script was put."""

    load_seconds: float = 0  # /health says 503 until then, generation too
    load_silent: bool = False  # nothing listens while loading, as with vLLM; only at start-up
    never_ready: bool = False  # loads for ever
    crash_after_seconds: Optional[float] = None  # the process ends then
    crash_code: int = 1
    hang_after_seconds: Optional[float] = None  # takes connections and answers nothing but /stub/ any more
    refuse_seconds: float = 0  # /health is fine, generation answers 503
    health_status: int = 200
    ignore_sigterm: bool = False
    keep_alive_seconds: Optional[float] = None  # an idle connection is closed after this


@dataclasses.dataclass(frozen=True)
class Answer:
    """One answer. Positions count token events from 0: ``reset_at: 3`` sends three of them and no fourth."""

    tokens: Optional[int] = None  # events; default: max_tokens of the request, or 16
    first_token_seconds: float = 0
    inter_token_seconds: float = 0
    stamps: bool = True  # each event carries "stub": {"n": number, "sent_ns": CLOCK_MONOTONIC}
    multibyte: bool = False  # text with characters of two and three bytes in UTF-8
    big_event_at: Optional[int] = None
    big_event_bytes: int = 1 << 20
    # --- before the body
    error_status: Optional[int] = None  # answers with this status and an error in vLLM's form
    retry_after: Optional[int] = None  # Retry-After with it
    reject_stream_options: bool = False  # 400 for a request that has stream_options
    header_delay_seconds: float = 0
    header_trickle_seconds: float = 0  # the header arrives in single bytes over this time
    gzip: bool = False  # body compressed, whatever the client accepts
    close_after: bool = False  # Connection: close
    # --- how a stream looks
    space: bool = True  # "data: {" or "data:{"
    line_end: str = "\n"
    role_event: bool = True
    pings_before: int = 0  # comment lines before the first token, one a second
    comment_every: int = 0  # a comment line after every this many events
    split: Tuple[int, ...] = ()  # byte offsets at which each event is cut into separate writes
    split_every: int = 0  # cut each event into pieces of this many bytes
    split_pause_seconds: float = 0.002
    coalesce: int = 1  # events sent in one write
    usage: str = "auto"  # auto: as asked for | none | null | continuous | wrong: one token too many
    done: bool = True  # ends with [DONE]
    # --- how a stream ends early
    error_at: Optional[int] = None  # an error event in the stream, then [DONE], as vLLM does
    hang_at: Optional[int] = None  # nothing more comes, the connection stays open
    reset_at: Optional[int] = None  # TCP reset
    truncate_at: Optional[int] = None  # connection closed in the middle of the body
    eof_at: Optional[int] = None  # the body ends properly, without finish_reason, usage and [DONE]
    crash_at: Optional[int] = None  # the whole process ends


_KINDS = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}


def _fields(kind) -> Dict[str, dataclasses.Field]:
    return {field.name: field for field in dataclasses.fields(kind)}


def _checked(name: str, field: dataclasses.Field, value: Any) -> Any:
    wanted = field.type
    if wanted.startswith("Tuple"):
        if isinstance(value, list) and all(isinstance(item, int) for item in value):
            return tuple(value)
        raise ScriptError("stub script: '%s' is %r, wanted a list of integers" % (name, value))
    if wanted.startswith("Optional"):
        if value is None:
            return None
        wanted = wanted[len("Optional["):-1]
    if not isinstance(value, _KINDS[wanted]) or (isinstance(value, bool) and wanted != "bool"):
        raise ScriptError("stub script: '%s' is %r, wanted %s" % (name, value, wanted))
    return value


def _changed(base, values: Any, also_known=()):
    if not isinstance(values, dict):
        raise ScriptError("stub script: %r, wanted an object" % (values,))
    known = _fields(type(base))
    for name in values:
        if name not in known and name not in also_known:
            raise ScriptError("stub script: unknown key '%s', known are %s" % (name, ", ".join(sorted(set(known) | set(also_known)))))
    return dataclasses.replace(base, **{name: _checked(name, known[name], value) for name, value in values.items() if name in known})


def for_process(values: Any) -> Tuple[Process, Answer]:
    """Both parts of a start-up or control script."""
    return _changed(Process(), values, _fields(Answer)), _changed(Answer(), values, _fields(Process))


def for_answer(base: Answer, sources: List[Any]) -> Answer:
    """``base`` with the scripts of one request laid over it, later ones win."""
    for values in sources:
        base = _changed(base, values)
    return base
