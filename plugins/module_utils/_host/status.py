# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One picture of all engines: what systemd, Docker and the engines themselves say, merged. Pure but for collect()."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess

from . import container
from . import docker_api
from . import health
from . import paths
from . import spec as spec_module
from . import state as state_module

GATEWAY_CONTAINER = "inference-gateway"
SHOWN = ("Id", "LoadState", "ActiveState", "SubState", "StatusText", "NRestarts", "Result", "UnitFileState", "MainPID")
_INSTANCE = re.compile(r"inference-engine@(.+)\.service\Z")


def parse_show(text):
    """Output of "systemctl show -p ... UNIT..." -> {unit name: {property: text}}."""
    units = {}
    for block in text.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        if fields.get("Id"):
            units[fields["Id"]] = fields
    return units


def slugs(spec_files, units, listed):
    """Every engine there is a trace of: a specification, a loaded unit, or a container. Sorted."""
    found = set(spec_files)
    for name, fields in units.items():
        match = _INSTANCE.match(name)
        if match and fields.get("LoadState") == "loaded" and fields.get("ActiveState") != "inactive":
            found.add(match.group(1))
    for item in listed:
        marks = item.get("Labels") or {}
        if marks.get(container.MANAGED) == "true" and marks.get(container.ENGINE):
            found.add(marks[container.ENGINE])
    return sorted(found)


def container_view(inspected):
    """Short form of an inspected container, None when there is none."""
    if inspected is None:
        return None
    return {
        "id": inspected["Id"],
        "running": container.is_running(inspected),
        "started_at": inspected["State"].get("StartedAt"),
    }


def engine_view(slug, spec, unit, inspected, answer, failure):
    """One engine of the document.

    spec: complete specification or None; unit: {property: text} or {}; inspected: container or None;
    answer: health.Answer or None when it was not asked; failure: content of the failure file or {}.
    """
    marks = container.labels_of(inspected) if inspected else {}
    address = spec["address"] if spec else marks.get(container.ADDRESS)
    port = spec["port"] if spec else marks.get(container.PORT)
    running = container.is_running(inspected)
    warnings = []
    if spec is None:
        warnings.append("no specification: the engine is no longer configured")
    if running and unit.get("ActiveState") in (None, "inactive", "failed"):
        warnings.append("the container runs without its unit: start the unit to adopt it, or run 'inferctl stop %s'" % slug)
    if spec and running and not container.is_current(inspected, spec):
        warnings.append("the container runs an older configuration: restart the unit to apply the present one")
    return {
        "slug": slug,
        "unit": paths.engine_unit(slug),
        "active": unit.get("ActiveState", "unknown"),
        "sub": unit.get("SubState", "unknown"),
        "enabled": unit.get("UnitFileState", ""),
        "result": unit.get("Result", ""),
        "status_text": unit.get("StatusText", ""),
        "restarts": int(unit.get("NRestarts") or 0),
        "container": container_view(inspected),
        "config_current": bool(spec and inspected and container.is_current(inspected, spec)),
        "healthy": bool(answer and answer.ok),
        "url": "http://%s:%s" % (address, port) if address and port else None,
        "model": spec["served_model"] if spec else None,
        "devices": spec["devices"] if spec else json.loads(marks.get(container.DEVICES, "[]")),
        "failure": failure.get("reason"),
        "warnings": warnings,
    }


def document(engines, gateway, notes):
    """The whole answer of "inferctl status --json"."""
    return {"schema_version": 1, "engines": engines, "gateway": gateway, "notes": notes}


