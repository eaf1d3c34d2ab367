#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_cutover
short_description: Take foreign engines out of the way, or put them back
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Stops the engines that an inventory names in C(inference_replaces) and waits until their port and their memory are really free.
  - Records in the undo journal what was there first, drains what runs, unloads the models of an Ollama server, and keeps the engine
    from coming back at the next boot. Nothing is deleted.
  - Puts the engines back as they were and waits until each answers a real request.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  state:
    description:
      - V(stopped) stops what O(replaces) names. What is stopped already stays so.
      - V(confirmed) says that what took their place serves. From then on V(rolled_back) leaves them alone.
      - V(rolled_back) puts back those whose successors never served, after stopping every engine of ours, since both would not
        fit. This is for a run that failed.
      - V(restored) puts all of them back. This is for taking the collection away; engines of ours must be stopped before.
    type: str
    choices: [stopped, confirmed, rolled_back, restored]
    default: stopped
  replaces:
    description: Engines to take out of the way.
    type: list
    elements: dict
    default: []
    suboptions:
      container:
        description: Name of its container. Either this or O(replaces[].unit).
        type: str
      unit:
        description: Name of its systemd unit.
        type: str
      url:
        description: Where it answers.
        type: str
      api:
        description: What it speaks.
        type: str
        choices: [openai, ollama]
        default: openai
      model:
        description: A model it serves.
        type: str
  allowed:
    description: Whether anything may be stopped. Without it, an engine in the way of the plan is an error and others are left alone.
    type: bool
    default: false
  exclusive:
    description: Whether the plan needs the whole machine, so that any other engine is in its way.
    type: bool
    default: false
  ports:
    description: Ports that the plan needs.
    type: list
    elements: int
    default: []
  drain_seconds:
    description: How long running requests may take to end, where the engine tells how many there are.
    type: int
    default: 60
  stop_seconds:
    description: Seconds between SIGTERM and SIGKILL.
    type: int
    default: 30
  free_seconds:
    description: How long port and memory may take to become free after that.
    type: int
    default: 120
  answer_seconds:
    description: How long an engine that is put back may take until it answers.
    type: int
    default: 900
  directory:
    description: Folder of our own engines' files.
    type: path
    default: /etc/indiaai-inference/engines
  docker_socket:
    description: Socket of the Docker daemon.
    type: path
    default: /run/docker.sock
"""

EXAMPLES = r"""
- name: Take the old engine out of the way
  indiaai.inference.engine_cutover:
    allowed: true
    replaces:
      - container: old-llm
        url: http://127.0.0.1:8000
        api: openai
        model: chat

- name: Put it back, unless what took its place has served
  indiaai.inference.engine_cutover:
    state: rolled_back
"""

RETURN = r"""
engines:
  description: What was done with each engine.
  returned: always
  type: list
  elements: dict
  sample:
    - name: container old-llm
      action: stopped
      drained_seconds: 1.2
      freed_memory_mib: 812
      freed_gpu_memory_mib: 0
