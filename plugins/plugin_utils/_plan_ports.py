# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Gives every engine its ports, the hidden ones too. Pure and deterministic.

Engines run on the host's network, so each port that an engine opens by itself is a
port of the host. Two such ports are known and are pinned here by a flag:

* TEI serves its metrics a second time on `--prometheus-port`, 9000 if not told.
* SGLang draws its NCCL port at random above its own port if not told.

Nothing here looks at the host: a port that our own engine holds must not move the
plan. Ports that somebody else holds are the business of `_plan_conflicts`.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_models import PORT_MAX, PORT_MIN, as_int
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import Problem

# engine -> [(flag, first port to try or None: DERIVED_OFFSET above the first engine port)]
_DERIVED = {
    "tei": [("prometheus-port", 9000)],
    "sglang": [("nccl-port", None)],
}
DERIVED_OFFSET = 1000


def allocate(models, first_port, reserved):
    """models: from `_plan_models.check`; reserved: {port: what holds it}.

    Returns ([{"port", "ports", "args"}] in the order of `models`, problems). `args` is
    the model's own plus the flags that pin its hidden ports.
    """
    problems = []
    taken = dict(reserved)
    result = [{"port": None, "ports": [], "args": dict(model["args"])} for model in models]
    # What a person fixed comes first, so that no automatic port lands on it.
    for model, entry in zip(models, result):
        where = "inference_models[{0}]".format(model["position"])
        if model["port"] is not None:
            _fix(model, entry, model["port"], where + ".port", taken, problems)
            entry["port"] = model["port"]
        for flag, unused in _DERIVED.get(model["engine"], []):
            if flag in entry["args"]:
                port = as_int(entry["args"][flag])
                if port is None or not PORT_MIN <= port <= PORT_MAX:
                    problems.append(
                        Problem(
                            "{0} sets {1} to {2!r}".format(model["name"], flag, entry["args"][flag]),
                            "a port from {0} to {1}".format(PORT_MIN, PORT_MAX),
                            "{0}.args.{1}".format(where, flag),
                        )
                    )
                else:
                    _fix(model, entry, port, "{0}.args.{1}".format(where, flag), taken, problems)
    for model, entry in zip(models, result):
        if entry["port"] is None:
            entry["port"] = _next(first_port, model["name"], taken, problems)
            if entry["port"] is not None:
                entry["ports"].append(entry["port"])
    for model, entry in zip(models, result):
        for flag, start in _DERIVED.get(model["engine"], []):
            if flag not in entry["args"]:
                port = _next(start or first_port + DERIVED_OFFSET, "{0}, {1}".format(model["name"], flag), taken, problems)
                if port is not None:
                    entry["args"][flag] = port
                    entry["ports"].append(port)
        # The port that clients of the engine use is always the first one.
        entry["ports"].sort(key=lambda port: (port != entry["port"], port))
    return result, problems


def _fix(model, entry, port, change, taken, problems):
    if port in taken:
        problems.append(
            Problem(
                "{0} wants port {1}, which {2} has".format(model["name"], port, taken[port]),
                "a port of its own for every engine",
                change,
            )
        )
        return
    taken[port] = "model {0!r}".format(model["name"])
    entry["ports"].append(port)


def _next(start, holder, taken, problems):
    for port in range(start, PORT_MAX + 1):
        if port not in taken:
            taken[port] = "model {0!r}".format(holder)
            return port
    problems.append(
        Problem(
            "no free port for {0} from {1} to {2}".format(holder, start, PORT_MAX),
            "room for every engine's ports",
            "inference_first_port",
        )
    )
    return None
