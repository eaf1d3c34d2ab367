# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Run a program in a running container through the Docker Engine API: no CLI, no packages."""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api


class ExecFailed(Exception):
    """The program could not be started or its result not be read; the text says why."""


def split_streams(data):
    """Output of an exec without a terminal -> (standard output, standard error) as bytes.

    Frames of 8 bytes header (stream number, three zeros, length) and payload; an unfinished frame at the end is dropped.
    """
    streams = {1: [], 2: []}
    position = 0
    while position + 8 <= len(data):
        size = int.from_bytes(data[position + 4:position + 8], "big")
        payload = data[position + 8:position + 8 + size]
        if len(payload) == size:
            streams.get(data[position], streams[2]).append(payload)
        position += 8 + size
    return b"".join(streams[1]), b"".join(streams[2])


def run(api, container, argv, timeout=60):
    """Run argv as the container's own user -> (exit status, standard output, standard error), texts.

    :param api: DockerApi.
    :param timeout: seconds until the program is given up (it runs on).
    :raises ExecFailed: no such container, not running, or Docker does not answer.
    """
    path = docker_api.container_path(container, "exec")
    body = {"AttachStdout": True, "AttachStderr": True, "Cmd": list(argv)}
    try:
        status, made = api.request("POST", path, body)
        if status == 404:
            raise ExecFailed("there is no container %s" % container)
        if status >= 400 or not isinstance(made, dict):
            message = made.get("message", "") if isinstance(made, dict) else str(made or "")
            raise ExecFailed("container %s: %s" % (container, message.strip() or "Docker answered %s" % status))
        status, data = api.request_raw("POST", "/exec/%s/start" % made["Id"], {"Detach": False, "Tty": False}, timeout=timeout)
        if status >= 400:
            raise ExecFailed("container %s: %s" % (container, data.decode("utf-8", "replace").strip()[:500]))
        status, found = api.request("GET", "/exec/%s/json" % made["Id"])
    except docker_api.DockerUnavailable as exc:
        raise ExecFailed(str(exc)) from exc
    if not isinstance(found, dict) or found.get("ExitCode") is None:
        raise ExecFailed("container %s: the program's exit status is not known" % container)
    out, err = split_streams(data)
    return found["ExitCode"], out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
