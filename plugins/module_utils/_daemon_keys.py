# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a running dockerd takes each key of daemon.json, and where it shows what it runs with.

Pure. A key that is not in the table waits for a restart and is not shown: nothing is promised that was not seen.
This file is private to the collection.
"""

from __future__ import annotations

import json

RELOAD = "reload"
RESTART = "restart"


def same(one, other):
    """Whether two values are the same JSON; unlike ==, true is not 1 and 1 is not 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


# ---- what GET /info shows: function(info, wanted) -> (running value, whether it is as wanted), None when it does not show it

def _plain(name):
    def shown(info, wanted):
        return info.get(name), info.get(name) == wanted
    return shown


def _data_root(info, wanted):
    running = info.get("DockerRootDir")
    return running, running == (str(wanted).rstrip("/") or "/")


def _labels(info, wanted):
    running = info.get("Labels") or []
    return running, set(wanted) <= set(running)


def _mirrors(info, wanted):
    running = [item.rstrip("/") for item in (info.get("RegistryConfig") or {}).get("Mirrors") or []]
    return running, running == [item.rstrip("/") for item in wanted]


def _runtimes(info, wanted):
    running = sorted(info.get("Runtimes") or {})
    return running, set(wanted) <= set(running)


def _address_pools(info, wanted):
    if "DefaultAddressPools" not in info:
        return None
    running = [{"base": item.get("Base"), "size": item.get("Size")} for item in info["DefaultAddressPools"] or []]
    return running, same(running, [{"base": item.get("base"), "size": item.get("size")} for item in wanted])


def _features(info, wanted):
    # Of the feature flags /info shows only CDI: by the folders that are searched for specifications.
    if "cdi" not in wanted or "CDISpecDirs" not in info:
        return None
    running = bool(info["CDISpecDirs"])
    return {"cdi": running}, running is bool(wanted["cdi"])


def _exec_opts(info, wanted):
    drivers = [item.split("=", 1)[1] for item in wanted if item.startswith("native.cgroupdriver=")]
    if not drivers:
        return None
    return ["native.cgroupdriver=%s" % info.get("CgroupDriver")], info.get("CgroupDriver") == drivers[-1]


# key -> (how it is loaded, where it is shown or None). Measured on 20.10 and 26.1 where it says reload.
TABLE = {
    "allow-nondistributable-artifacts": (RELOAD, None),
    "authorization-plugins": (RELOAD, None),
    "bip": (RESTART, None),
    "bridge": (RESTART, None),
    "cgroup-parent": (RESTART, None),
    "containerd": (RESTART, None),
    "data-root": (RESTART, _data_root),
    "debug": (RELOAD, _plain("Debug")),
    "default-address-pools": (RESTART, _address_pools),
    "default-cgroupns-mode": (RESTART, None),
    "default-runtime": (RELOAD, _plain("DefaultRuntime")),
    "default-shm-size": (RESTART, None),
    "default-ulimits": (RESTART, None),
    "dns": (RESTART, None),
    "exec-opts": (RESTART, _exec_opts),
    "experimental": (RESTART, _plain("ExperimentalBuild")),
    # Logged as reloaded, and CDI stays as it was until the daemon starts anew.
    "features": (RESTART, _features),
    "hosts": (RESTART, None),
    "insecure-registries": (RELOAD, None),
    "ip": (RESTART, None),
    "iptables": (RESTART, None),
    "labels": (RELOAD, _labels),
    "live-restore": (RELOAD, _plain("LiveRestoreEnabled")),
    "log-driver": (RESTART, _plain("LoggingDriver")),
    "log-opts": (RESTART, None),
    "max-concurrent-downloads": (RELOAD, None),
    "max-concurrent-uploads": (RELOAD, None),
    "max-download-attempts": (RELOAD, None),
    "mtu": (RESTART, None),
    "registry-mirrors": (RELOAD, _mirrors),
    "runtimes": (RELOAD, _runtimes),
    "shutdown-timeout": (RELOAD, None),
    "storage-driver": (RESTART, _plain("Driver")),
    "storage-opts": (RESTART, None),
    "userland-proxy": (RESTART, None),
}


def loaded_by(key):
    """"reload" or "restart"."""
    return TABLE.get(key, (RESTART, None))[0]


def shown(key, wanted, info):
    """(running value, whether it is as wanted), or None when this daemon does not show the key."""
    look = TABLE.get(key, (RESTART, None))[1]
    return None if look is None or info is None else look(info, wanted)
