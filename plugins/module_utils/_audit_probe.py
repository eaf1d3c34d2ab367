# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The reading side of the audit: /proc, Docker, a few requests on the loopback. Changes nothing.

Everything here gives up after its time-out and says None or nothing instead. This file is private to the collection.
"""

from __future__ import annotations

import concurrent.futures
import datetime
import http.client
import json
import os
import socket
import ssl
import subprocess
import urllib.parse

from ansible_collections.indiaai.inference.plugins.module_utils import _audit
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api

_LARGEST_ANSWER = 4 * 1024 * 1024


def read(path):
    """Text of a file, "" when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def processes():
    """{pid: {"name", "rss_kib", "cgroup"}} of everything that runs; kernel threads have no memory and are left out."""
    result = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        status = _audit.parse_status(read("/proc/%s/status" % entry))
        if status["rss_kib"]:
            result[int(entry)] = dict(status, cgroup=read("/proc/%s/cgroup" % entry))
    return result


def pids_by_inode(pids, wanted):
    """{inode: {pid}} for the wanted socket inodes; descriptors of other users need root."""
    result = {}
    for pid in pids:
        folder = "/proc/%d/fd" % pid
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        for entry in entries:
            try:
                link = os.readlink(folder + "/" + entry)
            except OSError:
                continue
            if link.startswith("socket:["):
                inode = int(link[8:-1])
                if inode in wanted:
                    result.setdefault(inode, set()).add(pid)
    return result


def sockets():
    """The listening TCP sockets of this network namespace."""
    return [item for name in ("tcp", "tcp6") for item in _audit.parse_sockets(read("/proc/net/" + name))]


def disks():
    """Size and free space in MiB of each file system; network mounts are named and not asked."""
    result = []
    for item in _audit.parse_mounts(read("/proc/self/mounts"), os.path.isdir):
        item.update(total_mib=None, free_mib=None, inodes_free=None)
        if not item["network"]:
            try:
                stat = os.statvfs(item["path"])
            except OSError:
                continue
            if not stat.f_blocks:
                continue
            item.update(total_mib=stat.f_blocks * stat.f_frsize // 1048576,
                        free_mib=stat.f_bavail * stat.f_frsize // 1048576, inodes_free=stat.f_favail)
        result.append(item)
    return result


def docker(socket_path, timeout):
    """The daemon and its containers; without a daemon the same shape, with the reason."""
    result = {"running": False, "reason": None, "version": None, "live_restore": None, "swarm": False, "root": None,
              "root_free_mib": None, "storage_driver": None, "images": None, "containers": []}
    api = docker_api.DockerApi(socket_path, timeout=timeout)
    try:
        status, info = api.request("GET", "/info")
        if status != 200:
            result["reason"] = "Docker answered %d" % status
            return result
        listed = api.containers(all=True)
        result["containers"] = [_audit.container(item, api.inspect(item["Id"])) for item in listed]
    except (docker_api.DockerUnavailable, docker_api.DockerError) as exc:
        result["reason"] = str(exc)
        return result
    swarm = (info.get("Swarm") or {}).get("LocalNodeState") or "inactive"
    result.update(running=True, version=info.get("ServerVersion"), live_restore=bool(info.get("LiveRestoreEnabled")),
                  swarm=swarm not in ("inactive", "error"), root=info.get("DockerRootDir"),
                  storage_driver=info.get("Driver"), images=info.get("Images"))
    try:
        stat = os.statvfs(result["root"])
        result["root_free_mib"] = stat.f_bavail * stat.f_frsize // 1048576
    except (OSError, TypeError):
        pass
    result["containers"].sort(key=lambda item: item["name"])
    return result


def get_json(url, timeout):
    """GET -> {"status", "body"} with the parsed JSON, None when no JSON came in time. Never follows a redirect."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)
    try:
        connection.request("GET", parts.path, headers={"Accept": "application/json", "Connection": "close"})
        response = connection.getresponse()
        return {"status": response.status, "body": json.loads(response.read(_LARGEST_ANSWER))}
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def ask(url, timeout):
    """Does this address serve models? -> classify()'s answer or None."""
    models = get_json(url + "/v1/models", timeout)
    # Only what answers in JSON is asked a second time.
    tags = get_json(url + "/api/tags", timeout) if models is not None else None
    return _audit.classify(models, tags)


def ask_all(urls, timeout):
    """{url: answer} for all of them at once."""
    if not urls:
        return {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=min(16, len(urls))) as pool:
        return dict(zip(urls, pool.map(lambda url: ask(url, timeout), urls)))


def command(argv, timeout=5, stdin=None):
    """Output of a program, None when it is missing, fails or takes too long."""
    try:
        # Used where there is no AnsibleModule, so not through run_command().
        done = subprocess.run(argv, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,  # pylint: disable=ansible-bad-function
                              timeout=timeout, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def failed_units():
    """Names of the units that systemd calls failed."""
    text = command(["systemctl", "list-units", "--failed", "--plain", "--no-legend", "--full"]) or b""
    return sorted(line.split()[0] for line in text.decode("utf-8", "replace").splitlines() if line.split())


def certificate(port, name, timeout):
    """What a TLS listener on the loopback shows -> {"port", "protocol", "subject", "issuer", ...} or None."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # looked at, not trusted
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as plain:
            with context.wrap_socket(plain, server_hostname=name) as secure:
                der, protocol = secure.getpeercert(binary_form=True), secure.version()
    except (OSError, ValueError):
        return None
    text = command(["openssl", "x509", "-inform", "der", "-noout", "-subject", "-issuer", "-enddate",
                    "-nameopt", "RFC2253"], stdin=der)
    values = dict(line.split("=", 1) for line in (text or b"").decode("utf-8", "replace").splitlines() if "=" in line)
    end = _parse_end(values.get("notAfter"))
    return {"port": port, "protocol": protocol, "subject": values.get("subject"), "issuer": values.get("issuer"),
            "not_after": end.strftime("%Y-%m-%dT%H:%M:%SZ") if end else None,
            "days_left": (end - datetime.datetime.now(datetime.timezone.utc)).days if end else None,
            "self_signed": bool(values.get("subject")) and values.get("subject") == values.get("issuer")}


def _parse_end(text):
    try:
        return datetime.datetime.strptime(text or "", "%b %d %H:%M:%S %Y %Z").replace(tzinfo=datetime.timezone.utc)
    except ValueError:
        return None
