# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The serving plan: inventory and GPU facts in, one complete plan out, or every reason why not.

Pure: reads no file and asks no host. The same inventory gives the same plan whether
our own engines run or not (sizes come from total memory, ports from list order), so a
second run changes nothing.

`build(models, gpu, options)`:

* models: `inference_models` as written.
* gpu: facts `indiaai_gpu` (docs/contracts/gpu_facts.schema.json), or {}.
* options: {"engines": [profile names], "paths": {...}, "device", "address", "server_name",
  "first_port", "frontend_ports", "reserved_ports", "host_reserve_mib", "replaces",
  "cutover", "audit", "platform": {"name", "version", "supported": {name: [versions]},
  "unsupported_ok"}, "unknown_variables": [{"name", "nearest"}],
  "missing_archives": [path]}; only the first two
  are required.

Returns the dict described by docs/contracts/plan.schema.json, raises `PlanError`.
"""

from __future__ import annotations

import ipaddress

from ansible_collections.indiaai.inference.plugins.plugin_utils import (
    _plan_conflicts,
    _plan_memory,
    _plan_models,
    _plan_ports,
)
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import PlanError, Problem

SCHEMA_VERSION = 1
FIRST_PORT = 30000
HOST_RESERVE_MIB = 3072
FRONTEND_PORTS = (80, 443)

DEVICES = ("auto", "gpu", "cpu")
APIS = ("openai", "ollama")


def build(models, gpu, options):
    """See the module's text."""
    problems = _typos(options) + _platform(options)
    settings = _settings(options, problems)
    normal, found = _plan_models.check(models, options["engines"])
    problems.extend(found)
    problems.extend(_archives(normal, options))
    ports, found = _plan_ports.allocate(normal, settings["first_port"], settings["reserved"])
    problems.extend(found)
    device = _device(settings["device"], gpu or {}, problems)
    places, table, notes = _places(normal, device, gpu or {}, settings, options.get("audit"), problems)
    plan = _assemble(normal, ports, places, device, table, notes, settings, options["paths"])
    problems.extend(_plan_conflicts.conflicts(plan, options.get("audit")))
    if problems:
        raise PlanError(_without_repeats(problems), settings["replaces"])
    return plan


def _assemble(normal, ports, places, device, table, notes, settings, paths):
    engines = []
    for model, port, place in zip(normal, ports, places):
        engines.append(
            {
                "name": model["name"],
                "slug": model["slug"],
                "profile": model["engine"],
                "container": "inference-{0}".format(model["slug"]),
                "unit": "inference-engine@{0}.service".format(model["slug"]),
                "order": 0,
                "source": model["source"],
                "revision": model["revision"],
                "served_model": model["name"],
                "aliases": model["aliases"],
                "port": port["port"],
                "ports": port["ports"],
                "url": "http://{0}:{1}".format(_host(settings["address"]), port["port"]),
                "devices": place["devices"],
                "memory_mib": place["memory_mib"],
                "context_length": model["context_length"],
                "max_running_requests": model["max_running_requests"],
                "image": model["image"],
                "image_archive": model["image_archive"],
                "args": port["args"],
                "env": model["env"],
            }
        )
    for order, number in enumerate(_start_order(engines), start=1):
        engines[number]["order"] = order
    reserved = set(settings["reserved"])
    for engine in engines:
        reserved.update(engine["ports"])
    return {
        "schema_version": SCHEMA_VERSION,
        "device": device,
        "address": settings["address"],
        "server_name": settings["server_name"],
        "paths": dict(paths),
        "engines": engines,
        "gateway": {
            "socket": paths["gateway_socket"],
            "models": [
                {
                    "name": engine["name"],
                    "aliases": engine["aliases"],
                    "url": engine["url"],
                    "upstream_model": engine["served_model"],
                    "key_file": "{0}/{1}.key".format(paths["engines"], engine["slug"]),
                }
                for engine in engines
            ],
        },
        "reserved_ports": sorted(reserved),
        "replaces": settings["replaces"],
        "cutover": settings["cutover"],
        "memory": {"devices": table},
        "notes": notes,
    }


