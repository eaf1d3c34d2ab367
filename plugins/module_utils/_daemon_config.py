# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What belongs in Docker's daemon.json on this host, and what of it the running daemon has not taken over.

Pure: dictionaries in, dictionaries out. Reading files, talking to the daemon and signals are the module's business. The
text of the file is _daemon_text, the table of keys _daemon_keys. This file is private to the collection.
"""

from __future__ import annotations

import ipaddress

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_keys
from ansible_collections.indiaai.inference.plugins.module_utils import _ulimits

# The log drivers that understand max-size and max-file.
_FILE_LOG_DRIVERS = ("json-file", "local")

# Runtimes that dockerd brings itself.
_OWN_RUNTIMES = ("runc", "io.containerd.runc.v2", "io.containerd.runtime.v1.linux")

# Flags of dockerd whose name differs from the key in the file; the daemon refuses a setting given in both places.
_FLAG_ALIASES = {
    "H": "hosts", "host": "hosts", "label": "labels", "log-opt": "log-opts", "dns": "dns", "D": "debug",
    "l": "log-level", "G": "group", "s": "storage-driver", "storage-opt": "storage-opts", "exec-opt": "exec-opts",
    "add-runtime": "runtimes", "registry-mirror": "registry-mirrors", "insecure-registry": "insecure-registries",
    "default-address-pool": "default-address-pools", "b": "bridge", "default-ulimit": "default-ulimits",
    "dns-opt": "dns-opts", "authorization-plugin": "authorization-plugins", "p": "pidfile", "feature": "features",
}


def normalise(settings):
    """The wanted settings in the types that dockerd demands: values of log-opts are strings, limits are objects."""
    result = {}
    for key, value in settings.items():
        if key == "log-opts" and isinstance(value, dict):
            value = {name: _text(item) for name, item in value.items()}
        elif key == "default-ulimits" and isinstance(value, dict):
            value = _ulimits.normalise(value)
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


def complete(current, settings, defaults):
    """Those of the defaults that neither the file nor the settings speak of, added to the settings.

    >>> complete({"runtimes": {"nvidia": {"path": "/opt/n"}}}, {}, {"runtimes": {"nvidia": {"path": "n", "args": []}}})
    {}
    """
    result = dict(settings)
    for key, value in defaults.items():
        if isinstance(value, dict) and key in ("runtimes", "features"):  # maps of independent things
            missing = {name: item for name, item in value.items()
                       if name not in (current.get(key) or {}) and name not in (settings.get(key) or {})}
            if missing:
                result[key] = merge(result.get(key) or {}, missing)
        elif key not in current and key not in settings:
            result[key] = value
    return result


def changed_keys(before, after):
    """Top-level keys whose value differs, split by how the daemon takes them -> {"reload": [...], "restart": [...]}.

    A key that vanished counts as restart: the daemon keeps a dropped key until it starts anew.
    """
    result = {"reload": [], "restart": []}
    for key in sorted(set(before) | set(after)):
        if key in before and key in after and _daemon_keys.same(before[key], after[key]):
            continue
        by = _daemon_keys.loaded_by(key) if key in after else _daemon_keys.RESTART
        result[by].append(key)
    return result


def not_loaded(config, info):
    """Compare the file with `GET /info` -> list of {"key", "wanted", "running", "by": reload|restart}.

    Only keys that /info shows are judged; see invisible() for the others.
    """
    result = []
    for key in sorted(config):
        found = _daemon_keys.shown(key, config[key], info)
        if found is not None and not found[1]:
            result.append({"key": key, "wanted": config[key], "running": found[0], "by": _daemon_keys.loaded_by(key)})
    return result


def invisible(settings, info):
    """Our keys that only a restart loads and that this daemon's /info does not show (log-opts, default-ulimits, ...)."""
    return sorted(key for key in settings if _daemon_keys.loaded_by(key) == _daemon_keys.RESTART
                  and _daemon_keys.shown(key, settings[key], info) is None)


def flag_names(cmdline):
    """Arguments of dockerd -> {key of daemon.json: flag as typed}.

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


def unit_command(text):
    """Output of `systemctl show --property=ExecStart` -> the arguments, [] when there is no such unit.

    The running daemon has the arguments it was started with; those of the unit count at its next start.
    """
    for part in text.split(";"):
        name, equals, value = part.strip().partition("argv[]=")
        if equals:
            return value.split()
    return []


def conflicts(settings, cmdline):
    """Settings that the daemon's command line gives too: with both, dockerd refuses to start -> list of sentences."""
    flags = flag_names(cmdline)
    return ["%s is set by the flag %s of dockerd" % (key, flags[key]) for key in sorted(settings) if key in flags]


def runtime_binaries(config):
    """Paths of the runtimes the file names; dockerd accepts one that does not exist and then starts no container.

    Returns (paths, problem): problem is a sentence when default-runtime names a runtime nobody defines.
    """
    runtimes = config.get("runtimes") or {}
    paths = {name: item.get("path") for name, item in runtimes.items() if isinstance(item, dict) and item.get("path")}
    default = config.get("default-runtime")
    if default and default not in runtimes and default not in _OWN_RUNTIMES:
        return paths, "default-runtime is %s, but runtimes does not define it" % default
    return paths, None


def networks(settings):
    """The address ranges that settings give to Docker's bridges -> [(key, network)]; what is no range is left to dockerd."""
    found = []
    for pool in settings.get("default-address-pools") or []:
        found.append(("default-address-pools", pool.get("base") if isinstance(pool, dict) else None))
    for key in ("bip", "fixed-cidr"):
        found.append((key, settings.get(key)))
    result = []
    for key, value in found:
        try:
            result.append((key, ipaddress.ip_network(value, strict=False)))
        except ValueError:
            continue
    return result


def routes(text):
    """Text of /proc/net/route -> [(interface, network)] but the default route; Docker's own bridges are left out."""
    result = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 8 or fields[7] == "00000000" or fields[0].startswith(("docker", "br-", "veth")):
            continue
        address, mask = (bytes.fromhex(fields[index])[::-1] for index in (1, 7))
        result.append((fields[0], ipaddress.ip_network((int.from_bytes(address, "big"), _prefix(mask)), strict=False)))
    return result


def _prefix(mask):
    return bin(int.from_bytes(mask, "big")).count("1")


def shadowed_routes(settings, host_routes):
    """Address ranges for Docker's bridges that hide a network this host has a route to -> list of sentences."""
    return ["%s %s overlaps %s, which this host reaches through %s" % (key, network, route, interface)
            for key, network in networks(settings) for interface, route in host_routes
            if network.version == route.version and network.overlaps(route)]
