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
  - A file that is not valid JSON stops the module before anything is written. So does what Docker would accept and choke
    on later - a runtime whose binary is missing, a setting that the unit gives as a flag too, an address pool that hides
    a network of this host, another C(data-root) under a daemon that has data.
  - Only the values that change are changed in the text; the rest of the file keeps its bytes.
options:
  settings:
    description:
      - Keys of daemon.json with their wanted values, merged deeply. Values below C(log-opts) become strings.
      - C(live-restore) is left out on a swarm node, C(log-opts) where the log driver writes no files. RV(left_out) says so.
      - Limits below C(default-ulimits) may be a number or C({soft, hard}), V(-1) for unlimited. They are lowered to what
        this daemon can give to a container, since no container would start otherwise. RV(clamped) says so.
    type: dict
    default: {}
  settings_if_absent:
    description:
      - Settings that are made only where neither the file nor O(settings) speaks of them. Below C(runtimes) and C(features)
        each name counts for itself.
    type: dict
    default: {}
  read_at_start:
    description:
      - Files that the daemon looks for only when it starts, such as the hook behind C(docker run --gpus). One that is
        younger than the daemon is named in RV(restart_required).
    type: list
    elements: path
    default: []
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
  description: Keys of O(settings) and files of O(read_at_start) that wait for a restart of the daemon.
  returned: success
  type: list
  elements: str
  sample: [log-opts]
clamped:
  description: Limits that were lowered to what a container can get here; V(-1) is unlimited.
  returned: success
  type: list
  elements: dict
  sample: [{"limit": "nofile", "wanted": 1048576, "granted": 524288}]
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
import tempfile

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_config
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_host
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_keys
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_text
from ansible_collections.indiaai.inference.plugins.module_utils import _ulimits
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api


def read_config(path):
    """Text of the file, None when there is none. DaemonConfigError when it is no text."""
    try:
        with open(path, "rb") as handle:
            return _daemon_text.decode(handle.read(), path)
    except FileNotFoundError:
        return None


def write(path, text):
    """Put text in place, mode 0644; None removes the file."""
    if text is None:
        os.unlink(path)
        return
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o755)
    atomic.write(path, text, mode=0o644)


def wanted_settings(module, daemon, current):
    """The parameters as this host gets them -> (settings, skipped, clamped)."""
    settings = _daemon_config.complete(
        current, _daemon_config.normalise(module.params["settings"]), _daemon_config.normalise(module.params["settings_if_absent"]))
    settings, skipped = _daemon_config.applicable(current, settings, daemon.swarm)
    clamped = []
    if settings.get("default-ulimits"):
        settings["default-ulimits"], clamped = _ulimits.clamp(settings["default-ulimits"], daemon.grantable())
    return settings, skipped, clamped


def check_before_writing(module, daemon, current, settings, config):
    """Everything that would make the daemon refuse the file, or choke on it, is found here, while nothing has been written.

    -> sentences that forbid a restart: what somebody else's part of the file would do to the next start.
    """
    path = module.params["path"]
    running, unit = daemon.cmdline(), daemon.unit_command()
    problems = sorted(set(_daemon_config.conflicts(settings, running) + _daemon_config.conflicts(settings, unit)))
    other = [arg for arg in running if arg.startswith("--config-file")]
    if other and path not in " ".join(running):
        problems.append("the running dockerd reads another file: %s" % " ".join(other))
    if problems:
        module.fail_json(msg="Not writing %s: %s. Docker refuses a setting given in both places: remove it from the unit "
                             "(systemctl cat docker), or leave it out of the settings." % (path, "; ".join(problems)))
    check_runtimes(module, daemon, settings, config)
    new = {key: value for key, value in settings.items() if key not in current or not _daemon_keys.same(value, current[key])}
    check_networks(module, new)
    check_data_root(module, daemon, new)
    validate(module, daemon, config)
    foreign = _daemon_config.conflicts(config, unit)
    for sentence in foreign:
        module.warn("%s: %s, and the file has it too: Docker will not start again like this." % (path, sentence))
    return foreign


def check_runtimes(module, daemon, settings, config):
    """dockerd, --validate included, accepts a runtime that is not there; the next container then does not start."""
    path = module.params["path"]
    paths, problem = _daemon_config.runtime_binaries(config)
    absent = {name: binary for name, binary in sorted(paths.items()) if not daemon.which(binary)}
    said = ", ".join("%s (%s)" % item for item in absent.items())
    ours = set(settings.get("runtimes") or {}) | {settings.get("default-runtime")}
    if set(absent) & ours:
        problem = "the binary of runtime %s does not exist" % said
    elif absent:
        module.warn("%s names a runtime whose binary does not exist: %s" % (path, said))
    if problem and "default-runtime" not in settings and not set(absent) & ours:
        module.warn("%s: %s" % (path, problem))
    elif problem:
        module.fail_json(msg="Not writing %s: %s. Docker accepts that and then starts no container. Install the runtime, "
                             "or change the settings." % (path, problem))