"""

import json
import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _cutover, _cutover_host, _engine_files, _engine_units
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, docker_api, health, journal, paths, status

ROLE = "engine_cutover"
# Where the engines that were stopped answered; what to wait for must be known after the inventory forgot it.
RECORD = os.path.join(paths.STATE, "cutover.json")
UNIT_PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,ControlGroup"


class CutoverFailed(Exception):
    """Something is still in the way, or does not come back; the text says what and what to change."""


class Foreign:
    """One engine that is not ours."""

    def __init__(self, module, item, api):
        self.module = module
        self.item = item
        self.api = api
        self.title = _cutover.title(item)
        self.units = _engine_units.Units(module.run_command)
        self.running, self.returns, self.marker = None, False, None
        self.result = {"name": self.title, "action": "already stopped", "drained_seconds": 0.0, "freed_memory_mib": 0, "freed_gpu_memory_mib": 0}
        self.look()

    def look(self):
        """Read whether it is there, runs, and comes back at the next boot."""
        if self.item.get("container"):
            found = self.inspect()
            if found is None:
                self.running, self.returns, self.marker = None, False, None
                return
            policy = ((found.get("HostConfig") or {}).get("RestartPolicy") or {}).get("Name") or "no"
            self.running, self.returns, self.marker = bool(found["State"].get("Running")), policy != "no", found["Id"]
            return
        rc, out, dummy = self.module.run_command(["systemctl", "show", "-p", UNIT_PROPERTIES, "--", _cutover.unit_name(self.item["unit"])])
        unit = next(iter(status.parse_show(out).values()), {}) if rc == 0 else {}
        if not _engine_units.exists(unit):
            self.running, self.returns, self.marker = None, False, None
            return
        self.running = unit.get("ActiveState") in ("active", "activating", "reloading", "deactivating")
        self.returns = unit.get("UnitFileState") == "enabled"
        self.marker = unit.get("ControlGroup") or None

    def inspect(self):
        """The container, None when it is not there; without a daemon there are no containers."""
        if not os.path.exists(self.api.socket_path):
            return None
        return self.api.inspect(self.item["container"])

    def http(self):
        """(client, path in front) for its url, or (None, "") when there is none that can be asked."""
        if not self.item.get("url"):
            return None, ""
        host, port, front = _cutover.target(self.item["url"])
        return health.EngineHttp(host, port), front

    # ---- away -----------------------------------------------------------------------------------------------------

    def stop(self):
        """Drain, unload, stop, and wait until everything is free."""
        wanted = _cutover.needs(self.running, self.returns)
        processes = _cutover_host.members(self.marker) if self.marker and "stop" in wanted else []
        born = {pid: _cutover_host.start_time(pid) for pid in processes}
        memory = _cutover_host.resident_mib(processes)
        gpu = _cutover_host.gpu_memory(self.module.run_command)
        if "stop" in wanted:
            self.drain()
            self.unload()
        # First this, then the stop: after a power cut in between, the engine is down at the next boot, as wanted.
        if "disable" in wanted:
            self.disable()
        if "stop" in wanted:
            if self.item.get("container"):
                self.api.stop(self.item["container"], self.module.params["stop_seconds"])
            else:
                self.units.act("stop", [_cutover.unit_name(self.item["unit"])])
            self.wait_free(born)
            self.look()
            if self.running:
                raise CutoverFailed(
                    "%s was stopped and runs again: something starts it. Name that in inference_replaces instead (unit: NAME)" % self.title
                )
            self.result["freed_memory_mib"] = memory
            self.result["freed_gpu_memory_mib"] = sum(gpu.get(pid, 0) for pid in processes)
        self.result["action"] = "stopped" if "stop" in wanted else "kept from starting at boot"

    def disable(self):
        """Keep it from coming back at the next boot."""
        if self.item.get("container"):
            self.api.update(self.item["container"], {"RestartPolicy": {"Name": "no"}})
        else:
            self.units.act("disable", [_cutover.unit_name(self.item["unit"])], ["--quiet"])

    def drain(self):
        """Wait until it works on nothing, where it tells; at most drain_seconds."""
        client, front = self.http()
        if client is None:
            return
        began = time.monotonic()
        while time.monotonic() - began < self.module.params["drain_seconds"]:
            answer = client.metrics(front + "/metrics")
            running = health.metric_sum(answer.body, _cutover.RUNNING_METRICS) if answer.ok else None
            if not running:
                break
            time.sleep(0.5)
        self.result["drained_seconds"] = round(time.monotonic() - began, 1)

    def unload(self):
        """Let an Ollama server give back its models' memory itself: its runner processes outlive a hard stop otherwise."""
        client, front = self.http()
        if self.item.get("api") != "ollama" or client is None:
            return
        deadline = time.monotonic() + self.module.params["free_seconds"]
        asked = set()
        while time.monotonic() < deadline:
            code, text = client.call("GET", front + "/api/ps")
            models = _cutover.loaded_models(text) if code == 200 else []
            if not models:
                return
            for model in models:
                if model not in asked:
                    client.call("POST", front + "/api/generate", {"model": model, "keep_alive": 0}, 30)
                    asked.add(model)
            time.sleep(0.5)

    def wait_free(self, born):
        """Wait until nobody listens on its port and none of its processes lives or holds GPU memory."""
        port = _cutover.target(self.item["url"])[1] if self.item.get("url") else None
        deadline = time.monotonic() + self.module.params["free_seconds"]
        while True:
            alive = [pid for pid, start in born.items() if _cutover_host.start_time(pid) == start and not _cutover_host.is_zombie(pid)]
            gpu = _cutover_host.gpu_memory(self.module.run_command) if not alive else {}
            texts = ["%s (pid %d, %d MiB)" % (_cutover_host.name(pid), pid, _cutover_host.resident_mib([pid])) for pid in alive]
            texts += ["GPU: pid %d, %d MiB" % (pid, gpu[pid]) for pid in born if pid in gpu and pid not in alive]
            holders = _cutover_host.port_holders(port) if port else []
            held = _cutover.still_held(port, holders, texts)
            if held is None:
                return
            if time.monotonic() > deadline:
                raise CutoverFailed(
                    "%s is stopped, but after %d s %s. Stop that by hand, or name it in inference_replaces"
                    % (self.title, self.module.params["free_seconds"], held)
                )
            time.sleep(0.5)

    # ---- back -----------------------------------------------------------------------------------------------------

    def wait_answer(self):
        """Wait until it answers a real request."""
        client, front = self.http()
        if client is None:
            return
        deadline = time.monotonic() + self.module.params["answer_seconds"]
        problem = "nothing was asked"
        while time.monotonic() < deadline:
            problem = self.ask(client, front)
            if problem is None:
                return
            time.sleep(1)
        raise CutoverFailed("%s is started again, but does not answer on %s: %s" % (self.title, self.item["url"], problem))

    def ask(self, client, front):
        """One real request. None when it was answered, else what is wrong."""
        model = self.item.get("model")
        if not model:
            path, dummy = _cutover.probe(self.item["api"], None)
            code, text = client.call("GET", front + path, timeout=10)
            model = _cutover.first_model(text) if code == 200 else None
            if model is None:
                return "%s answered %s %s" % (path, code, text[:200])
        path, body = _cutover.probe(self.item["api"], model)
        answer = client.request(front + path, body, 120)
        # Some engines know no chat, and an engine with a key of its own answers 401 to everybody else: both serve again.
        if answer.ok or (answer.definite and (" 401 " in answer.detail or " 403 " in answer.detail)):
            return None
        return answer.detail


