# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From one engine of the plan and its profile to the specification that the host program runs. Pure."""

from __future__ import annotations

import json
import math

from ansible_collections.indiaai.inference.plugins.plugin_utils import _engine_command_args as _args

SCHEMA_VERSION = 1
MIB = 1024 * 1024


class EngineCommandError(ValueError):
    """What the inventory asks cannot be run; the text names every problem and the variable to change."""


def build_spec(engine, profiles, options):
    """The engine specification (schema docs/contracts/engine.schema.json).

    :param engine: one entry of the plan's engines.
    :param profiles: profiles by name, as the role's vars/profiles hold them.
    :param options: engines_dir (folder of specification and key), image (for engines without one of their own), entrypoint (instead of the profile's),
        image_refs and image_ids ({slug: reference or id}, where an archive or the host decided), memory (the plan's memory),
        ready_seconds, drain_seconds, stop_seconds, cpus (cores, 0 for all), memory_limit_mib (0 for no limit).
    :raises EngineCommandError: naming every problem of this engine at once.
    """
    name = engine["name"]
    profile = profiles.get(engine["profile"])
    if profile is None:
        raise EngineCommandError(
            "model '%s': engine '%s' has no profile; known are: %s (inference_models[].engine)" % (name, engine["profile"], ", ".join(sorted(profiles)))
        )
    variant_name = "cpu" if list(engine["devices"]) == ["cpu"] else "gpu"
    variant = profile["variants"].get(variant_name)
    if variant is None:
        raise EngineCommandError(
            "model '%s': engine '%s' does not run on %s; known: %s (inference_device)"
            % (name, engine["profile"], variant_name, ", ".join(sorted(profile["variants"])))
        )

    problems = []
    known = options.get("image_refs") or {}
    image = known.get(engine["slug"]) or engine.get("image") or options.get("image") or variant.get("image")
    if not image:
        problems.append(
            "engine '%s' has no image of its own for %s; name one in inference_models[].image or inference_engine_image" % (engine["profile"], variant_name)
        )
    flags = [flag for flag in profile["flags"] if variant_name in flag.get("variants", [variant_name])]
    reserved = dict(profile.get("reserved", {}))
    reserved.update({flag["flag"]: flag["set_by"] for flag in flags})
    problems += _args.check_args(engine.get("args") or {}, reserved)
    problems += _args.check_environment(engine.get("env") or {}, profile.get("reserved_environment", {}))
    fraction = None
    if variant_name == "gpu" and any(flag["value"] == "memory_fraction" for flag in flags):
        fraction, problem = memory_fraction(engine, options.get("memory"))
        problems += [problem] if problem else []
    if problems:
        raise EngineCommandError("\n".join("model '%s': %s" % (name, problem) for problem in problems))

    stop_seconds = int(options["stop_seconds"])
    values = {
        "model_path": profile["model_mount"],
        "served_names": [engine["served_model"]] + [alias for alias in engine.get("aliases") or [] if alias != engine["served_model"]],
        "address": _address(engine),
        "port": engine["port"],
        "context_length": engine.get("context_length"),
        "max_running_requests": engine.get("max_running_requests"),
        "memory_fraction": fraction,
        "key_path": profile["key"]["mount"] if profile.get("key") else None,
        # Docker sends SIGKILL stop_seconds after SIGTERM: the engine gives up a little before and leaves in order.
        "shutdown_seconds": max(1, stop_seconds - 5),
    }
    return {
        "schema_version": SCHEMA_VERSION,
        "name": name,
        "slug": engine["slug"],
        "container": engine["container"],
        "image": image,
        "image_id": (options.get("image_ids") or {}).get(engine["slug"]),
        "entrypoint": options.get("entrypoint") or profile.get("entrypoint"),
        "command": _command(profile, variant, flags, values, engine),
        "environment": _environment(profile, variant, engine),
        "mounts": _mounts(profile, engine, options["engines_dir"]),
        "labels": {},
        "address": values["address"],
        "port": engine["port"],
        "served_model": engine["served_model"],
        "key_file": key_file(engine, options["engines_dir"]) if profile.get("key") else None,
        "devices": list(engine["devices"]),
        "device_requests": [] if variant_name == "cpu" else [_device_request(engine["devices"])],
        "shm_size_bytes": variant["shm_size_mib"] * MIB if variant.get("shm_size_mib") else None,
        "memory_bytes": int(options.get("memory_limit_mib") or 0) * MIB or None,
        "nano_cpus": int(round(float(options.get("cpus") or 0) * 1e9)) or None,
        "ulimits": [dict(limit) for limit in variant.get("ulimits") or []],
        "user": profile.get("user"),
        "extra_host_config": dict(variant.get("extra_host_config") or {}),
        "readiness": {
            "health_path": profile["readiness"]["health_path"],
            "request": {
                "path": profile["readiness"]["path"],
                "body": dict(profile["readiness"]["body"], model=engine["served_model"]),
            },
            "load_seconds": int(options["ready_seconds"]),
            "request_seconds": profile["readiness"]["request_seconds"],
        },
        "liveness": dict(profile["liveness"]),
        "drain": {
            "metrics_path": profile["metrics"]["path"],
            "running_metric": profile["metrics"]["running"],
            "drain_seconds": int(options["drain_seconds"]),
            "stop_seconds": stop_seconds,
        },
        "backoff": dict(profile["backoff"]),
    }


