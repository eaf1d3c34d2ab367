#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_ready
short_description: Start inference engines and wait until each answers
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Enables and starts the unit of every engine, and restarts those whose specification or key changed since they last answered.
    An engine that runs unchanged is not touched.
  - Ready means an answer to a real request with one token, with the engine's own key, not an open port or a health page.
  - Waits by looking at the unit, so that an engine that fails is reported when it fails and not when the time is up. The first
    failure ends the waiting; the message holds the reason, the engine's last log lines and what to change.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Says what would be enabled, started and restarted, and waits for nothing.
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  engines:
    description: Engine specifications, as the filter P(indiaai.inference.engine_command#filter) makes them.
    type: list
    elements: dict
  names:
    description: Slugs of engines whose specification is taken from O(directory), instead of O(engines).
    type: list
    elements: str
  directory:
    description: Folder of the engines' files.
    type: path
    default: /etc/indiaai-inference/engines
  timeout:
    description:
      - How many seconds one engine may take until it answers.
      - Engines that share a device load one after the other; each of them adds its own time.
    type: int
    default: 1800
  allowed_failures:
    description: How many failed starts of one engine are waited out. The host program tries again by itself.
    type: int
    default: 1
  log_lines:
    description: How many of the engine's last log lines a failure shows, not counting the frames of tracebacks.
    type: int
    default: 50
  docker_socket:
    description: Socket of the Docker daemon, asked for log lines after a failure.
    type: path
    default: /run/docker.sock
"""

EXAMPLES = r"""
- name: Start the engines and wait until they answer
  indiaai.inference.engine_ready:
    engines: "{{ specs }}"
    timeout: 1800
"""

RETURN = r"""
engines:
  description: What each engine did, by slug.
  returned: always
  type: dict
  sample:
    demo:
      action: started
      ready: true
      seconds_to_ready: 41.2
      answer_seconds: 0.07
not_ready:
  description: Slug of the engine that is not ready, where there is one.
  returned: always
  type: list
  elements: str
  sample: []
"""

import json
import os
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _engine_files as files
from ansible_collections.indiaai.inference.plugins.module_utils import _engine_units, _readiness
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api, health, last_words, paths, state
from ansible_collections.indiaai.inference.plugins.module_utils._host import spec as specification

POLL_SECONDS = 1
# An engine that says it is ready answers; this is for the moments in which it is stopped or started by somebody else.
ANSWER_RETRY_SECONDS = 20
# The host program counts its loading time from the container's start, which comes after the device's lock and Docker's work. Its
# own verdict, which knows more, is to come first.
GRACE_SECONDS = 15


class Engine:
    """One engine: its specification, what is done with it and how far it is."""

    def __init__(self, spec, directory):
        self.spec = spec
        self.slug = spec["slug"]
        self.unit = paths.engine_unit(self.slug)
        self.pending_file = files.pending_path(directory, self.slug)
        self.action = None
        self.enabled = False
        self.baseline = 0
        self.old_invocation = None
        self.silent_since = None
        self.result = {"action": None, "ready": False, "seconds_to_ready": None, "answer_seconds": None}

    def decide(self, unit):
        """Choose start, restart or nothing from the unit's state."""
        pending = self.read_pending()
        self.enabled = unit.get("UnitFileState") == "enabled"
        if unit.get("ActiveState", "inactive") in ("inactive", "failed"):
            self.action = "started"
        elif pending and not pending["applied"]:
            self.action = "restarted"
            self.old_invocation = unit.get("InvocationID")
        else:
            self.baseline = _readiness.restarts(unit)
        self.result["action"] = self.action

    def read_pending(self):
        """The record of a change that has not answered yet, or None."""
        try:
            with open(self.pending_file, encoding="utf-8") as handle:
                return files.read_pending(handle.read())
        except FileNotFoundError:
            return None

    def mark_applied(self):
        """Remember that the running instance is the changed one, so that a play run again waits instead of restarting."""
        pending = self.read_pending()
        if pending and not pending["applied"]:
            with open(self.pending_file, "w", encoding="utf-8") as handle:
                json.dump(dict(pending, applied=True), handle, sort_keys=True)

    def forget_failure(self):
        """What went wrong before this start must not be shown as the reason of what comes after it."""
        try:
            os.unlink(paths.engine_failure(self.slug))
        except FileNotFoundError:
            pass

    def confirm(self):
        """The engine answered: there is nothing to go back to any more."""
        try:
            os.unlink(self.pending_file)
        except FileNotFoundError:
            pass

    def ask(self):
        """Send the readiness request. None when it was answered, else what is wrong."""
        request = self.spec["readiness"]["request"]
        key = None
        if self.spec.get("key_file"):
            with open(self.spec["key_file"], encoding="utf-8") as handle:
                key = handle.read().strip()
        engine = health.EngineHttp(self.spec["address"], self.spec["port"], key)
        began = time.monotonic()
        answer = engine.request(request["path"], request["body"], self.spec["readiness"]["request_seconds"])
        if answer.ok:
            self.result.update(ready=True, answer_seconds=round(time.monotonic() - began, 3))
            return None
        return answer.detail


class Waiter:
    """Starts engines and looks at them until all answer or one fails."""

    def __init__(self, module, engines):
        self.module = module
        self.engines = engines
        self.units = _engine_units.Units(module.run_command)

    def start(self):
        """Enable and start what has to be."""
        for action, names in (
            ("enable", [engine.unit for engine in self.engines if not engine.enabled]),
            ("reset-failed", [engine.unit for engine in self.engines if engine.action == "restarted"]),
        ):
            if names:
                self.units.act(action, names, ["--quiet"])
        for engine in self.engines:
            if engine.action:
                engine.mark_applied()
                engine.forget_failure()
                # One after the other in the plan's order. With --no-block, or the call would last as long as the load.
                self.units.act("restart" if engine.action == "restarted" else "start", [engine.unit], ["--no-block"])

    def reset_failed(self, units):
        """A unit that used up its start budget refuses to start until this."""
        names = [engine.unit for engine in self.engines if units.get(engine.unit, {}).get("ActiveState") == "failed"]
        if names:
            self.units.act("reset-failed", names)

    def wait(self):
        """(engine, reason, whether time was up) of the first failure, or None when all answer."""
        waiting = list(self.engines)
        deadline = time.monotonic() + self.module.params["timeout"] * _longest_queue(waiting) + GRACE_SECONDS
        last_words = {}
        while waiting:
            units = self.units.show([engine.unit for engine in waiting])
            for engine in list(waiting):
                unit = units.get(engine.unit)
                verdict, words = _readiness.judge(unit, engine.baseline, self.module.params["allowed_failures"])
                if verdict == "failed":
                    return engine, words, False
                if verdict == "active" and not (engine.old_invocation and unit.get("InvocationID") == engine.old_invocation):
                    words = engine.ask()
                    if words is None:
                        engine.result["seconds_to_ready"] = _readiness.seconds_to_ready(unit)
                        engine.confirm()
                        waiting.remove(engine)
                        continue
                    engine.silent_since = engine.silent_since or time.monotonic()
                    if time.monotonic() - engine.silent_since > ANSWER_RETRY_SECONDS:
                        return engine, "its unit is active, but it does not answer: %s" % words, False
                last_words[engine.slug] = words
            if waiting and time.monotonic() > deadline:
                engine = waiting[0]
                return engine, "no answer within %d s; last state: %s" % (self.module.params["timeout"], last_words.get(engine.slug)), True
            if waiting:
                time.sleep(POLL_SECONDS)
        return None


def _longest_queue(engines):
    """How many of these engines load one after the other at most: those that share a device."""
    count = {}
    for engine in engines:
        for device in engine.spec["devices"]:
            count[device] = count.get(device, 0) + 1
    return max(count.values(), default=1)


def explain(module, engine, reason, timed_out):
    """The failure message: the host program's own reason where it left one, and the last log lines."""
    limit = module.params["log_lines"]
    failure = state.StateFile(engine.slug).failure()
    if failure.get("reason"):
        reason = "%s; inferctl: %s" % (reason, failure["reason"])
    lines = list(failure.get("log_tail") or [])
    try:
        said = docker_api.DockerApi(module.params["docker_socket"]).logs(engine.spec["container"], last_words.READ_LINES)
        lines = last_words.telling(said, limit) or lines
    except docker_api.DockerUnavailable as exc:
        lines = lines or [str(exc)]
    about = {"name": engine.spec["name"], "container": engine.spec["container"], "unit": engine.unit}
    return _readiness.failure_text(about, reason, lines[-limit:], timed_out)


def specifications(module):
    """The engines to look after, as given or as their files say."""
    if module.params["engines"] is not None:
        return module.params["engines"]
    try:
        return [specification.load(files.spec_path(module.params["directory"], slug)) for slug in module.params["names"]]
    except (specification.SpecError, OSError) as exc:
        module.fail_json(msg=str(exc), engines={}, not_ready=[])


def main():
    module = AnsibleModule(
        argument_spec={
            "engines": {"type": "list", "elements": "dict"},
            "names": {"type": "list", "elements": "str"},
            "directory": {"type": "path", "default": paths.ENGINES},
            "timeout": {"type": "int", "default": 1800},
            "allowed_failures": {"type": "int", "default": 1},
            "log_lines": {"type": "int", "default": 50},
            "docker_socket": {"type": "path", "default": paths.DOCKER_SOCKET},
        },
        mutually_exclusive=[("engines", "names")],
        required_one_of=[("engines", "names")],
        supports_check_mode=True,
    )
    engines = [Engine(spec, module.params["directory"]) for spec in specifications(module)]
    waiter = Waiter(module, engines)
    units = waiter.units.show([engine.unit for engine in engines])
    for engine in engines:
        engine.decide(units.get(engine.unit, {}))
    result = {
        "changed": any(engine.action or not engine.enabled for engine in engines),
        "engines": {engine.slug: engine.result for engine in engines},
        "not_ready": [],
    }
    if module.check_mode:
        module.exit_json(**result)
    unknown = [engine.unit for engine in engines if not _engine_units.exists(units.get(engine.unit))]
    if unknown:
        module.fail_json(
            msg="systemd does not know %s on this host; the role boot_recovery (tasks_from: host_program) installs it" % ", ".join(unknown), **result
        )
    try:
        waiter.reset_failed(units)
        waiter.start()
        failure = waiter.wait()
    except (_engine_units.UnitError, OSError) as exc:
        module.fail_json(msg=str(exc), **result)
    if failure:
        engine, reason, timed_out = failure
        result["not_ready"] = [engine.slug]
        module.fail_json(msg=explain(module, engine, reason, timed_out), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
