# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command line: ``serve``, ``check``, ``reload``, ``keys ...``, ``usage``.

Exit status: 0 done, 1 failed, 2 wrong use or invalid configuration, 3 no such key, 4 name taken.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from . import __version__, keyformat
from .places import DEFAULT_CONFIG, KEYS_FILE, USAGE_FILE, ConfigError, state_dir
from .storage import KeyRecord, NameTaken, SqliteKeyStore, SqliteUsageStore, StoreUnavailable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_SPAN = re.compile(r"(\d+)([smhd])\Z")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class _Failure(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def main(argv: list[str] | None = None) -> int:
    arguments = _parser().parse_args(argv)
    try:
        return arguments.run(arguments)
    except ConfigError as exc:
        print(exc, file=sys.stderr)
        return 2
    except _Failure as exc:
        print(exc, file=sys.stderr)
        return exc.status
    except StoreUnavailable as exc:
        print(f"database: {exc}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="indiaai-gateway", description="Gateway for OpenAI-protocol engines.")
    parser.add_argument("--version", action="version", version=__version__)
    parser.add_argument(
        "--config", type=Path, default=Path(os.environ.get("INDIAAI_GATEWAY_CONFIG", DEFAULT_CONFIG)),
        help="configuration file (default: %(default)s, or INDIAAI_GATEWAY_CONFIG)",
    )
    commands = parser.add_subparsers(dest="command", required=True)

    commands.add_parser("serve", help="run the gateway").set_defaults(run=_serve)
    commands.add_parser("check", help="validate the configuration file").set_defaults(run=_check)
    reload_ = commands.add_parser("reload", help="validate the file, then make the running gateway read it")
    reload_.add_argument("--pid", type=int, default=1, help="process of the gateway (default: 1, as in its container)")
    reload_.set_defaults(run=_reload)

    keys = commands.add_parser("keys", help="manage keys").add_subparsers(dest="action", required=True)
    create = keys.add_parser("create", help="make a key; its secret is printed this once")
    _key_options(create)
    create.add_argument("--disabled", action="store_true")
    create.set_defaults(run=_create)
    update = keys.add_parser("update", help="change models or expiry")
    _key_options(update)
    state = update.add_mutually_exclusive_group()
    state.add_argument("--enable", dest="enabled", action="store_true", default=None)
    state.add_argument("--disable", dest="enabled", action="store_false", default=None)
    update.set_defaults(run=_update)
    listing = keys.add_parser("list", help="all keys, without secrets")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(run=_list)
    for name, run, text in (
        ("enable", _enable, "let a key in again"),
        ("disable", _disable, "refuse a key, keeping it"),
        ("delete", _delete, "remove a key for good"),
    ):
        command = keys.add_parser(name, help=text)
        command.add_argument("name")
        command.add_argument("--json", action="store_true")
        command.set_defaults(run=run)

    usage = commands.add_parser("usage", help="usage rows, oldest first")
    usage.add_argument("--since", default="24h", help="a span (90s, 15m, 24h, 7d) or a time (ISO 8601, UTC when without zone)")
    usage.add_argument("--limit", type=int, default=10_000)
    usage.add_argument("--json", action="store_true")
    usage.set_defaults(run=_usage)
    return parser


def _key_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")
    parser.add_argument("--models", help="comma-separated model names; '*' = all")
    parser.add_argument("--expires", help="a time (ISO 8601), a span from now (90d), or 'never'")
    parser.add_argument("--json", action="store_true")


# --- serve ---


def _serve(arguments: argparse.Namespace) -> int:
    # Until the server has its own handlers: as process 1 of a container, a signal without one would be ignored.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(0))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    from .server import serve  # the command line needs none of its imports

    return serve(arguments.config)


def _check(arguments: argparse.Namespace) -> int:
    from .settings import load

    loaded = load(arguments.config)
    print(json.dumps({"digest": loaded.digest, "models": [model.name for model in loaded.settings.models]}))
    return 0


def _reload(arguments: argparse.Namespace) -> int:
    status = _check(arguments)
    try:
        os.kill(arguments.pid, signal.SIGHUP)
    except OSError as exc:
        raise _Failure(1, f"process {arguments.pid}: {exc.strerror}") from exc
    return status


# --- keys ---


def _key_store(arguments: argparse.Namespace) -> SqliteKeyStore:
    return SqliteKeyStore(state_dir(arguments.config) / KEYS_FILE)


def _create(arguments: argparse.Namespace) -> int:
    if not _NAME.match(arguments.name):
        raise _Failure(2, f"name {arguments.name!r}: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit")
    models = _models(arguments.models) if arguments.models is not None else ("*",)
    secret = keyformat.generate()
    prefix, last4 = keyformat.display(secret)
    expires = _moment(arguments.expires) if arguments.expires is not None else None
    try:
        record = _key_store(arguments).create(
            arguments.name, keyformat.digest(secret), prefix, last4, models, not arguments.disabled, expires
        )
    except NameTaken as exc:
        raise _Failure(4, f"a key named {arguments.name!r} exists") from exc
    if arguments.json:
        print(json.dumps({**record.public(), "secret": secret}))
    else:
        print(secret)
        print("This is the only time it is shown.", file=sys.stderr)
    return 0


def _update(arguments: argparse.Namespace) -> int:
    changes: dict[str, Any] = {}
    if arguments.models is not None:
        changes["models"] = _models(arguments.models)
    if arguments.expires is not None:
        changes["expires_at"] = _moment(arguments.expires)
    if arguments.enabled is not None:
        changes["enabled"] = arguments.enabled
    return _change(arguments, changes)


def _enable(arguments: argparse.Namespace) -> int:
    return _change(arguments, {"enabled": True})


def _disable(arguments: argparse.Namespace) -> int:
    return _change(arguments, {"enabled": False})


def _change(arguments: argparse.Namespace, changes: dict[str, Any]) -> int:
    record = _key_store(arguments).update(arguments.name, changes)
    if record is None:
        raise _Failure(3, f"no key named {arguments.name!r}")
    _print_keys([record], arguments.json)
    return 0


def _delete(arguments: argparse.Namespace) -> int:
    if not _key_store(arguments).delete(arguments.name):
        raise _Failure(3, f"no key named {arguments.name!r}")
    return 0


def _list(arguments: argparse.Namespace) -> int:
    records = _key_store(arguments).load()
    if arguments.json:
        print(json.dumps([record.public() for record in records]))
    else:
        _print_keys(records, False)
    return 0


def _print_keys(records: list[KeyRecord], as_json: bool) -> None:
    for record in records:
        if as_json:
            print(json.dumps(record.public()))
            continue
        state = "enabled" if record.enabled else "disabled"
        expiry = "never expires" if record.expires_at is None else f"expires {_shown(record.expires_at)}"
        print(f"{record.name}\t{record.prefix}…{record.last4}\t{state}\t{expiry}\t{','.join(record.models)}")


def _models(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise _Failure(2, "--models: name at least one model, or '*'")
    return names


def _moment(text: str) -> int | None:
    """Microseconds UTC of a time, or of a span from now; None for 'never'."""
    if text == "never":
        return None
    span = _SPAN.match(text)
    if span:
        return int((time.time() + int(span[1]) * _UNITS[span[2]]) * 1e6)
    return _instant(text)


# --- usage ---


def _usage(arguments: argparse.Namespace) -> int:
    span = _SPAN.match(arguments.since)
    since = int((time.time() - int(span[1]) * _UNITS[span[2]]) * 1e6) if span else _instant(arguments.since)
    rows = SqliteUsageStore(state_dir(arguments.config) / USAGE_FILE).read(since, arguments.limit)
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows]))
        return 0
    for row in rows:
        print(
            f"{_shown(row.ts)}\t{row.key_id}\t{_plain(row.model)}\t{row.status}\t"
            f"{row.prompt_tokens}+{row.completion_tokens}{'~' if row.estimated else ''}\t{row.duration_ms:.0f} ms"
        )
    return 0


def _plain(text: str | None) -> str:
    """What a client sent, on one line and without control characters: it must not look like a row or steer a terminal."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text or "")


def _shown(us: int) -> str:
    return datetime.fromtimestamp(us / 1e6, timezone.utc).isoformat(timespec="milliseconds")


def _instant(text: str) -> int:
    try:
        value = datetime.fromisoformat(text)
    except ValueError as exc:
        raise _Failure(2, f"{text!r} is neither a span (90s, 15m, 24h, 7d) nor a time (2026-11-30T12:00:00)") from exc
    if value.tzinfo is None:
        value = value.replace(tzinfo=timezone.utc)
    return (value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)
