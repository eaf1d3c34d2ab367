# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an engine's container looks like to Docker, and what may be done with one that is there. Pure."""

from __future__ import annotations

import calendar
import json
import time

from . import spec as spec_module

MANAGED = "indiaai.inference.managed"
ENGINE = "indiaai.inference.engine"
DEVICES = "indiaai.inference.devices"
ADDRESS = "indiaai.inference.address"
PORT = "indiaai.inference.port"
HEALTH_PATH = "indiaai.inference.health-path"
CONFIG = "indiaai.inference.config"

# A log that is read by nobody must not fill the disk; the files stay readable by "docker logs".
_LOG_CONFIG = {"Type": "json-file", "Config": {"max-size": "50m", "max-file": "3"}}


class ForeignContainer(Exception):
    """A container of our name exists that is not ours: never touched."""


def labels(spec):
    """Labels of the container: those of the specification and ours, which win."""
    result = dict(spec["labels"])
    result.update({
        MANAGED: "true",
        ENGINE: spec["slug"],
        DEVICES: json.dumps(sorted(spec["devices"])),
        ADDRESS: spec["address"],
        PORT: str(spec["port"]),
        HEALTH_PATH: spec["readiness"]["health_path"],
        CONFIG: spec_module.config_hash(spec),
    })
    return result


def create_body(spec, image):
    """Body of the create call; image is the reference or the id to use."""
    extra = dict(spec["extra_host_config"])
    host = {
        "NetworkMode": "host",
        "RestartPolicy": {"Name": "no"},  # systemd restarts, one engine after the other
        "CapDrop": ["ALL"],
        "SecurityOpt": ["no-new-privileges"] + list(extra.pop("SecurityOpt", None) or []),
        "LogConfig": _LOG_CONFIG,
        "Mounts": [
            {"Type": "bind", "Source": mount["source"], "Target": mount["target"], "ReadOnly": mount.get("read_only", True)}
            for mount in spec["mounts"]
        ],
        "Ulimits": spec["ulimits"],
        "DeviceRequests": spec["device_requests"],
    }
    for key, name in (("ShmSize", "shm_size_bytes"), ("Memory", "memory_bytes"), ("NanoCpus", "nano_cpus")):
        if spec[name] is not None:
            host[key] = spec[name]
    host.update(extra)
    body = {
        "Image": image,
        "Cmd": spec["command"],
        "Env": ["%s=%s" % pair for pair in sorted(spec["environment"].items())],
        "Labels": labels(spec),
        "HostConfig": host,
    }
    if spec["entrypoint"] is not None:
        body["Entrypoint"] = spec["entrypoint"]
    if spec["user"] is not None:
        body["User"] = spec["user"]
    return body


def labels_of(inspected):
    """Labels of an inspected container."""
    return (inspected.get("Config") or {}).get("Labels") or {}


def check_ours(inspected, slug):
    """ForeignContainer unless the container is absent (None) or carries our labels for this engine."""
    if inspected is None:
        return
    found = labels_of(inspected)
    if found.get(MANAGED) != "true" or found.get(ENGINE) != slug:
        raise ForeignContainer(
            "A container named %s exists that was not made for engine %s (label %s is %s, label %s is %s). "
            "It is left alone: rename or remove it, or give the engine another name."
            % (inspected.get("Name", "").lstrip("/"), slug, MANAGED, found.get(MANAGED), ENGINE, found.get(ENGINE))
        )


def is_running(inspected):
    """True when the container exists and runs."""
    return bool(inspected and inspected["State"].get("Running"))


def life(inspected):
    """Names one life of a container: the id alone survives a stop and a start."""
    return "%s@%s" % (inspected["Id"], inspected["State"]["StartedAt"])


def started(inspected):
    """(seconds since 1970, fraction as digits) of the start of this life, (0, "0") when it never started."""
    text = inspected["State"].get("StartedAt") or ""
    try:
        seconds = calendar.timegm(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0, "0"
    return max(0, seconds), text[20:].rstrip("Z") or "0"


def is_current(inspected, spec):
    """True when the container was made from this specification."""
    return labels_of(inspected).get(CONFIG) == spec_module.config_hash(spec)


def start_action(inspected, spec):
    """"create", "recreate" or "start": what brings the container from what is there to running."""
    if inspected is None:
        return "create"
    return "start" if is_current(inspected, spec) else "recreate"


def adoption_limit(inspected, ready_life, load_seconds, hang_seconds, age_seconds):
    """Seconds a container that runs already gets to show that it is healthy -> (limit, was_ready).

    One that was ready before must answer soon; one that still loads gets the rest of its loading time.
    """
    if ready_life == life(inspected):
        return hang_seconds, True
    return max(load_seconds - age_seconds, hang_seconds), False


def siblings(listed, slug, devices):
    """Other engines' running containers that share a device: [{"slug", "address", "port", "health_path"}], by slug."""
    found = []
    for item in listed:
        marks = item.get("Labels") or {}
        other = marks.get(ENGINE)
        if marks.get(MANAGED) != "true" or not other or other == slug or item.get("State", "running") != "running":
            continue
        try:
            shared = set(json.loads(marks[DEVICES])) & set(devices)
            port = int(marks[PORT])
        except (KeyError, ValueError, TypeError):
            continue
        if shared:
            found.append({
                "slug": other,
                "address": marks.get(ADDRESS, "127.0.0.1"),
                "port": port,
                "health_path": marks.get(HEALTH_PATH, "/health"),
            })
    return sorted(found, key=lambda sibling: sibling["slug"])


def image_choice(spec, by_reference, by_id):
    """Which image to create from -> (image, warning or None, error or None).

    by_reference, by_id: what Docker says about the reference and about the pinned id, None when absent.
    """
    pinned = spec["image_id"]
    if pinned is None:
        if by_reference is None:
            return None, None, "image %s is not on this host" % spec["image"]
        return spec["image"], None, None
    if by_reference is not None and by_reference.get("Id") == pinned:
        return spec["image"], None, None
    if by_id is not None:
        return pinned, "image %s no longer names the pinned image; the pinned %s is used" % (spec["image"], pinned), None
    return None, None, "image %s with the pinned id %s is not on this host" % (spec["image"], pinned)


def end_reason(state):
    """Why a container ended, in words, from the State of its inspection ({} when it is gone)."""
    if not state:
        return "the container is gone"
    reason = "the container ended with exit code %s" % state.get("ExitCode")
    if state.get("OOMKilled"):
        reason += " (out of memory: the kernel killed it)"
    if state.get("Error"):
        reason += " (%s)" % state["Error"]
    return reason