def check_networks(module, new):
    """Docker's bridges must not hide a network that the host needs."""
    problems = _daemon_config.shadowed_routes(new, _daemon_config.routes(_daemon_host.read_text("/proc/net/route") or ""))
    if problems:
        module.fail_json(msg="Not writing %s: %s. Containers' networks would hide it. Choose another range (ip route lists those "
                             "in use)." % (module.params["path"], "; ".join(problems)))


def check_data_root(module, daemon, new):
    """Another data-root starts with nothing: no image and no container is there any more."""
    info = daemon.info or {}
    if "data-root" not in new or info.get("DockerRootDir") in (None, str(new["data-root"]).rstrip("/")):
        return
    if info.get("Images") or info.get("Containers"):
        module.fail_json(msg="Not writing %s: data-root is to become %s, and the running Docker has %s images and %s containers in %s, "
                             "which would be gone from it. Move the data first (Docker stopped, rsync -aHAXS), then run again."
                             % (module.params["path"], new["data-root"], info.get("Images"), info.get("Containers"),
                                info["DockerRootDir"]))


def validate(module, daemon, config):
    """Let dockerd judge the file where its version can (23 and newer)."""
    if daemon.binary is None:
        return
    handle, name = tempfile.mkstemp(suffix=".json", dir=module.tmpdir)
    with os.fdopen(handle, "w", encoding="utf-8") as stream:
        stream.write(_daemon_text.render(config))
    rc, out, err = module.run_command([daemon.binary, "--validate", "--config-file", name])
    if rc != 0 and "unknown flag" not in out + err:
        module.fail_json(msg="Not writing %s: dockerd refuses it: %s" % (
            module.params["path"], (err or out).strip().replace(name, "the new file")))


def waiting_for_restart(module, daemon, ours, config, changes):
    """Our keys that are in the file and not in the daemon, and files it has not seen. What it does not show is judged by its age."""
    path = module.params["path"]
    waiting = {item["key"] for item in _daemon_config.not_loaded(config, daemon.info)
               if item["key"] in ours and item["by"] == _daemon_keys.RESTART}
    waiting |= {key for key in changes["restart"] if key in ours
                and _daemon_keys.shown(key, config[key], daemon.info) is None}
    start = _daemon_host.started_at(daemon.pid)
    if start is None:
        return waiting
    if os.path.exists(path) and start < os.stat(path).st_mtime:
        waiting |= set(_daemon_config.invisible(ours, daemon.info))
    return waiting | {name for name in module.params["read_at_start"] if os.path.exists(name) and start < os.stat(name).st_ctime}


def pending(daemon, ours, config, by):
    """Our keys that the daemon shows otherwise than the file has them."""
    return [item["key"] for item in _daemon_config.not_loaded(config, daemon.info) if item["key"] in ours and item["by"] == by]


def reload(module, daemon, before_text, ours, config, changes, result):
    """SIGHUP, and the proof that the daemon took it; puts the old file back when it did not."""
    path = module.params["path"]
    blind = [key for key in changes["reload"] if _daemon_keys.shown(key, config[key], daemon.info) is None]

    def satisfied(ignored):
        return not pending(daemon, ours, config, _daemon_keys.RELOAD)

    if not daemon.hangup(satisfied, module.params["reload_timeout"], want_event=bool(blind)):
        refused = pending(daemon, ours, config, _daemon_keys.RELOAD) or blind
        if "written" in result["actions"]:
            write(path, before_text)
        module.fail_json(
            msg="The running Docker did not take over %s from %s within %d s; something in the file is refused "
                "(journalctl -u docker names it). The file is as it was found, containers go on. Correct the file "
                "or docker_engine_daemon_config and run again."
                % (", ".join(refused), path, module.params["reload_timeout"]),
            daemon=daemon.describe())
    result["actions"].append("reloaded")


def restart(module, daemon, before_text, result):
    """Restart; a daemon that does not come up gets the old file back and is started with it."""
    path = module.params["path"]
    try:
        daemon.restart()
    except _daemon_host.RestartFailed as exc:
        if "written" not in result["actions"]:
            module.fail_json(msg=str(exc), daemon=daemon.describe())
        write(path, before_text)
        try:
            daemon.restart()
        except _daemon_host.RestartFailed as again:
            module.fail_json(msg="%s. %s is as it was found, and Docker does not start with that either: %s" % (exc, path, again),
                             daemon=daemon.describe())
        module.fail_json(msg="%s. %s is as it was found, and Docker runs with it again; journalctl -u docker names what it refused."
                             % (exc, path), daemon=daemon.describe())
    result["actions"].append("restarted")


