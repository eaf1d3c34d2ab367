# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The specification of one engine (engines/SLUG.json): read, checked, completed with defaults.

Its shape is docs/contracts/engine.schema.json. Every error names the file and the key.
"""

from __future__ import annotations

import hashlib
import json

from . import paths

SCHEMA_VERSION = 1
_REQUIRED = object()

# Part of the container itself: when one of these differs, the container has to be made anew.
_CONTAINER_KEYS = (
    "slug", "container", "image", "image_id", "entrypoint", "command", "environment", "mounts", "labels", "user",
    "address", "port", "served_model", "devices", "device_requests", "shm_size_bytes", "memory_bytes", "nano_cpus",
    "ulimits", "extra_host_config",
)

# What the supervisor itself guarantees about a container; extra_host_config must not undo it.
_OWN_HOST_CONFIG = ("NetworkMode", "RestartPolicy", "AutoRemove", "Privileged", "CapDrop", "LogConfig", "Mounts", "Binds", "PortBindings")


class SpecError(Exception):
    """The specification is missing, unreadable or wrong; the text says where and what is wanted."""


class _Field:
    """Type, default and an extra check (value -> None or what is wanted) of one key."""

    def __init__(self, kind, default=_REQUIRED, check=None, null=False):
        self.kind = kind
        self.default = default
        self.check = check
        self.null = null or default is None


def _positive(value):
    return None if value > 0 else "a number above 0"


def _not_negative(value):
    return None if value >= 0 else "a number not below 0"


def _port(value):
    return None if 1 <= value <= 65535 else "a port, 1 to 65535"


def _text(value):
    return None if value else "a text that is not empty"


def _slug(value):
    return None if paths.is_slug(value) else "lower-case letters, digits, '.' and '-', at most 63 characters"


def _http_path(value):
    return None if value.startswith("/") else "a path that begins with '/'"


def _strings(value):
    return None if all(isinstance(item, str) for item in value) else "a list of texts"


def _devices(value):
    if not value or _strings(value) or not all(value):
        return 'a list of at least one device: "cpu" or the UUIDs of GPUs'
    return None


def _string_map(value):
    return None if all(isinstance(item, str) for item in value.values()) else "texts as values"


def _objects(value):
    return None if all(isinstance(item, dict) for item in value) else "a list of objects"


def _mounts(value):
    for mount in value:
        wanted = isinstance(mount, dict) and all(isinstance(mount.get(k), str) and mount[k].startswith("/") for k in ("source", "target"))
        if not wanted or not isinstance(mount.get("read_only", True), bool):
            return "objects with the absolute paths 'source' and 'target', and 'read_only' (boolean)"
    return None


def _metric(value):
    names = [value] if isinstance(value, str) else value
    return None if isinstance(names, list) and not _strings(names) else "the name of a metric, or a list of names"


def _host_config(value):
    clash = sorted(set(value) & set(_OWN_HOST_CONFIG))
    return "no %s: inferctl sets it itself" % ", ".join(clash) if clash else None


_NUMBER = (int, float)

_FIELDS = {
    "schema_version": _Field(int, check=lambda value: None if value == SCHEMA_VERSION else "%d" % SCHEMA_VERSION),
    "name": _Field(str, check=_text),
    "slug": _Field(str, check=_slug),
    "container": _Field(str, check=_text),
    "image": _Field(str, check=_text),
    "image_id": _Field(str, None),
    "entrypoint": _Field(list, None, _strings),
    "command": _Field(list, check=_strings),
    "user": _Field(str, None),
    "environment": _Field(dict, {}, _string_map),
    "mounts": _Field(list, [], _mounts),
    "labels": _Field(dict, {}, _string_map),
    "address": _Field(str, "127.0.0.1", _text),
    "port": _Field(int, check=_port),
    "served_model": _Field(str, check=_text),
    "key_file": _Field(str, None),
    "devices": _Field(list, check=_devices),
    "device_requests": _Field(list, [], _objects),
    "shm_size_bytes": _Field(int, None, _positive),
    "memory_bytes": _Field(int, None, _positive),
    "nano_cpus": _Field(int, None, _positive),
    "ulimits": _Field(list, [], _objects),
    "extra_host_config": _Field(dict, {}, _host_config),
    "readiness": _Field(dict),
    "liveness": _Field(dict, {}),
    "drain": _Field(dict, {}),
    "backoff": _Field(dict, {}),
}

_SECTIONS = {
    "readiness": {
        "health_path": _Field(str, "/health", _http_path),
        "request": _Field(dict, None),
        "load_seconds": _Field(_NUMBER, 1800, _positive),
        "request_seconds": _Field(_NUMBER, 60, _positive),
    },
    "readiness.request": {
        "path": _Field(str, check=_http_path),
        "body": _Field(dict),
    },
    "liveness": {"hang_seconds": _Field(_NUMBER, 120, _positive)},
    "drain": {
        "metrics_path": _Field(str, "/metrics", _http_path),
        "running_metric": _Field((str, list), None, _metric),
        "drain_seconds": _Field(_NUMBER, 60, _not_negative),
        "stop_seconds": _Field(_NUMBER, 20, _not_negative),
    },
    "backoff": {
        "base_seconds": _Field(_NUMBER, 2, _not_negative),
        "max_seconds": _Field(_NUMBER, 900, _not_negative),
        "window_seconds": _Field(_NUMBER, 3600, _positive),
    },
}

_TYPE_NAMES = {str: "text", int: "whole number", list: "list", dict: "object", _NUMBER: "number", (str, list): "text or list"}


def load(path):
    """Read and check the specification at path -> complete dict. SpecError; PermissionError is left to the caller."""
    try:
        with open(path, encoding="utf-8") as handle:
            data = json.load(handle)
    except FileNotFoundError:
        raise SpecError("%s does not exist: the engine was never configured, or its name is misspelt" % path) from None
    except ValueError as exc:
        raise SpecError("%s is not valid JSON: %s" % (path, exc)) from None
    return validate(data, path)


def validate(data, where):
    """Check data -> a new dict with every key present. SpecError lists all problems, each with its key."""
    problems = []
    if not isinstance(data, dict):
        raise SpecError("%s: found %s, wanted an object" % (where, type(data).__name__))
    result = _section(data, _FIELDS, "", problems)
    for name in ("readiness", "liveness", "drain", "backoff"):
        if isinstance(result.get(name), dict):
            result[name] = _section(result[name], _SECTIONS[name], name + ".", problems)
    request = (result.get("readiness") or {}).get("request")
    if isinstance(request, dict):
        result["readiness"]["request"] = _section(request, _SECTIONS["readiness.request"], "readiness.request.", problems)
    if problems:
        raise SpecError("%s: %s" % (where, "; ".join(problems)))
    return result


def _section(data, fields, prefix, problems):
    result = {}
    for key in sorted(set(data) - set(fields)):
        problems.append("unknown key '%s%s'" % (prefix, key))
    for key, field in fields.items():
        if key not in data:
            if field.default is _REQUIRED:
                problems.append("key '%s%s' is missing" % (prefix, key))
            else:
                result[key] = json.loads(json.dumps(field.default))
            continue
        value = result[key] = data[key]
        if value is None and field.null:
            continue
        wanted = _wanted(value, field)
        if wanted:
            problems.append("key '%s%s': found %s, wanted %s" % (prefix, key, json.dumps(value), wanted))
    return result


def _wanted(value, field):
    # a boolean is an int to Python, but never a number to a reader
    if not isinstance(value, field.kind) or isinstance(value, bool):
        return _TYPE_NAMES[field.kind]
    return field.check(value) if field.check else None


def config_hash(spec):
    """Hash (16 hex digits) over everything that is fixed when the container is created, and nothing else."""
    return digest({key: spec[key] for key in _CONTAINER_KEYS})


def digest(data):
    """Hash (16 hex digits) over JSON data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
