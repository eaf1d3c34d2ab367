# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as lines of text that fit a terminal. Pure."""

from __future__ import annotations

_COLUMNS = ("model", "engine", "port", "device", "memory MiB", "context", "requests", "source")


def table(plan):
    """plan -> [line]."""
    rows = [_COLUMNS]
    for engine in sorted(plan["engines"], key=lambda item: item["order"]):
        rows.append(
            (
                engine["name"],
                engine["profile"],
                ",".join(str(port) for port in engine["ports"]),
                ",".join(short_device(device) for device in engine["devices"]),
                _or_engine(engine["memory_mib"]),
                _or_engine(engine["context_length"]),
                _or_engine(engine["max_running_requests"]),
                engine["source"],
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    for device in plan["memory"]["devices"]:
        lines.append(
            "{0}: {1} MiB = {2} planned + {3} held by others + {4} reserve + {5} free".format(
                short_device(device["device"]),
                device["total_mib"],
                device["planned_mib"],
                device["foreign_mib"],
                device["reserve_mib"],
                device["free_mib"],
            )
        )
    for item in plan["replaces"]:
        lines.append(
            "replaces {0} at {1} ({2})".format(
                item.get("container") or item.get("unit"),
                item["url"],
                "will be stopped" if plan["cutover"] else "measured only: inference_cutover is not true",
            )
        )
    lines.extend("note: {0}".format(note) for note in plan["notes"])
    return lines


def short_device(device):
    """GPU-5c8a21f4-... -> GPU-5c8a21f4; cpu stays cpu."""
    return "-".join(device.split("-")[:2])


def _or_engine(value):
    return "engine's" if value is None else str(value)