def table(doc):
    """The document for people: aligned columns, then what needs a look."""
    rows = [("ENGINE", "STATE", "HEALTHY", "RESTARTS", "STARTED", "URL", "MODEL")]
    remarks = []
    for engine in doc["engines"]:
        started = (engine["container"] or {}).get("started_at") or "-"
        rows.append((
            engine["slug"],
            "%s (%s)" % (engine["active"], engine["sub"]),
            "yes" if engine["healthy"] else "no",
            str(engine["restarts"]),
            started[:19] + "Z" if engine["container"] and engine["container"]["running"] else "-",
            engine["url"] or "-",
            engine["model"] or "-",
        ))
        for text in [engine["failure"]] + engine["warnings"]:
            if text:
                remarks.append("%s: %s" % (engine["slug"], text))
        if engine["active"] == "activating" and engine["status_text"]:
            remarks.append("%s: %s" % (engine["slug"], engine["status_text"]))
    lines = _aligned(rows) if doc["engines"] else ["No engines."]
    gateway = doc["gateway"]
    if gateway:
        state = "running" if gateway["container"] and gateway["container"]["running"] else "not running"
        lines += ["", "Gateway: %s, socket %s" % (state, "listening" if gateway["listening"] else "not listening")]
    if remarks or doc["notes"]:
        lines += [""] + remarks + doc["notes"]
    return "\n".join(lines)


def _aligned(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def collect(docker):
    """Ask systemd, Docker and the engines -> document. PermissionError when not root."""
    notes = []
    if not os.path.exists(paths.PLAN):
        notes.append("No plan at %s: the role serving_plan has not run here yet." % paths.PLAN)
    specs = _specs(notes)
    try:
        listed = docker.containers(all=True, filters={"label": [container.MANAGED + "=true"]})
    except (docker_api.DockerUnavailable, docker_api.DockerError) as exc:
        listed, docker = [], None
        notes.append("Docker: %s" % exc)
    loaded = _show(["inference-engine@*.service"], notes)
    names = slugs(specs, loaded, listed)
    units = _show([paths.engine_unit(slug) for slug in names], notes) if names else {}
    engines = []
    for slug in names:
        spec = specs.get(slug)
        inspected = _inspect(docker, spec["container"] if spec else _name_of(listed, slug))
        answer = None
        if spec and container.is_running(inspected):
            answer = health.EngineHttp(spec["address"], spec["port"]).health(spec["readiness"]["health_path"])
        failure = state_module.StateFile(slug).failure()
        engines.append(engine_view(slug, spec, units.get(paths.engine_unit(slug), {}), inspected, answer, failure))
    return document(engines, _gateway(docker), notes)


def _specs(notes):
    found = {}
    try:
        names = sorted(os.listdir(paths.ENGINES))
    except FileNotFoundError:
        return found
    for name in names:
        slug, extension = os.path.splitext(name)
        if extension == ".json" and paths.is_slug(slug):
            try:
                found[slug] = spec_module.load(os.path.join(paths.ENGINES, name))
            except spec_module.SpecError as exc:
                notes.append(str(exc))
                found[slug] = None
    return found


def _show(names, notes):
    argv = ["systemctl", "show", "--all", "--property=" + ",".join(SHOWN)] + names
    try:
        # Used where there is no AnsibleModule, so not through run_command().
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20, check=False)  # pylint: disable=ansible-bad-function
    except (OSError, subprocess.TimeoutExpired) as exc:
        text = "systemd: %s" % exc
        if text not in notes:
            notes.append(text)
        return {}
    return parse_show(done.stdout)


def _inspect(docker, name):
    if docker is None or name is None:
        return None
    try:
        return docker.inspect(name)
    except (docker_api.DockerUnavailable, docker_api.DockerError):
        return None


def _name_of(listed, slug):
    for item in listed:
        if (item.get("Labels") or {}).get(container.ENGINE) == slug:
            return item["Id"]
    return None


def _gateway(docker):
    inspected = _inspect(docker, GATEWAY_CONTAINER)
    listening = _listening(paths.GATEWAY_SOCKET)
    if inspected is None and not listening:
        return None
    return {"container": container_view(inspected), "socket": paths.GATEWAY_SOCKET, "listening": listening}


def _listening(path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.settimeout(1)
        try:
            sock.connect(path)
            return True
        except OSError:
            return False