class Record:
    """The engines that were stopped and not put back, each with what is known about it, in a file of the host.

    An entry is one of C(inference_replaces) with C(running) (it ran) and C(confirmed) (what took its place has served).
    """

    def __init__(self):
        try:
            with open(RECORD, encoding="utf-8") as handle:
                self.entries = {_cutover.title(entry): entry for entry in json.load(handle)["engines"]}
        except (OSError, ValueError, KeyError):
            self.entries = {}

    def save(self):
        """Write the file."""
        os.makedirs(os.path.dirname(RECORD), mode=0o755, exist_ok=True)
        text = json.dumps({"schema_version": 1, "engines": list(self.entries.values())}, indent=1, sort_keys=True)
        atomic.write(RECORD, text + "\n", mode=0o600)


def journal_role(title):
    """Under which name the journal holds one engine, so that each can be put back alone."""
    return "%s: %s" % (ROLE, title)


def take_away(module, api):
    """state stopped -> (changed, results)."""
    params = module.params
    foreign = [Foreign(module, item, api) for item in params["replaces"]]
    todo = [engine for engine in foreign if _cutover.needs(engine.running, engine.returns)]
    if not params["allowed"]:
        bad = [engine.title for engine in todo if engine.running and _cutover.in_the_way(engine.item, params["exclusive"], params["ports"])]
        if bad:
            raise CutoverFailed("%s is in the way of the plan and may not be stopped; set inference_cutover: true" % ", ".join(bad))
        return False, [dict(engine.result, action="left alone") for engine in foreign]
    for engine in foreign:
        if engine.running is None:
            engine.result["action"] = "not there"
    if module.check_mode or not todo:
        for engine in todo:
            engine.result["action"] = "stopped" if engine.running else "kept from starting at boot"
        return bool(todo), [engine.result for engine in foreign]
    book, record = journal.Journal(), Record()
    book.record(ROLE, [{"kind": "file", "path": RECORD}])
    for engine in todo:
        book.record(journal_role(engine.title), [_cutover.journal_item(engine.item)])
        known = record.entries.get(engine.title, {})
        record.entries[engine.title] = dict(engine.item, running=engine.running or known.get("running", False), confirmed=False)
    record.save()
    for engine in todo:
        engine.stop()
    return True, [engine.result for engine in foreign]


