#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_daemon_config
short_description: The only writer of Docker's daemon.json
version_added: 1.0.0
description:
  - Merges settings into C(/etc/docker/daemon.json) without touching foreign keys or their order, loads them into the
    running daemon and compares the outcome with what the daemon says of itself. A reload alone proves nothing - a
    daemon that dislikes the file logs it, keeps the old settings and answers success.
  - Keys that the daemon takes by reload are loaded by SIGHUP, which stops nothing. Keys that need a restart are named in
    RV(restart_required); the daemon is restarted for them only when nothing runs in it, or when O(restart_ok=true) and
    live-restore is loaded already.
  - A file that is not valid JSON stops the module before anything is written.
options:
  settings:
    description:
      - Keys of daemon.json with their wanted values, merged deeply. Values below C(log-opts) become strings.
      - C(live-restore) is left out on a swarm node, C(log-opts) where the log driver writes no files. RV(left_out) says so.
    type: dict
    default: {}
  state:
    description:
      - V(present) merges O(settings) into the file and loads them.
      - V(reloaded) writes nothing and makes the daemon run by the file as it is, C(live-restore) included. The daemon
        keeps a dropped key otherwise. Used after the file was put back.
    type: str
    choices: [present, reloaded]
    default: present
  restart_ok:
    description: Whether the daemon may be restarted under running containers for keys that need it.
    type: bool
    default: false
  backup:
    description: Keep a dated copy of the file beside it before it is changed.
    type: bool
    default: false
  path:
    description: The file.
    type: path
    default: /etc/docker/daemon.json
  socket_path:
    description: Socket of the daemon's API.
    type: path
    default: /run/docker.sock
  reload_timeout:
    description: Seconds that the daemon has to show the new settings after a reload.
    type: int
    default: 10
attributes:
  check_mode:
    description: Can run in check mode and return a prediction of the change.
    support: full
  diff_mode:
    description: Returns the text of the file before and after.
    support: full
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Keep containers alive across daemon restarts, and bound their logs
  indiaai.inference.docker_daemon_config:
    settings:
      live-restore: true
      log-opts: {max-size: 100m, max-file: "3"}

- name: See whether the daemon is as wanted
  indiaai.inference.docker_daemon_config:
    settings: {live-restore: true}
  check_mode: true
  register: wanted
"""

RETURN = r"""
config:
  description: Content of the file after the run.
  returned: success
  type: dict
  sample: {"live-restore": true, "log-opts": {"max-file": "3", "max-size": "100m"}}
actions:
  description: What was done, in order.
  returned: success
  type: list
  elements: str
  sample: [written, reloaded]
changed_keys:
  description: Keys whose value in the file changed, by how the daemon takes them.
  returned: success
  type: dict
  sample: {"reload": ["live-restore"], "restart": ["log-opts"]}
restart_required:
  description: Keys of O(settings) that are in the file and wait for a restart of the daemon.
  returned: success
  type: list
  elements: str
  sample: [log-opts]
left_out:
  description: Settings this host must not get, each with its reason.
  returned: success
  type: list
  elements: dict
  sample: [{"key": "live-restore", "reason": "this host is a swarm node"}]
daemon:
  description: The daemon as found at the end. C(present) says whether any dockerd is installed.
  returned: always
  type: dict
  sample:
    binary: /usr/sbin/dockerd
    containers_running: 2
    live_restore: true
    present: true
    running: true
    swarm: false
    version: "20.10.24"
requests_available:
  description: Whether the Python that runs modules here has C(requests), which the modules of community.docker need.
  returned: always
  type: bool
  sample: true
containers_restarted:
  description: Names of containers that were running before and are not the same process any more. Empty is the promise.
  returned: success
  type: list
  elements: str
  sample: []
