# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An audit as text for a person, and the inventory entries that follow from it. Pure; runs on the control machine."""

from __future__ import annotations

import json

_WIDTH = 100


def replaces(audit):
    """Foreign engines -> entries for `inference_replaces`, one an engine that can be stopped and started again."""
    entries = []
    for item in audit["engines"]:
        if item["managed"] or not (item["container"] or item["unit"]):
            continue
        entry = {"container": item["container"]} if item["container"] else {"unit": item["unit"]}
        entry.update(url=item["url"], api=item["api"])
        if item["models"]:
            entry["model"] = item["models"][0]
        entries.append(entry)
    return entries


def replaces_yaml(audit):
    """The same as YAML to paste. Values are quoted as JSON strings, which YAML reads."""
    lines = ["inference_replaces:"]
    entries = replaces(audit)
    if not entries:
        return "inference_replaces: []\n"
    for entry in entries:
        prefix = "  - "
        for key in ("container", "unit", "url", "api", "model"):
            if key in entry:
                lines.append("%s%s: %s" % (prefix, key, json.dumps(entry[key], ensure_ascii=False)))
                prefix = "    "
    return "\n".join(lines) + "\n"


def text(audit, host="this host"):
    """The report as lines of text, for the terminal and for a file."""
    parts = [_head(audit, host), _gpus(audit), _docker(audit), _engines(audit), _listeners(audit), _tuning(audit), _tls(audit),
             _findings(audit), _inventory(audit)]
    return "\n".join(line for part in parts if part for line in part) + "\n"


def _title(name):
    return ["", name, "-" * len(name)]


def _table(rows, header):
    """Rows of cells -> aligned lines."""
    cells = [header] + [["-" if cell is None or cell == "" else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(header))]
    return [("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip() for row in cells]


def _gib(mib):
    return None if mib is None else "%.1f GiB" % (mib / 1024)


def _yes(value):
    return {True: "yes", False: "no"}.get(value, "unknown")


def _head(audit, host):
    memory, system = audit["memory"], audit["os"]
    lines = ["Audit of %s" % host, "=" * (len(host) + 9),
             "  %s, kernel %s" % (system["name"] or "unknown system", audit["kernel"]),
             "  %s x %s" % (audit["cpu"]["count"], audit["cpu"]["model"] or "unknown processor"),
             "  memory %s, available %s" % (_gib(memory["total_mib"]), _gib(memory["available_mib"]))]
    for item in audit["disks"]:
        size = "not measured" if item["total_mib"] is None else "%s free of %s" % (_gib(item["free_mib"]), _gib(item["total_mib"]))
        lines.append("  %s (%s, %s): %s" % (item["path"], item["device"], item["type"], size))
    for item in audit["not_seen"]:
        lines.append("  NOT SEEN: %s" % item)
    return lines


def _gpus(audit):
    gpu = audit.get("gpu")
    if not gpu:
        return None
    lines = _title("GPUs")
    if not gpu.get("gpus"):
        return lines + ["  none: %s" % (gpu.get("reason") or gpu.get("state"))]
    rows = []
    for item in gpu["gpus"]:
        rows.append([item["index"], item["name"], item["state"], _gib(item.get("memory_used_mib")),
                     _gib(item.get("memory_total_mib"))])
        for process in item.get("processes") or []:
            who = process.get("container") or process.get("unit") or process.get("name")
            rows.append(["", "  pid %s, %s" % (process["pid"], who), "", _gib(process.get("memory_mib")), ""])
    return lines + _table(rows, ["#", "name", "state", "used", "total"])


def _docker(audit):
    docker = audit["docker"]
    lines = _title("Docker")
    if not docker["running"]:
        return lines + ["  not running: %s" % docker["reason"]]
    lines.append("  version %s, live-restore %s, %s, %s free" % (
        docker["version"], "on" if docker["live_restore"] else "off", docker["root"], _gib(docker["root_free_mib"])))
    rows = [[item["name"], item["image"], item["state"], item["restart_policy"], item["network_mode"],
             ", ".join("%s:%s" % (port["address"], port["port"]) for port in item["ports"]), _yes(item["managed"])]
            for item in docker["containers"]]
    return lines + _table(rows, ["container", "image", "state", "restart", "network", "published", "ours"]) if rows else lines


def _engines(audit):
    rows = [[item["container"] or item["unit"] or "pid %s" % item["pid"], item["url"], item["api"],
             ", ".join(item["models"]), _yes(item["key_required"]), _yes(item["exposed"]), _gib(item["memory_mib"]),
             _yes(item["managed"])] for item in audit["engines"]]
    lines = _title("Inference engines")
    if not rows:
        return lines + ["  none found"]
    return lines + _table(rows, ["owner", "url", "api", "models", "key", "exposed", "memory", "ours"])


def _listeners(audit):
    rows = [[item["address"], item["port"], item["process"], item["container"] or item["unit"]]
            for item in audit["listeners"] if item["exposed"]]
    lines = _title("Ports that other machines can reach")
    return lines + (_table(rows, ["address", "port", "process", "owner"]) if rows else ["  none"])


def _tuning(audit):
    rows = [[item["name"], item["value"], item["wanted"]] for item in audit["tuning"] if item["state"] == "differs"]
    lines = _title("Kernel settings that differ from an inference host's")
    return lines + (_table(rows, ["setting", "now", "wanted"]) if rows else ["  none"])


def _tls(audit):
    rows = [[item["port"], item["protocol"], item["subject"], item["not_after"], item["days_left"], _yes(item["self_signed"])]
            for item in audit["tls"]]
    return _title("Certificates") + _table(rows, ["port", "protocol", "subject", "ends", "days", "self-signed"]) if rows else None


def _findings(audit):
    lines = _title("Findings")
    if not audit["findings"]:
        return lines + ["  nothing stands out"]
    for item in audit["findings"]:
        mended = "  (mended by %s)" % item["fixed_by"] if item["fixed_by"] else ""
        lines.append("  %-6s %s%s" % (item["severity"], item["evidence"], mended))
    return lines


def _inventory(audit):
    foreign = [item for item in audit["engines"] if not item["managed"]]
    if not foreign:
        return None
    lines = _title("For the inventory, if the collection is to take over from these engines")
    lines += ["  " + line for line in replaces_yaml(audit).splitlines()]
    loose = [item for item in foreign if not (item["container"] or item["unit"])]
    lines += ["  # pid %s on %s runs in no container and no unit: stop it by hand, or make it a unit" % (item["pid"], item["url"])
              for item in loose]
    return lines
