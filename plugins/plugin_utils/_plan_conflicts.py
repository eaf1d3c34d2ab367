# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What already runs on the host and is in the way of a plan. Pure.

Input is the plan and what `host_audit_info` saw:
`{"engines": [{"container", "unit", "url", "api", "models", "pid", "managed"}],
  "listeners": [{"address", "port", "pid", "process", "container", "managed"}]}`.

Only an engine that `inference_replaces` names, together with `inference_cutover: true`,
may be taken out of the way; for any other the error prints the entry to paste.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import Problem

# The collection adds a site to the distribution's nginx, so an nginx of the host is not in the way.
_SHARED_SERVERS = ("nginx",)


def conflicts(plan, audit):
    """plan, audit -> [Problem]; empty when nothing foreign is in the way."""
    audit = audit or {}
    engines = _foreign_engines(plan, audit)
    held = _held_ports(plan, audit)
    problems, explained = [], set()
    for engine in engines:
        ports = sorted({item["port"] for item in held if _belongs(item, engine)})
        explained.update(ports)
        if plan["device"] == "cpu" and engine.get("process") not in _SHARED_SERVERS:
            reason = "uses the CPU, which the plan needs for {0}".format(_names(plan))
        elif ports:
            reason = "holds {0}, which the plan needs".format(_ports(ports))
        else:
            continue
        problems.extend(in_the_way(engine, reason, plan["replaces"], plan["cutover"]))
    for item in held:
        if item["port"] not in explained:
            explained.add(item["port"])
            problems.append(_foreign_listener(item, plan))
    return problems


def in_the_way(engine, reason, replaces, cutover):
    """One foreign engine and why it disturbs -> no problem if it may be stopped, or the one that says how."""
    found = "the engine {0} {1}".format(title(engine), reason)
    if named(engine, replaces):
        if cutover:
            return []
        return [
            Problem(
                found + "; inference_replaces names it, but nothing may stop it yet",
                "permission to stop it once the new engine is about to start",
                "inference_cutover: true",
            )
        ]
    if not engine.get("container") and not engine.get("unit"):
        return [
            Problem(
                found + "; it runs in no container and no unit",
                "an engine that can be started again, or none",
                "stop process {0} by hand, or run it as a systemd unit and name that in inference_replaces".format(
                    engine.get("pid")
                ),
            )
        ]
    return [
        Problem(
            found,
            "the engine named as what the plan replaces, or stopped by hand",
            "inference_replaces (the entry to paste is below)",
            entry=entry(engine),
        )
    ]


def entry(engine):
    """The `inference_replaces` entry for an audited engine."""
    result = {}
    if engine.get("container"):
        result["container"] = engine["container"]
    else:
        result["unit"] = engine["unit"]
    result["url"] = engine.get("url")
    result["api"] = engine.get("api") or "openai"
    models = engine.get("models") or []
    if models:
        result["model"] = models[0]
    return result


def named(engine, replaces):
    """Whether `inference_replaces` names this engine (or GPU process), by container or by unit."""
    for item in replaces:
        if item.get("container") and item["container"] == engine.get("container"):
            return True
        if item.get("unit") and engine.get("unit") and _unit(item["unit"]) == _unit(engine["unit"]):
            return True
    return False


def is_ours(engine, plan):
    if engine.get("managed"):
        return True
    return engine.get("container") in [item["container"] for item in plan["engines"]]


def title(engine):
    if engine.get("container"):
        name = "in container {0}".format(engine["container"])
    elif engine.get("unit"):
        name = "of unit {0}".format(engine["unit"])
    else:
        name = "with pid {0}".format(engine.get("pid"))
    details = [str(engine["url"])] if engine.get("url") else []
    details.extend(str(model) for model in engine.get("models") or [])
    return "{0} ({1})".format(name, ", ".join(details)) if details else name


def _foreign_engines(plan, audit):
    """Audited engines that are not ours, each once even where it answers on several ports.

    The host's nginx in front of an engine looks like one, and is none.
    """
    result, seen = [], set()
    for engine in audit.get("engines") or []:
        key = engine.get("container") or engine.get("unit") or engine.get("pid")
        proxy = engine.get("process") in _SHARED_SERVERS and not engine.get("container")
        if key not in seen and not proxy and not is_ours(engine, plan):
            seen.add(key)
            result.append(engine)
    return result


def _held_ports(plan, audit):
    """Listeners on a port of the plan that are neither ours nor a server that we share."""
    ours = {engine["container"] for engine in plan["engines"]}
    our_pids = set()
    for engine in audit.get("engines") or []:
        if engine.get("managed"):
            ours.add(engine.get("container"))
            our_pids.add(engine.get("pid"))
    ours.discard(None)
    our_pids.discard(None)
    engine_ports = {port for engine in plan["engines"] for port in engine["ports"]}
    result, seen = [], set()
    for item in sorted(audit.get("listeners") or [], key=lambda i: (i["port"], str(i.get("address")))):
        if item["port"] not in plan["reserved_ports"] or item["port"] in seen:
            continue
        if item.get("managed") or item.get("container") in ours or item.get("pid") in our_pids:
            continue
        shared = item.get("process") in _SHARED_SERVERS and not item.get("container")
        if shared and item["port"] not in engine_ports:
            continue
        seen.add(item["port"])
        result.append(item)
    return result


def _belongs(listener, engine):
    if engine.get("container"):
        if listener.get("container"):
            return listener["container"] == engine["container"]
    elif listener.get("container"):
        return False
    if engine.get("pid") is not None and listener.get("pid") == engine["pid"]:
        return True
    return url_port(engine.get("url")) == listener["port"]


def _foreign_listener(item, plan):
    holder = "container {0}".format(item["container"]) if item.get("container") else item.get("process") or "a process"
    for engine in plan["engines"]:
        if item["port"] in engine["ports"]:
            return Problem(
                "port {0}, planned for {1}, is held by {2} (pid {3})".format(
                    item["port"], engine["name"], holder, item.get("pid")
                ),
                "a port that nobody else listens on",
                "the model's port, or inference_first_port",
            )
    return Problem(
        "port {0}, which the collection serves on, is held by {1} (pid {2})".format(
            item["port"], holder, item.get("pid")
        ),
        "a port that nobody else listens on",
        "stop {0}, or serving_plan_frontend_ports together with the ports of role nginx_tls".format(holder),
    )


def url_port(url):
    """http://127.0.0.1:8000/v1 -> 8000; None when there is no number to find."""
    if not url:
        return None
    scheme, unused, rest = str(url).partition("://")
    host = rest.partition("/")[0]
    port = host.rpartition(":")[2]
    if ":" in host and port.isdigit():
        return int(port)
    return {"http": 80, "https": 443}.get(scheme)


def _unit(name):
    return name if "." in name else name + ".service"


def _names(plan):
    return ", ".join(engine["name"] for engine in plan["engines"])


def _ports(ports):
    return "{0} {1}".format("port" if len(ports) == 1 else "ports", ", ".join(str(port) for port in ports))