"""

import importlib.util
import os
import shutil
import signal
import tempfile
import time

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api

_BINARIES = "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin:/snap/bin"


def read_text(path):
    """Text of a file, None when there is none."""
    try:
        with open(path, encoding="utf-8") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def same_namespace(pid):
    """Whether a process shares our pid namespace (a dockerd inside a container of this host does not)."""
    try:
        return os.readlink("/proc/%s/ns/pid" % pid) == os.readlink("/proc/self/ns/pid")
    except OSError:
        return False


def daemon_pid():
    """Process id of this host's dockerd, None when it does not run."""
    candidates = [(read_text("/run/docker.pid") or "").strip()]
    candidates += [entry for entry in os.listdir("/proc") if entry.isdigit()]
    for pid in candidates:
        try:
            name = read_text("/proc/%s/comm" % pid) if pid else None
        except OSError:
            continue
        if name and name.strip() == "dockerd" and same_namespace(pid):
            return int(pid)
    return None


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
    """The dockerd of this host: what it runs with, SIGHUP, restart."""

    def __init__(self, module):
        self.module = module
        self.api = docker_api.DockerApi(module.params["socket_path"], timeout=20)
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
        """Whether this host takes part in a swarm."""
        state = ((self.info or {}).get("Swarm") or {}).get("LocalNodeState") or "inactive"
        return state not in ("inactive", "error")

    def cmdline(self):
        """Arguments of the running daemon, [] when none runs."""
        if self.pid is None:
            return []
        return [part for part in (read_text("/proc/%d/cmdline" % self.pid) or "").split("\0") if part]

    def running(self):
        """{container id: (name, StartedAt)} of everything that runs now."""
        result = {}
        for item in self.api.containers():
            details = self.api.inspect(item["Id"]) or {}
            result[item["Id"]] = (details.get("Name", "").lstrip("/"), (details.get("State") or {}).get("StartedAt"))
        return result

    def hangup(self, satisfied, seconds):
        """SIGHUP, then wait until satisfied(info) or time is up -> whether it became true."""
        os.kill(self.pid, signal.SIGHUP)
        deadline = time.monotonic() + seconds
        while True:
            time.sleep(0.1)
            info = self.read_info()
            if info is not None:
                self.info = info
                if satisfied(info):
                    return True
            if time.monotonic() > deadline:
                return False

    def restart(self):
        """Restart through the unit and wait until the API answers again."""
        # The unit allows three starts a minute and stays down after that; one asked-for restart must not hit the limit.
        self.module.run_command(["systemctl", "reset-failed", "docker.service"])
        rc, out, err = self.module.run_command(["systemctl", "restart", "docker.service"])
        if rc != 0:
            self.module.fail_json(msg="systemctl restart docker.service failed: %s" % (err or out).strip())
        deadline = time.monotonic() + 60
        self.info = None
        while self.info is None and time.monotonic() < deadline:
            time.sleep(0.2)
            self.info = self.read_info()
        self.pid = daemon_pid()
        if self.info is None:
            self.module.fail_json(msg="Docker does not answer 60 s after its restart; see journalctl -u docker.")

    def describe(self):
        """The return value `daemon`."""
        info = self.info or {}
        return {
            "present": self.binary is not None or self.info is not None,
            "binary": self.binary,
            "running": self.info is not None,
            "version": info.get("ServerVersion"),
            "live_restore": info.get("LiveRestoreEnabled"),
            "swarm": self.swarm,
            "containers_running": info.get("ContainersRunning"),
        }


def write(path, text):
    """Put text in place, mode 0644; None removes the file."""
    if text is None:
        os.unlink(path)
        return
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    atomic.write(path, text, mode=0o644)


def check_before_writing(module, daemon, settings, config):
    """Everything that would make the daemon refuse the file is found here, while nothing has been written."""
    path = module.params["path"]
    command = daemon.cmdline()
    problems = _daemon_config.conflicts(settings, command)
    other = [arg for arg in command if arg.startswith("--config-file")]
    if other and path not in " ".join(command):
        problems.append("the running dockerd reads another file: %s" % " ".join(other))
    if problems:
        module.fail_json(msg="Not writing %s: %s. Docker refuses a setting given in both places: remove it from the unit "
                             "(systemctl cat docker), or leave it out of the settings." % (path, "; ".join(problems)))
    paths, problem = _daemon_config.runtime_binaries(config)
    absent = ["%s (%s)" % (name, binary) for name, binary in sorted(paths.items()) if not shutil.which(binary)]
    if absent and (set(settings) & {"runtimes", "default-runtime"}):
        problem = "the binary of runtime %s does not exist" % ", ".join(absent)
    elif absent:
        module.warn("%s names a runtime whose binary does not exist: %s" % (path, ", ".join(absent)))
    if problem:
        module.fail_json(msg="Not writing %s: %s. Docker accepts that and then starts no container. Install the runtime, "
                             "or change the settings." % (path, problem))
    validate(module, daemon, config)


def validate(module, daemon, config):
    """Let dockerd judge the file where its version can (23 and newer)."""
    if daemon.binary is None:
        return
    handle, name = tempfile.mkstemp(suffix=".json", dir=module.tmpdir)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(_daemon_config.render(config))
    rc, out, err = module.run_command([daemon.binary, "--validate", "--config-file", name])
    if rc != 0 and "unknown flag" not in out + err:
        module.fail_json(msg="Not writing %s: dockerd refuses it: %s" % (
            module.params["path"], (err or out).strip().replace(name, "the new file")))


def waiting_for_restart(daemon, path, settings, config, changes):
    """Our keys that are in the file and not in the daemon. Keys that it does not show are judged by its age."""
    waiting = {item["key"] for item in _daemon_config.not_loaded(config, daemon.info)
               if item["key"] in settings and item["by"] == "restart"}
    waiting |= set(changes["restart"]) & set(settings)
    start = started_at(daemon.pid)
    if start is not None and os.path.exists(path) and start < os.stat(path).st_mtime:
        waiting |= set(_daemon_config.invisible(settings))
    return waiting


