# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs in Docker's daemon.json and how a running daemon takes it.

Pure: text and dictionaries in, text and dictionaries out. Reading files, talking to the daemon and signals are the
module's business. This file is private to the collection.
"""

from __future__ import annotations

import json

# Keys that the daemon takes over on SIGHUP. Everything else waits for a restart.
RELOADABLE = frozenset((
    "allow-nondistributable-artifacts",
    "authorization-plugins",
    "debug",
    "default-runtime",
    "insecure-registries",
    "labels",
    "live-restore",
    "max-concurrent-downloads",
    "max-concurrent-uploads",
    "max-download-attempts",
    "registry-mirrors",
    "runtimes",
    "shutdown-timeout",
))

# Where `GET /info` shows what the daemon really runs with.
_VISIBLE = {
    "data-root": lambda info: info.get("DockerRootDir"),
    "debug": lambda info: info.get("Debug"),
    "default-runtime": lambda info: info.get("DefaultRuntime"),
    "labels": lambda info: info.get("Labels") or [],
    "live-restore": lambda info: info.get("LiveRestoreEnabled"),
    "log-driver": lambda info: info.get("LoggingDriver"),
    "registry-mirrors": lambda info: [m.rstrip("/") for m in (info.get("RegistryConfig") or {}).get("Mirrors") or []],
    "storage-driver": lambda info: info.get("Driver"),
}

# The log drivers that understand max-size and max-file.
_FILE_LOG_DRIVERS = ("json-file", "local")

# Flags of dockerd whose name differs from the key in the file; the daemon refuses a setting given in both places.
_FLAG_ALIASES = {
    "H": "hosts", "host": "hosts", "label": "labels", "log-opt": "log-opts", "dns": "dns", "D": "debug",
    "l": "log-level", "G": "group", "s": "storage-driver", "storage-opt": "storage-opts", "exec-opt": "exec-opts",
    "add-runtime": "runtimes", "registry-mirror": "registry-mirrors", "insecure-registry": "insecure-registries",
    "default-address-pool": "default-address-pools", "b": "bridge",
}


class DaemonConfigError(ValueError):
    """The file cannot be used as it is; the message says where, what was found and what to do."""


def parse(text, path="/etc/docker/daemon.json"):
    """Text of daemon.json -> dict with the order of the file kept.

    A missing file is passed as None and, like an empty one, means no settings. Anything that is not exactly one JSON
    object raises DaemonConfigError with line and column.
    """
    if text is None or not text.strip():
        return {}
    duplicates = []

    def pairs(items):
        seen = {}
        for key, value in items:
            if key in seen:
                duplicates.append(key)
            seen[key] = value
        return seen

    try:
        data = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as exc:
        hint = "a second JSON document follows the first one" if exc.msg == "Extra data" else exc.msg
        raise DaemonConfigError(
            "{0} is not valid JSON: line {1}, column {2}: {3}. Nothing was written and Docker was left as it runs. "
            "Repair the file (or move it away to start without settings) and run again.".format(
                path, exc.lineno, exc.colno, hint)) from exc
    if not isinstance(data, dict):
        raise DaemonConfigError(
            "{0} holds a JSON {1}, wanted is one object {{...}}. Nothing was written. Repair the file and run again."
            .format(path, type(data).__name__))
    if duplicates:
        raise DaemonConfigError(
            "{0} names {1} more than once; which one counts cannot be kept in a rewrite. Nothing was written. "
            "Leave one of them and run again.".format(path, ", ".join(sorted(set(duplicates)))))
    return data


def normalise(settings):
    """The wanted settings in the types that dockerd demands: values of log-opts are strings, always."""
    result = {}
    for key, value in settings.items():
        if key == "log-opts" and isinstance(value, dict):
            value = {name: _text(item) for name, item in value.items()}
        result[key] = value
    return result


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def applicable(current, settings, swarm_active=False):
    """Leave out what this host must not get -> (settings, skipped).

    skipped is a list of {"key", "reason"}. A swarm node refuses to start with live-restore; the size limits of log
    files mean nothing to (and are refused by) log drivers that do not write files.
    """
    kept = dict(settings)
    skipped = []
    if swarm_active and kept.get("live-restore"):
        del kept["live-restore"]
        skipped.append({"key": "live-restore", "reason":
                        "this host is a swarm node, and Docker does not start with live-restore in swarm mode"})
    if "log-opts" in kept:
        driver = kept.get("log-driver", current.get("log-driver", "json-file"))
        if driver not in _FILE_LOG_DRIVERS:
            del kept["log-opts"]
            skipped.append({"key": "log-opts", "reason":
                            "the log driver here is %s, which takes no size limits" % driver})
    return kept, skipped


def merge(current, settings):
    """Deep merge: our keys win, foreign keys and their order stay. Lists are replaced as a whole."""
    result = dict(current)
    for key, value in settings.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merge(result[key], value)
        else:
            result[key] = value
    return result


def render(config):
    """Text of the file, four spaces as nvidia-ctk and Docker's own examples write it."""
    return json.dumps(config, indent=4, ensure_ascii=False) + "\n"