def _start_order(engines):
    """Engines start one after another, the largest first; TEI last: it has no cap and takes what it needs."""
    return sorted(
        range(len(engines)),
        key=lambda n: (engines[n]["profile"] == "tei", -(engines[n]["memory_mib"] or 0), n),
    )


def _settings(options, problems):
    """The scalar options, checked; a wrong one is reported and replaced by its default."""
    reserved = {}
    for port in options.get("frontend_ports", FRONTEND_PORTS):
        _reserve(reserved, port, "the public entrance (nginx)", "serving_plan_frontend_ports", 1, problems)
    for port in options.get("reserved_ports", ()):
        _reserve(reserved, port, "serving_plan_reserved_ports", "serving_plan_reserved_ports", 1, problems)
    device = options.get("device") or "auto"
    if device not in DEVICES:
        problems.append(_wrong("inference_device", device, "one of {0}".format(", ".join(DEVICES))))
        device = "cpu"
    return {
        "reserved": reserved,
        "device": device,
        "address": _address(options.get("address") or "127.0.0.1", problems),
        "server_name": options.get("server_name") or "localhost",
        "first_port": _whole(
            options, "first_port", FIRST_PORT, _plan_models.PORT_MIN, _plan_models.PORT_MAX, problems
        ),
        "reserve_mib": _whole(options, "host_reserve_mib", HOST_RESERVE_MIB, 0, None, problems),
        "replaces": _replaces(options.get("replaces") or [], problems),
        "cutover": bool(options.get("cutover", False)),
    }


def _reserve(reserved, port, holder, variable, low, problems):
    number = _plan_models.as_int(port)
    if number is None or not low <= number <= _plan_models.PORT_MAX:
        problems.append(_wrong(variable, port, "ports from {0} to {1}".format(low, _plan_models.PORT_MAX)))
    else:
        reserved.setdefault(number, holder)


def _whole(options, key, default, low, high, problems):
    value = options.get(key)
    if value is None:
        return default
    number = _plan_models.as_int(value)
    if number is not None and number >= low and (high is None or number <= high):
        return number
    wanted = "a whole number from {0} to {1}".format(low, high) if high else "a whole number, {0} or more".format(low)
    problems.append(_wrong("inference_" + key, value, wanted))
    return default


def _address(value, problems):
    try:
        return str(ipaddress.ip_address(str(value)))
    except ValueError:
        problems.append(_wrong("inference_address", value, "an IP address of this host, such as 127.0.0.1"))
        return "127.0.0.1"


def _host(address):
    return "[{0}]".format(address) if ":" in address else address


def _replaces(value, problems):
    if not isinstance(value, list):
        problems.append(_wrong("inference_replaces", value, "a list of {container or unit, url, api, model}"))
        return []
    result = []
    for number, item in enumerate(value):
        where = "inference_replaces[{0}]".format(number)
        if not isinstance(item, dict):
            problems.append(_wrong(where, item, "a mapping {container or unit, url, api, model}"))
            continue
        item = {key: item[key] for key in item if item[key] not in (None, "")}
        unknown = sorted(set(item) - {"container", "unit", "url", "api", "model"})
        wanted = None
        if unknown:
            wanted = "only the keys container, unit, url, api, model"
        elif ("container" in item) == ("unit" in item):
            wanted = "either container or unit, and not both"
        elif not str(item.get("url", "")).startswith(("http://", "https://")):
            wanted = "a url that begins with http:// or https://"
        elif item.get("api", "openai") not in APIS:
            wanted = "api: {0}".format(" or ".join(APIS))
        elif any(not isinstance(item[key], str) for key in item):
            wanted = "text for every key"
        if wanted:
            problems.append(_wrong(where, item, wanted))
            continue
        item.setdefault("api", "openai")
        result.append({key: item[key] for key in ("container", "unit", "url", "api", "model") if key in item})
    return result