def memory_fraction(engine, memory):
    """How much of each device the engine may take, as (fraction, problem).

    The plan's size is for each of the engine's devices. The fraction is rounded down to two decimals: rounded up, several engines
    of one device could add up to more than the plan gave. It is None without a problem when the plan sets no size for this engine.
    """
    planned = engine.get("memory_mib")
    if planned is None:
        return None, None
    totals = {entry["device"]: entry["total_mib"] for entry in (memory or {}).get("devices", [])}
    unknown = [device for device in engine["devices"] if not totals.get(device)]
    if unknown:
        return None, "the plan has no memory size for device %s (inference_device)" % ", ".join(unknown)
    smallest = min(totals[device] for device in engine["devices"])
    fraction = math.floor(planned * 100.0 / smallest) / 100.0
    if not 0 < fraction <= 1:
        return None, "%s MiB planned on a device of %s MiB; change inference_models[].gpu_memory_mib" % (planned, smallest)
    return fraction, None


def key_file(engine, engines_dir):
    """Where the engine's key lies on the host."""
    return "%s/%s.key" % (engines_dir, engine["slug"])


def secret_file(engine, engines_dir):
    """Where the settings file that carries the key into the container lies on the host."""
    return "%s/%s.secret.yaml" % (engines_dir, engine["slug"])


def _address(engine):
    # The plan's url is made from the address the engine shall listen on: http://ADDRESS:PORT.
    host = engine["url"].split("://", 1)[1].rsplit(":", 1)[0]
    return host.strip("[]")


def _command(profile, variant, flags, values, engine):
    words = []
    for flag in flags:
        words += _args.render_flag(flag["flag"], values[flag["value"]], profile.get("repeated", ()))
    for name, value in _args.merge_args(variant.get("args"), engine.get("args")):
        words += _args.render_flag(name, value, profile.get("repeated", ()))
    return words


def _environment(profile, variant, engine):
    merged = dict(profile.get("environment") or {})
    merged.update(variant.get("environment") or {})
    merged.update(engine.get("env") or {})
    return {name: _env_text(merged[name]) for name in sorted(merged) if merged[name] is not None}


def _env_text(value):
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True)
    return str(value)


def _mounts(profile, engine, engines_dir):
    mounts = [{"source": engine["source"], "target": profile["model_mount"], "read_only": True}]
    if profile.get("key"):
        mounts.append({"source": secret_file(engine, engines_dir), "target": profile["key"]["mount"], "read_only": True})
    return mounts


def _device_request(devices):
    return {"Driver": "nvidia", "DeviceIDs": list(devices), "Capabilities": [["gpu", "utility", "compute"]], "Options": {}}
