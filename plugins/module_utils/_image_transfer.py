# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Brings images to a Docker daemon: from a registry, or from an archive that lies on the host."""

from __future__ import annotations

import hashlib
import http.client
import socket
import urllib.parse

from ansible_collections.indiaai.inference.plugins.module_utils import _image
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api

CHUNK = 1024 * 1024
# Between two lines of progress; layers of many GB are quiet while they are unpacked.
QUIET_SECONDS = 1800


class TransferFailed(Exception):
    """Docker said no, or stopped answering."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, socket_path, timeout):
        super().__init__("docker", timeout=timeout)
        self._socket_path = socket_path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._socket_path)


def pull(api, reference):
    """Pull one image. TransferFailed with the registry's words."""
    repository, tag, digest = _image.split_reference(reference)
    query = urllib.parse.urlencode({"fromImage": repository, "tag": digest or tag})
    try:
        status, data = api.request_raw("POST", "/images/create?" + query, timeout=QUIET_SECONDS)
    except docker_api.DockerUnavailable as exc:
        raise TransferFailed(str(exc)) from exc
    _check("pull %s" % reference, status, data)


def load(socket_path, archive):
    """Load an archive -> SHA-256 of its file. The file is read once, in pieces, never whole into memory."""
    checksum = hashlib.sha256()

    def pieces():
        with open(archive, "rb") as handle:
            for piece in iter(lambda: handle.read(CHUNK), b""):
                checksum.update(piece)
                yield piece

    connection = _Connection(socket_path, QUIET_SECONDS)
    try:
        connection.request("POST", "/images/load?quiet=1", pieces(), {"Content-Type": "application/x-tar"}, encode_chunked=True)
        response = connection.getresponse()
        status, data = response.status, response.read()
    except (OSError, http.client.HTTPException) as exc:
        raise TransferFailed("load %s: %s" % (archive, exc or type(exc).__name__)) from exc
    finally:
        connection.close()
    _check("load %s" % archive, status, data)
    return checksum.hexdigest()


def tag(api, image_id, reference):
    """Give an image a name. A digest is no name, and an id needs none."""
    repository, label, digest = _image.split_reference(reference)
    if digest or reference.startswith("sha256:"):
        return
    path = "/images/%s/tag?%s" % (urllib.parse.quote(image_id, safe=""), urllib.parse.urlencode({"repo": repository, "tag": label}))
    status, data = api.request_raw("POST", path)
    _check("tag %s" % reference, status, data)


def _check(what, status, data):
    text = data.decode("utf-8", "replace")
    error = text.strip() if status >= 400 else _image.pull_error(text)
    if error:
        raise TransferFailed("%s: %s" % (what, error[:1000]))