def _device(wish, gpu, problems):
    """auto is the GPU where one works and the CPU where there is none; a GPU that does not work is an error."""
    if wish == "cpu":
        return "cpu"
    state = gpu.get("state") or "no_gpu"
    if state == "ok":
        return "gpu"
    if state == "no_gpu" and wish == "auto":
        return "cpu"
    problems.append(
        Problem(
            "GPU state {0}: {1}".format(state, gpu.get("reason") or "nothing was reported"),
            "a GPU with a working driver",
            "install or repair the driver, or set inference_device: cpu",
        )
    )
    return "gpu"


def _places(normal, device, gpu, settings, audit, problems):
    """Devices and memory of every model -> (places, table of devices, notes)."""
    if device == "cpu":
        return [{"devices": ["cpu"], "memory_mib": model["gpu_memory_mib"]} for model in normal], [], []
    empty = [{"devices": [], "memory_mib": None} for unused in normal]
    if gpu.get("state") != "ok":
        return empty, [], []
    good, bad = _plan_memory.usable(gpu.get("gpus") or [])
    notes = ["GPU {0} ({1}) is left out: {2}.".format(item.get("index"), item.get("uuid"), why) for item, why in bad]
    if not good:
        problems.append(
            Problem(
                "no GPU can serve. {0}".format(" ".join(notes)),
                "at least one GPU in state ok, without MIG",
                "repair the GPU, or set inference_device: cpu",
            )
        )
        return empty, [], notes

    def is_replaced(process):
        return settings["cutover"] and _plan_conflicts.named(process, settings["replaces"])

    places, table, found = _plan_memory.assign(normal, good, settings["reserve_mib"], is_replaced)
    for problem, holders in found:
        # Who has lost a GPU would look for the fault in the models.
        problem.found = " ".join([problem.found] + notes)
        problems.append(problem)
        for engine in _engines_of(holders, audit):
            problems.extend(
                _plan_conflicts.in_the_way(
                    engine, "holds GPU memory that the plan needs", settings["replaces"], settings["cutover"]
                )
            )
    return places, table, notes


def _engines_of(processes, audit):
    """The audited foreign engines that these GPU processes belong to, each once."""
    result = []
    for engine in (audit or {}).get("engines") or []:
        if engine.get("managed"):
            continue
        for process in processes:
            same_container = engine.get("container") and engine["container"] == process.get("container")
            same_unit = engine.get("unit") and engine["unit"] == process.get("unit")
            if same_container or same_unit or (engine.get("pid") and engine["pid"] == process.get("pid")):
                result.append(engine)
                break
    return result


def _typos(options):
    return [
        Problem(
            "the unknown variable {0}".format(item["name"]),
            "a variable that the collection knows; the nearest one is {0}".format(item["nearest"]),
            "{0} (rename it to {1}, or remove it)".format(item["name"], item["nearest"]),
        )
        for item in options.get("unknown_variables") or []
    ]


def _archives(normal, options):
    return [
        Problem(
            "{0} has image_archive {1}, and the control machine has no such file".format(
                model["name"], model["image_archive"]
            ),
            "an archive made by docker save",
            "inference_models[{0}].image_archive".format(model["position"]),
        )
        for model in normal
        if model["image_archive"] in (options.get("missing_archives") or [])
    ]


def _platform(options):
    platform = options.get("platform")
    if not platform or platform.get("unsupported_ok"):
        return []
    if str(platform["version"]) in [str(v) for v in platform["supported"].get(platform["name"], [])]:
        return []
    wanted = "; ".join(
        "{0} {1}".format(name, ", ".join(str(v) for v in versions))
        for name, versions in sorted(platform["supported"].items())
    )
    return [
        Problem(
            "the host runs {0} {1}".format(platform["name"], platform["version"]),
            wanted,
            "serving_plan_unsupported_os_ok: true, to try it at your own risk",
        )
    ]


def _wrong(variable, value, wanted):
    return Problem("{0} is {1}".format(variable, _plan_models.shown(value)), wanted, variable)


def _without_repeats(problems):
    """One engine may disturb in two ways; the same sentence is said once."""
    result, seen = [], set()
    for problem in problems:
        key = (problem.found, problem.change)
        if key not in seen:
            seen.add(key)
            result.append(problem)
    return result
