# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The dockerd of this host: what it runs with, SIGHUP, restart. I/O only, no judgement.

This file is private to the collection.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
import urllib.parse

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config
from ansible_collections.indiaai.inference.plugins.module_utils import _ulimits
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api, ulimits

UNIT = "docker.service"
_BINARIES = "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin:/snap/bin"
# Where systemd looks for programs when the unit says nothing.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class RestartFailed(Exception):
    """Docker did not come back; the text has systemd's words."""


def read_text(path):
    """Text of a file, None when there is none (or no longer, for a process that ended)."""
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except (FileNotFoundError, ProcessLookupError):
        return None


def same_namespace(pid):
    """Whether a process shares our pid namespace (a dockerd inside a container of this host does not)."""
    try:
        return os.readlink("/proc/%s/ns/pid" % pid) == os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def find_process(name, hint=""):
    """Process id of this host's process of that name, None when it does not run. hint: a process id to try first."""
    for pid in [hint] + [entry for entry in os.listdir("/proc") if entry.isdigit()]:
        try:
            found = read_text("/proc/%s/comm" % pid) if pid else None
        except OSError:
            continue
        if found and found.strip() == name and same_namespace(pid):
            return int(pid)
    return None


def daemon_pid():
    """Process id of this host's dockerd, None when it does not run."""
    return find_process("dockerd", (read_text("/run/docker.pid") or "").strip())


def started_at(pid):
    """When a process started, in seconds since the epoch; None when it is gone."""
    try:
        ticks = int((read_text("/proc/%d/stat" % pid) or "").rsplit(")", 1)[1].split()[19])
    except (IndexError, ValueError, OSError):
        return None
    # By its age, since btime in /proc/stat is whole seconds and moves with the clock.
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


class Daemon:
    """The daemon, as it was found when this object was made."""

    def __init__(self, module, socket_path):
        self.module = module
        self.api = docker_api.DockerApi(socket_path, timeout=20)
        self.binary = shutil.which("dockerd", path=_BINARIES)
        self.pid = daemon_pid()
        self.info = self.read_info()

    def read_info(self):
        """Answer of GET /info, None when no daemon answers."""
        try:
            status, info = self.api.request("GET", "/info")
        except docker_api.DockerUnavailable:
            return None
        return info if status == 200 and isinstance(info, dict) else None

    @property
    def swarm(self):
        """Whether this host takes part in a swarm; a daemon that is down is judged by what it left on the disk."""
        if self.info is None:
            return os.path.exists("/var/lib/docker/swarm/docker-state.json")
        state = (self.info.get("Swarm") or {}).get("LocalNodeState") or "inactive"
        return state not in ("inactive", "error")

    def version(self):
        """Version of the daemon that runs, else of the program; None when there is neither."""
        if self.info is not None:
            return self.info.get("ServerVersion")
        if self.binary is None:
            return None
        rc, out, ignored = self.module.run_command([self.binary, "--version"])
        words = out.replace(",", " ").split()
        return words[2] if rc == 0 and len(words) > 2 else None

    def cmdline(self):
        """Arguments of the running daemon, [] when none runs."""
        if self.pid is None:
            return []
        return [part for part in (read_text("/proc/%d/cmdline" % self.pid) or "").split("\0") if part]

    def show(self, properties):
        """`systemctl show` of the unit; nothing where there is no systemd."""
        rc, out, ignored = self.module.run_command(["systemctl", "show", "--property=" + ",".join(properties), UNIT])
        return out if rc == 0 else ""

    def unit_command(self):
        """Arguments that the unit gives to the daemon at its next start."""
        return _daemon_config.unit_command(self.show(["ExecStart"]))

    def which(self, program):
        """Path of a program as the daemon finds it, None when it does not."""
        environment = (read_text("/proc/%d/environ" % self.pid) or "") if self.pid is not None else ""
        path = dict(item.split("=", 1) for item in environment.split("\0") if "=" in item).get("PATH")
        return shutil.which(program, path=path or _PATH)

    def grantable(self):
        """Highest limits that a container can get, see ulimits.grantable."""
        if self.pid is None:
            limits = _ulimits.unit_limits(self.show(list(_ulimits.PROPERTIES.values())))
            processes = [{"limits": limits, "raises": ulimits.may_raise(read_text("/proc/1/status") or "", "CapBnd")}]
        else:
            # The container's process is a child of containerd, whose unit has limits of its own.
            processes = [
                {"limits": ulimits.hard_limits(read_text("/proc/%d/limits" % pid) or ""),
                 "raises": ulimits.may_raise(read_text("/proc/%d/status" % pid) or "")}
                for pid in (self.pid, find_process("containerd")) if pid is not None]
        nr_open = (read_text("/proc/sys/fs/nr_open") or "").strip()
        return ulimits.grantable(processes, int(nr_open) if nr_open else None)

    def running(self):
        """{container id: (name, StartedAt)} of everything that runs now."""
        result = {}
        for item in self.api.containers():
            details = self.api.inspect(item["Id"]) or {}
            result[item["Id"]] = (details.get("Name", "").lstrip("/"), (details.get("State") or {}).get("StartedAt"))
        return result

    def hangup(self, satisfied, seconds, want_event=False):
        """SIGHUP, then wait until satisfied(info) or time is up -> whether it became true.

        want_event: wait for the daemon's own report of a reload too, for settings that its info does not show.
        """
        since = time.time()
        os.kill(self.pid, signal.SIGHUP)
        deadline = time.monotonic() + seconds
        while True:
            time.sleep(0.1)
            info = self.read_info()
            if info is not None:
                self.info = info
                if satisfied(info) and (not want_event or self.reloaded_since(since)):
                    return True
            if time.monotonic() > deadline:
                return False

    def reloaded_since(self, since):
        """Whether the daemon reports a reload after that moment; it reports none that it refused."""
        query = urllib.parse.urlencode({
            "since": "%.6f" % since, "until": "%.6f" % time.time(), "filters": json.dumps({"type": ["daemon"], "event": ["reload"]})})
        try:
            status, data = self.api.request_raw("GET", "/events?" + query)
        except docker_api.DockerUnavailable:
            return False
        return status == 200 and b'"reload"' in data

    def restart(self):
        """Restart through the unit and wait until the API answers again. RestartFailed."""
        # The unit allows three starts a minute and stays down after that; one asked-for restart must not hit the limit.
        self.module.run_command(["systemctl", "reset-failed", UNIT])
        rc, out, err = self.module.run_command(["systemctl", "restart", UNIT])
        if rc != 0:
            raise RestartFailed("systemctl restart %s failed: %s" % (UNIT, (err or out).strip()))
        deadline = time.monotonic() + 60
        self.info = None
        while self.info is None and time.monotonic() < deadline:
            time.sleep(0.2)
            self.info = self.read_info()
        self.pid = daemon_pid()
        if self.info is None:
            raise RestartFailed("Docker does not answer 60 s after its restart; see journalctl -u docker")

    def describe(self):
        """The return value `daemon`."""
        info = self.info or {}
        return {
            "present": self.binary is not None or self.info is not None,
            "binary": self.binary,
            "running": self.info is not None,
            "version": self.version(),
            "live_restore": info.get("LiveRestoreEnabled"),
            "swarm": self.swarm,
            "containers_running": info.get("ContainersRunning"),
        }