def load(module, daemon, path, before_text, settings, config, changes, result):
    """Make the running daemon take the file; puts the old file back when it does not."""
    def pending(info, by):
        return [item["key"] for item in _daemon_config.not_loaded(config, info)
                if item["key"] in settings and item["by"] == by]

    before = daemon.running()
    if changes["reload"] or pending(daemon.info, "reload"):
        if not daemon.hangup(lambda info: not pending(info, "reload"), module.params["reload_timeout"]):
            refused = pending(daemon.info, "reload")
            if "written" in result["actions"]:
                write(path, before_text)
            module.fail_json(
                msg="The running Docker did not take over %s from %s within %d s; something in the file is refused "
                    "(journalctl -u docker names it). The file is as it was found, containers go on. Correct the file "
                    "or docker_engine_daemon_config and run again."
                    % (", ".join(refused), path, module.params["reload_timeout"]),
                daemon=daemon.describe())
        result["actions"].append("reloaded")
    waiting = waiting_for_restart(daemon, path, settings, config, changes)
    if waiting:
        alive = bool(daemon.info.get("LiveRestoreEnabled"))
        if not before or (module.params["restart_ok"] and alive):
            daemon.restart()
            result["actions"].append("restarted")
            waiting = set(pending(daemon.info, "restart"))
    result["restart_required"] = sorted(waiting)
    after = daemon.running() if result["actions"] else before
    result["containers_restarted"] = sorted(
        name for key, (name, start) in before.items() if after.get(key, (None, None))[1] != start)
    if result["containers_restarted"]:
        module.warn("Containers that did not survive: %s" % ", ".join(result["containers_restarted"]))


def present(module, daemon, result):
    """Merge, check, write, load."""
    path = module.params["path"]
    before_text = read_text(path)
    current = _daemon_config.parse(before_text, path)
    settings, skipped = _daemon_config.applicable(
        current, _daemon_config.normalise(module.params["settings"]), daemon.swarm)
    config = _daemon_config.merge(current, settings)
    changes = _daemon_config.changed_keys(current, config)
    result.update(config=config, changed_keys=changes, left_out=skipped)
    check_before_writing(module, daemon, settings, config)
    text = before_text
    if config != current:
        text = _daemon_config.render(config)
    result["diff"] = {"before_header": path, "after_header": path, "before": before_text or "", "after": text or ""}
    reload_needed = daemon.info is not None and any(
        item["by"] == "reload" and item["key"] in settings for item in _daemon_config.not_loaded(config, daemon.info))
    result["changed"] = text != before_text or reload_needed
    if module.check_mode:
        if daemon.info is not None and daemon.pid is not None:
            result["restart_required"] = sorted(waiting_for_restart(daemon, path, settings, config, changes))
        return
    if text != before_text:
        if module.params["backup"] and before_text is not None:
            result["backup_file"] = module.backup_local(path)
        write(path, text)
        result["actions"].append("written")
    if daemon.info is not None and daemon.pid is not None and text is not None:
        load(module, daemon, path, before_text, settings, config, changes, result)
    result["changed"] = bool(result["actions"])


def reloaded(module, daemon, result):
    """Make the daemon run by the file as it is. A key the file lacks is pushed to its default for a moment."""
    path = module.params["path"]
    text = read_text(path)
    config = _daemon_config.parse(text, path)
    result["config"] = config
    if daemon.info is None or daemon.pid is None:
        return
    target = dict(config)
    if not any(key == "live-restore" for key in _daemon_config.flag_names(daemon.cmdline())):
        target.setdefault("live-restore", False)
    stale = [item["key"] for item in _daemon_config.not_loaded(target, daemon.info) if item["by"] == "reload"]
    if not stale:
        return
    result["changed"] = True
    if module.check_mode:
        return

    def satisfied(info):
        return not [key for key in stale
                    if key in [item["key"] for item in _daemon_config.not_loaded(target, info)]]

    if target != config:
        write(path, _daemon_config.render(target))
    try:
        took = daemon.hangup(satisfied, module.params["reload_timeout"])
    finally:
        if target != config:
            write(path, text)
    if not took:
        module.fail_json(msg="The running Docker did not take over %s from %s; journalctl -u docker names the reason."
                             % (", ".join(stale), path), daemon=daemon.describe())
    result["actions"].append("reloaded")


def main():
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "default": {}},
            "state": {"type": "str", "choices": ["present", "reloaded"], "default": "present"},
            "restart_ok": {"type": "bool", "default": False},
            "backup": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "socket_path": {"type": "path", "default": "/run/docker.sock"},
            "reload_timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    daemon = Daemon(module)
    result = {
        "changed": False, "actions": [], "restart_required": [], "left_out": [], "containers_restarted": [],
        "changed_keys": {"reload": [], "restart": []},
        "requests_available": importlib.util.find_spec("requests") is not None,
    }
    if os.geteuid() != 0:
        module.fail_json(msg="Writing %s and talking to Docker needs root; found user id %d. Set ansible_become: true."
                             % (module.params["path"], os.geteuid()))
    try:
        if module.params["state"] == "present":
            present(module, daemon, result)
        else:
            reloaded(module, daemon, result)
    except _daemon_config.DaemonConfigError as exc:
        module.fail_json(msg=str(exc), daemon=daemon.describe())
    except (OSError, docker_api.DockerUnavailable, docker_api.DockerError) as exc:
        module.fail_json(msg="Docker's settings could not be applied: %s" % exc, daemon=daemon.describe())
    result["daemon"] = daemon.describe()
    module.exit_json(**result)


if __name__ == "__main__":
    main()
