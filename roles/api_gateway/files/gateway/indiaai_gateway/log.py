# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs: one JSON object a line on standard output, never a prompt, never a whole key."""

from __future__ import annotations

import logging
import re
import sys
from datetime import datetime, timezone
from typing import Any

import orjson

_KEY = re.compile(r"(sk-ind-[0-9A-Za-z]{4})[0-9A-Za-z]{4,}([0-9A-Za-z]{4})")
_LOGGER = logging.getLogger("indiaai_gateway")


def mask(text: str) -> str:
    """Replace the secret part of everything that looks like a gateway key."""
    return _KEY.sub(r"\1…\2", text)


def timestamp(us: int) -> str:
    return datetime.fromtimestamp(us / 1e6, timezone.utc).isoformat(timespec="milliseconds")


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "ts": timestamp(int(record.created * 1e6)),
            "level": record.levelname.lower(),
            "event": mask(record.getMessage()),
        }
        for name, value in getattr(record, "fields", {}).items():
            line[name] = mask(value) if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = mask(self.formatException(record.exc_info))
        return orjson.dumps(line, default=str).decode()


def configure(level: str) -> None:
    """Send everything, uvicorn's own messages too, through the JSON formatter."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(_JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    _LOGGER.setLevel(level.upper())
    # Its warnings ("Invalid HTTP request received.") are for anybody on the network to cause.
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)


def event(level: int, message: str, **fields: Any) -> None:
    _LOGGER.log(level, message, extra={"fields": fields})


def info(message: str, **fields: Any) -> None:
    event(logging.INFO, message, **fields)


def warning(message: str, **fields: Any) -> None:
    event(logging.WARNING, message, **fields)


def error(message: str, **fields: Any) -> None:
    event(logging.ERROR, message, **fields)


def exception(message: str, **fields: Any) -> None:
    _LOGGER.error(message, exc_info=True, extra={"fields": fields})


def lines(documents: list[dict[str, Any]]) -> None:
    """Write ready documents at once; called from the usage writer's thread, not from the event loop."""
    try:
        sys.stdout.buffer.write(b"".join(orjson.dumps(document) + b"\n" for document in documents))
        sys.stdout.buffer.flush()
    except (OSError, ValueError):
        pass  # nobody reads the log: requests go on