def confirm(module, dummy):
    """state confirmed -> (changed, results)."""
    record = Record()
    new = [entry for entry in record.entries.values() if not entry["confirmed"]]
    for entry in new:
        entry["confirmed"] = True
    if new and not module.check_mode:
        record.save()
    return bool(new), [{"name": _cutover.title(entry), "action": "confirmed"} for entry in new]


def roll_back(module, api):
    """state rolled_back -> (changed, results)."""
    unconfirmed = [title for title, entry in Record().entries.items() if not entry["confirmed"]]
    if not unconfirmed:
        return False, []
    if not module.check_mode:
        stop_own(module)
    return put_back(module, api, unconfirmed)


def restore(module, api):
    """state restored -> (changed, results)."""
    prefix = journal_role("")
    roles = [role for entry in journal.Journal().entries() for role in entry["roles"] if role.startswith(prefix)]
    changed, results = put_back(module, api, [role[len(prefix):] for role in dict.fromkeys(roles)])
    if not module.check_mode:
        journal.Journal().restore(ROLE)
    return changed, results


def stop_own(module):
    """Stop every engine of ours and keep it from the next boot: it would take the memory of the one that is put back."""
    folder = module.params["directory"]
    slugs = _engine_files.slugs(os.listdir(folder)) if os.path.isdir(folder) else []
    units = _engine_units.Units(module.run_command)
    states = units.show([paths.engine_unit(slug) for slug in slugs])
    for name, unit in states.items():
        if not _engine_units.exists(unit):
            continue
        if unit.get("UnitFileState") == "enabled":
            units.act("disable", [name], ["--quiet"])
        if unit.get("ActiveState") != "inactive":
            units.act("stop", [name])


def put_back(module, api, titles):
    """Put these engines back and wait until each that ran answers -> (changed, results)."""
    book, record, results = journal.Journal(), Record(), []
    for title in titles:
        outcome = book.restore(journal_role(title), dry=module.check_mode)
        if outcome["failed"]:
            raise CutoverFailed("; ".join("%s could not be put back: %s" % (entry["item"], entry["reason"]) for entry in outcome["failed"]))
        # What somebody removed in the meantime cannot be put back, and is no reason to stop half way.
        for kept in outcome["kept"]:
            module.warn("%s is not put back: %s" % (kept["item"], kept["reason"]))
        results.append({"name": title, "action": "restored" if outcome["restored"] else "not put back"})
    changed = any(result["action"] == "restored" for result in results)
    if module.check_mode:
        return changed, results
    restored = [result["name"] for result in results if result["action"] == "restored"]
    entries = [record.entries.pop(title) for title in titles if title in record.entries]
    if entries:
        record.save()
    for entry in entries:
        if entry["running"] and _cutover.title(entry) in restored:
            Foreign(module, entry, api).wait_answer()
    return changed, results


ACTIONS = {"stopped": take_away, "confirmed": confirm, "rolled_back": roll_back, "restored": restore}


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": list(ACTIONS), "default": "stopped"},
            "replaces": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "container": {"type": "str"},
                    "unit": {"type": "str"},
                    "url": {"type": "str"},
                    "api": {"type": "str", "choices": ["openai", "ollama"], "default": "openai"},
                    "model": {"type": "str"},
                },
                "mutually_exclusive": [("container", "unit")],
                "required_one_of": [("container", "unit")],
            },
            "allowed": {"type": "bool", "default": False},
            "exclusive": {"type": "bool", "default": False},
            "ports": {"type": "list", "elements": "int", "default": []},
            "drain_seconds": {"type": "int", "default": 60},
            "stop_seconds": {"type": "int", "default": 30},
            "free_seconds": {"type": "int", "default": 120},
            "answer_seconds": {"type": "int", "default": 900},
            "directory": {"type": "path", "default": paths.ENGINES},
            "docker_socket": {"type": "path", "default": paths.DOCKER_SOCKET},
        },
        supports_check_mode=True,
    )
    api = docker_api.DockerApi(module.params["docker_socket"])
    try:
        changed, engines = ACTIONS[module.params["state"]](module, api)
    except (CutoverFailed, journal.JournalError, _engine_units.UnitError, docker_api.DockerError, docker_api.DockerUnavailable, OSError) as exc:
        module.fail_json(msg=str(exc), engines=[])
    module.exit_json(changed=changed, engines=engines)


if __name__ == "__main__":
    main()