def load(module, daemon, before_text, ours, config, changes, result, forbidden):
    """Make the running daemon take the file: first what a reload loads, live-restore among it, then perhaps a restart."""
    before = daemon.running()
    if changes["reload"] or pending(daemon, ours, config, _daemon_keys.RELOAD):
        reload(module, daemon, before_text, ours, config, changes, result)
    waiting = waiting_for_restart(module, daemon, ours, config, changes)
    alive = bool(daemon.info.get("LiveRestoreEnabled"))
    if waiting and not forbidden and (not before or (module.params["restart_ok"] and alive)):
        restart(module, daemon, before_text, result)
        waiting = set(pending(daemon, ours, config, _daemon_keys.RESTART))
    result["restart_required"] = sorted(waiting)
    after = daemon.running() if result["actions"] else before
    result["containers_restarted"] = sorted(
        name for key, (name, start) in before.items() if after.get(key, (None, None))[1] != start)
    if result["containers_restarted"]:
        module.warn("Containers that did not survive: %s" % ", ".join(result["containers_restarted"]))


def present(module, daemon, result):
    """Merge, check, write, load."""
    path = module.params["path"]
    before_text = read_config(path)
    current = _daemon_text.parse(before_text, path)
    settings, skipped, clamped = wanted_settings(module, daemon, current)
    config = _daemon_config.merge(current, settings)
    changes = _daemon_config.changed_keys(current, config)
    result.update(config=config, changed_keys=changes, left_out=skipped, clamped=clamped)
    # What was set only because nobody spoke of it counts as ours in later runs too, when the file speaks of it.
    ours = {key: config[key] for key in [*settings, *module.params["settings_if_absent"]] if key in config}
    forbidden = check_before_writing(module, daemon, current, settings, config)
    text = before_text
    if changes["reload"] or changes["restart"]:
        text = _daemon_text.rewrite(before_text or "", config)
    result["diff"] = {"before_header": path, "after_header": path, "before": before_text or "", "after": text or ""}
    alive = daemon.info is not None and daemon.pid is not None
    result["changed"] = text != before_text or (alive and bool(pending(daemon, ours, config, _daemon_keys.RELOAD)))
    if module.check_mode:
        if alive:
            result["restart_required"] = sorted(waiting_for_restart(module, daemon, ours, config, changes))
        return
    if text != before_text:
        if module.params["backup"] and before_text is not None:
            result["backup_file"] = module.backup_local(path)
        write(path, text)
        result["actions"].append("written")
    if alive:
        load(module, daemon, before_text, ours, config, changes, result, forbidden)
    result["changed"] = bool(result["actions"])


def reloaded(module, daemon, result):
    """Make the daemon run by the file as it is. A key the file lacks is pushed to its default for a moment."""
    path = module.params["path"]
    text = read_config(path)
    config = _daemon_text.parse(text, path)
    result["config"] = config
    if daemon.info is None or daemon.pid is None:
        return
    target = dict(config)
    if not any(key == "live-restore" for key in _daemon_config.flag_names(daemon.cmdline())):
        target.setdefault("live-restore", False)

    def stale():
        return [item["key"] for item in _daemon_config.not_loaded(target, daemon.info) if item["by"] == _daemon_keys.RELOAD]

    refused = stale()
    if not refused:
        return
    result["changed"] = True
    if module.check_mode:
        return
    if target != config:
        write(path, _daemon_text.render(target))
    try:
        took = daemon.hangup(lambda ignored: not stale(), module.params["reload_timeout"])
    finally:
        if target != config:
            write(path, text)
    if not took:
        module.fail_json(msg="The running Docker did not take over %s from %s; journalctl -u docker names the reason."
                             % (", ".join(refused), path), daemon=daemon.describe())
    result["actions"].append("reloaded")


def main():
    module = AnsibleModule(
        argument_spec={
            "settings": {"type": "dict", "default": {}},
            "settings_if_absent": {"type": "dict", "default": {}},
            "read_at_start": {"type": "list", "elements": "path", "default": []},
            "state": {"type": "str", "choices": ["present", "reloaded"], "default": "present"},
            "restart_ok": {"type": "bool", "default": False},
            "backup": {"type": "bool", "default": False},
            "path": {"type": "path", "default": "/etc/docker/daemon.json"},
            "socket_path": {"type": "path", "default": "/run/docker.sock"},
            "reload_timeout": {"type": "int", "default": 10},
        },
        supports_check_mode=True,
    )
    daemon = _daemon_host.Daemon(module, module.params["socket_path"])
    result = {
        "changed": False, "actions": [], "restart_required": [], "left_out": [], "clamped": [], "containers_restarted": [],
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
    except (_daemon_text.DaemonConfigError, _ulimits.UlimitError) as exc:
        module.fail_json(msg=str(exc), daemon=daemon.describe())
    except (OSError, docker_api.DockerUnavailable, docker_api.DockerError) as exc:
        module.fail_json(msg="Docker's settings could not be applied: %s" % exc, daemon=daemon.describe())
    result["daemon"] = daemon.describe()
    module.exit_json(**result)


if __name__ == "__main__":
    main()
