# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Docker Engine API over its unix socket: standard library only, no CLI processes.

Nothing here waits for a daemon that is away: whether to retry is the caller's policy.
"""

from __future__ import annotations

import http.client
import json
import socket
import urllib.parse

from . import paths


class DockerError(Exception):
    """The daemon answered, with an error: status (int), message (str)."""

    def __init__(self, status, message):
        super().__init__("Docker answered %s: %s" % (status, message))
        self.status = status
        self.message = message


class DockerUnavailable(Exception):
    """No (whole) answer: daemon down, restarting, socket missing, no permission, or time-out."""


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, socket_path, timeout):
        super().__init__("docker", timeout=timeout)
        self._socket_path = socket_path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def demultiplex(data):
    """Log stream of a container without a terminal: frames of 8 bytes header and payload -> payload bytes."""
    parts, position = [], 0
    while position + 8 <= len(data):
        if data[position] > 2 or data[position + 1:position + 4] != b"\0\0\0":
            return data  # a container with a terminal: raw text
        size = int.from_bytes(data[position + 4:position + 8], "big")
        parts.append(data[position + 8:position + 8 + size])
        position += 8 + size
    return b"".join(parts)


class DockerApi:
    """One daemon. A connection per call, so that nothing is held across a daemon restart."""

    def __init__(self, socket_path=paths.DOCKER_SOCKET, timeout=30):
        self.socket_path = socket_path
        self.timeout = timeout

    def request_raw(self, method, path, body=None, timeout=None):
        """One call -> (status, bytes). DockerUnavailable when no whole answer came."""
        connection = _UnixConnection(self.socket_path, self.timeout if timeout is None else timeout)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException) as exc:
            raise DockerUnavailable(
                "Docker does not answer on %s: %s" % (self.socket_path, exc or type(exc).__name__)
            ) from exc
        finally:
            connection.close()

    def request(self, method, path, body=None, timeout=None):
        """One call -> (status, parsed): JSON as data, anything else as text, nothing as None."""
        status, data = self.request_raw(method, path, body, timeout)
        text = data.decode("utf-8", "replace")
        if text[:1] in ("{", "["):
            try:
                return status, json.loads(text)
            except ValueError as exc:
                raise DockerUnavailable("Docker's answer to %s %s broke off" % (method, path)) from exc
        return status, text or None

    def containers(self, all=False, filters=None):  # pylint: disable=redefined-builtin
        """Containers as the list call shows them; filters e.g. {"label": ["a=b"]}. DockerError, DockerUnavailable."""
        query = {"all": "1" if all else "0"}
        if filters:
            query["filters"] = json.dumps(filters)
        return self._checked("GET", "/containers/json?" + urllib.parse.urlencode(query))

    def inspect(self, name):
        """Everything about one container, None when there is none of that name or id."""
        return self._checked("GET", container_path(name, "json"), absent_ok=True)

    def image(self, reference):
        """Everything about one image, None when it is not here."""
        return self._checked("GET", "/images/%s/json" % urllib.parse.quote(reference, safe=""), absent_ok=True)

    def create(self, name, body):
        """Create a container -> its id."""
        return self._checked("POST", "/containers/create?" + urllib.parse.urlencode({"name": name}), body)["Id"]

    def start(self, name, timeout=120):
        """Start a container; no error when it runs."""
        self._checked("POST", container_path(name, "start"), timeout=timeout)

    def stop(self, name, seconds):
        """SIGTERM, after this many seconds SIGKILL; no error when it is down or gone."""
        path = container_path(name, "stop") + "?t=%d" % max(0, int(seconds))
        self._checked("POST", path, timeout=seconds + 30, absent_ok=True)

    def remove(self, name):
        """Remove a container, running or not; no error when it is gone."""
        self._checked("DELETE", container_path(name) + "?force=1", timeout=120, absent_ok=True)

    def update(self, name, body):
        """Change limits or the restart policy of an existing container."""
        self._checked("POST", container_path(name, "update"), body)

    def logs(self, name, tail=50, since="0"):
        """The last lines a container wrote (list of str), [] when it is gone. since: seconds since 1970, with fraction, as text."""
        path = container_path(name, "logs") + "?stdout=1&stderr=1&tail=%d&since=%s" % (tail, since)
        status, data = self.request_raw("GET", path)
        if status != 200:
            return []
        return demultiplex(data).decode("utf-8", "replace").splitlines()[-tail:]

    def _checked(self, method, path, body=None, timeout=None, absent_ok=False):
        status, parsed = self.request(method, path, body, timeout)
        if status == 404 and absent_ok:
            return None
        if status >= 400:
            message = parsed.get("message", "") if isinstance(parsed, dict) else str(parsed or "")
            raise DockerError(status, message.strip())
        return parsed


def container_path(name, action=None):
    """API path of one container, by name or id."""
    path = "/containers/" + urllib.parse.quote(name, safe="")
    return path + "/" + action if action else path