def changed_keys(before, after):
    """Top-level keys whose value differs, split by how the daemon takes them -> {"reload": [...], "restart": [...]}.

    A key that vanished counts as restart: the daemon keeps a dropped key until it starts anew.
    """
    result = {"reload": [], "restart": []}
    for key in sorted(set(before) | set(after)):
        if before.get(key) == after.get(key) and (key in before) == (key in after):
            continue
        result["reload" if key in RELOADABLE and key in after else "restart"].append(key)
    return result


def not_loaded(config, info):
    """Compare the file with `GET /info` -> list of {"key", "wanted", "running", "by": reload|restart}.

    Only keys that /info shows are judged; see invisible() for the others.
    """
    result = []
    for key in sorted(config):
        wanted = config[key]
        if key == "runtimes":
            known = set(info.get("Runtimes") or {})
            absent = sorted(set(wanted) - known)
            if absent:
                result.append({"key": key, "wanted": absent, "running": sorted(known), "by": "reload"})
            continue
        if key not in _VISIBLE:
            continue
        running = _VISIBLE[key](info)
        if key == "labels" and not set(wanted) - set(running):
            continue
        if key == "registry-mirrors":
            wanted = [item.rstrip("/") for item in wanted]
        if key == "data-root":
            wanted = wanted.rstrip("/") or "/"
        if running != wanted:
            result.append({"key": key, "wanted": wanted, "running": running,
                           "by": "reload" if key in RELOADABLE else "restart"})
    return result


def invisible(settings):
    """Our keys that only a restart loads and that /info does not show (log-opts, default-ulimits, ...)."""
    return sorted(key for key in settings if key not in RELOADABLE and key not in _VISIBLE)


def flag_names(cmdline):
    """Arguments of the running dockerd -> {key of daemon.json: flag as typed}.

    >>> flag_names(["dockerd", "-H", "fd://", "--live-restore"])
    {'hosts': '-H', 'live-restore': '--live-restore'}
    """
    found = {}
    for argument in cmdline[1:]:
        if not argument.startswith("-"):
            continue
        flag = argument.split("=", 1)[0]
        name = flag.lstrip("-")
        if not flag.startswith("--") and len(name) > 1:
            name = name[0]
        found[_FLAG_ALIASES.get(name, name)] = flag
    return found


def conflicts(settings, cmdline):
    """Settings that the daemon's command line gives too: with both, dockerd refuses to start -> list of sentences."""
    flags = flag_names(cmdline)
    return ["%s is set by the flag %s of the running dockerd" % (key, flags[key])
            for key in sorted(settings) if key in flags]


def runtime_binaries(config):
    """Paths of the runtimes the file names; dockerd accepts one that does not exist and then starts no container.

    Returns (paths, problem): problem is a sentence when default-runtime names a runtime nobody defines.
    """
    runtimes = config.get("runtimes") or {}
    paths = {name: item.get("path") for name, item in runtimes.items() if isinstance(item, dict) and item.get("path")}
    default = config.get("default-runtime")
    if default and default not in runtimes and default not in ("runc", "io.containerd.runc.v2"):
        return paths, "default-runtime is %s, but runtimes does not define it" % default
    return paths, None
