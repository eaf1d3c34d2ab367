#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_spec
short_description: Specifications and keys of the inference engines of a host
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Writes for every engine what the host program runs, one file of settings and one key each, all readable by root alone.
  - An engine's key is made on the host, once, and never leaves the module; results and diffs do not hold it.
  - After a change it keeps what was there before until the changed engine has answered, see M(indiaai.inference.engine_ready).
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: Will return details on what has changed when in diff mode. Keys are left out.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  state:
    description:
      - V(checked) reads whether every model is where its engine will look for it and whether a container of somebody else has an
        engine's name, and changes nothing. In check mode a missing model is a warning, since an earlier step may put it there.
      - V(present) writes what O(engines) says and, with O(purge), takes away engines that it does not name.
      - V(rolled_back) puts the earlier specification of the engines in O(names) back. One without an earlier specification is
        stopped, one that has answered since its last change is left alone.
      - V(absent) stops all engines and takes away their containers and files. Images stay.
    type: str
    choices: [checked, present, rolled_back, absent]
    default: present
  engines:
    description: Engine specifications, as the filter P(indiaai.inference.engine_command#filter) makes them.
    type: list
    elements: dict
    default: []
  key_delivery:
    description: By engine slug, how its key gets into the container, a dictionary with C(format) and C(option).
    type: dict
    default: {}
  names:
    description: Slugs of the engines to put back.
    type: list
    elements: str
    default: []
  directory:
    description: Folder of the files.
    type: path
    default: /etc/indiaai-inference/engines
  purge:
    description: Whether engines that O(engines) does not name are stopped and taken away.
    type: bool
    default: true
  docker_socket:
    description: Socket of the Docker daemon.
    type: path
    default: /run/docker.sock
"""

EXAMPLES = r"""
- name: Write what the engines of this host are
  indiaai.inference.engine_spec:
    engines: "{{ specs }}"
    key_delivery:
      demo:
        format: yaml
        option: api-key

- name: Go back to what ran before
  indiaai.inference.engine_spec:
    state: rolled_back
    names: [demo]
"""

RETURN = r"""
written:
  description: Slugs of engines whose specification or key file changed.
  returned: when O(state=present)
  type: list
  elements: str
  sample: [demo]
removed:
  description: Slugs of engines that were stopped and taken away.
  returned: when O(state=present) or O(state=absent)
  type: list
  elements: str
  sample: [old-model]
restored:
  description: Slugs of engines that have their earlier specification again.
  returned: when O(state=rolled_back)
  type: list
  elements: str
  sample: [demo]
stopped:
  description: Slugs of engines that were stopped because there was nothing to go back to.
  returned: when O(state=rolled_back)
  type: list
  elements: str
  sample: [demo]
problems:
  description: What is missing on the host, in sentences.
  returned: when O(state=checked)
  type: list
  elements: str
  sample: ["model 'demo': /srv/models/demo holds no config.json (inference_models[].source)"]
"""

import json
import os
import secrets
import stat

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _engine_files as files
from ansible_collections.indiaai.inference.plugins.module_utils import _engine_units
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, container, docker_api, paths
from ansible_collections.indiaai.inference.plugins.module_utils._host import spec as engine_specification


class EngineFolder:
    """The folder of all engines' files on this host."""

    def __init__(self, module):
        self.module = module
        self.path = module.params["directory"]
        self.check = module.check_mode
        self.units = _engine_units.Units(module.run_command)
        self.api = docker_api.DockerApi(module.params["docker_socket"])
        self.before, self.after = {}, {}

    def read(self, path):
        """Content of a file as text, None when it is not there."""
        try:
            with open(path, encoding="utf-8") as handle:
                return handle.read()
        except FileNotFoundError:
            return None

    def slugs(self):
        """Engines that have a specification here."""
        return files.slugs(os.listdir(self.path)) if os.path.isdir(self.path) else []

    def write(self, path, text):
        """Bring one root-only file to this content. True when content or mode changed."""
        if self.read(path) == text and _private(path):
            return False
        if not self.check:
            atomic.write(path, text, mode=files.SECRET_MODE, uid=0, gid=0)
        return True

    def pending(self, slug):
        """What to go back to for one engine, None when its last change has answered."""
        text = self.read(files.pending_path(self.path, slug))
        return None if text is None else files.read_pending(text)

    def set_pending(self, slug, record):
        """Remember that one engine has not answered since its last change."""
        self.write(files.pending_path(self.path, slug), json.dumps(record, sort_keys=True) + "\n")

    def ensure_folder(self):
        """True when the folder had to be made or closed to others."""
        if os.path.isdir(self.path) and _private(self.path):
            return False
        if not self.check:
            os.makedirs(self.path, mode=files.FOLDER_MODE, exist_ok=True)
            os.chmod(self.path, files.FOLDER_MODE)
            os.chown(self.path, 0, 0)
        return True

    def ensure_engine(self, spec, delivery):
        """Key, settings file with the key, specification. True when any of them changed."""
        slug = spec["slug"]
        new_key = False
        if spec.get("key_file"):
            key = (self.read(files.key_path(self.path, slug)) or "").strip()
            # Hexadecimal: an engine's parser takes a value that begins with a dash for an option.
            key = key or secrets.token_hex(32)
            self.write(files.key_path(self.path, slug), key + "\n")
            new_key = self.write(files.secret_path(self.path, slug), files.secret_text(key, delivery))
        old, new = self.read(files.spec_path(self.path, slug)), files.spec_text(spec)
        if old == new and not new_key:
            return False
        # What only the supervisor reads (time limits) counts from the engine's next start and is no reason for one.
        if not self.check and (new_key or other_container(_parsed(old), spec)):
            # Before the new specification has its name: after a power cut in between, the way back is known.
            self.set_pending(slug, files.pending_after_change(self.pending(slug), old))
        self.write(files.spec_path(self.path, slug), new)
        self.before[slug], self.after[slug] = json.loads(old) if old else None, spec
        return True

    def stop(self, slug, container):
        """Stop one engine and remove its container. True when there was anything to stop."""
        if self.check:
            return True
        try:
            return _engine_units.stop_engine(self.units, self.api, paths.engine_unit(slug), container, slug)
        except docker_api.DockerUnavailable:
            # No daemon, no container that runs; a stopped one has restart policy "no" and never starts by itself.
            return True

    def remove(self, slug):
        """Stop one engine and take its files away."""
        text = self.read(files.spec_path(self.path, slug))
        self.stop(slug, _container(text, slug))
        self.before[slug], self.after[slug] = _parsed(text), None
        if self.check:
            return
        for path in (files.spec_path, files.pending_path, files.secret_path, files.key_path):
            try:
                os.unlink(path(self.path, slug))
            except FileNotFoundError:
                pass

    def roll_back(self, slug):
        """Put the earlier specification of one engine back: "restored", "stopped" or "kept".

        One without an earlier specification is stopped, one that answered since its last change is left to systemd.
        """
        text = self.read(files.spec_path(self.path, slug))
        pending = self.pending(slug)
        if pending is None:
            return "kept"
        if not pending["previous"]:
            self.stop(slug, _container(text, slug))
            if not self.check:
                self.set_pending(slug, {"previous": None, "applied": False})
            return "stopped"
        self.write(files.spec_path(self.path, slug), pending["previous"])
        if not self.check:
            self.set_pending(slug, {"previous": None, "applied": False})
        self.before[slug], self.after[slug] = _parsed(text), _parsed(pending["previous"])
        return "restored"


def _private(path):
    status = os.stat(path)
    return status.st_uid == 0 and not stat.S_IMODE(status.st_mode) & 0o077


def _parsed(text):
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


def _container(text, slug):
    return (_parsed(text) or {}).get("container") or "inference-" + slug


def other_container(old, new):
    """Whether two specifications differ in what is fixed when the container is made, so that the engine has to be started anew."""
    try:
        hashes = [engine_specification.config_hash(engine_specification.validate(spec, "")) for spec in (old, new)]
    except engine_specification.SpecError:
        return True
    return hashes[0] != hashes[1]


def unusable(engines, api):
    """Sentences about specifications that the host program would refuse, and containers of others that have an engine's name.

    Without a Docker daemon there are no containers to be in the way.
    """
    problems = []
    for spec in engines:
        try:
            engine_specification.validate(spec, "engine '%s'" % spec.get("name"))
            container.check_ours(api.inspect(spec["container"]), spec["slug"])
        except (engine_specification.SpecError, container.ForeignContainer) as exc:
            problems.append(str(exc))
        except docker_api.DockerUnavailable:
            pass
    return problems


def missing_sources(engines):
    """Sentences about models that are not where their engine will look."""
    problems = []
    for spec in engines:
        source = spec["mounts"][0]["source"]
        if not os.path.isdir(source):
            problems.append("model '%s': %s is not a folder on this host; put the model there or change inference_models[].source" % (spec["name"], source))
        elif not os.path.isfile(os.path.join(source, "config.json")):
            problems.append("model '%s': %s holds no config.json, so it is no model; change inference_models[].source" % (spec["name"], source))
    return problems


def main():
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["checked", "present", "rolled_back", "absent"], "default": "present"},
            "engines": {"type": "list", "elements": "dict", "default": []},
            "key_delivery": {"type": "dict", "default": {}, "no_log": False},
            "names": {"type": "list", "elements": "str", "default": []},
            "directory": {"type": "path", "default": paths.ENGINES},
            "purge": {"type": "bool", "default": True},
            "docker_socket": {"type": "path", "default": paths.DOCKER_SOCKET},
        },
        supports_check_mode=True,
    )
    params, state = module.params, module.params["state"]
    folder = EngineFolder(module)
    result = {"changed": False}
    try:
        if state == "checked":
            result["problems"] = unusable(params["engines"], folder.api)
            missing = missing_sources(params["engines"])
            if not module.check_mode:
                result["problems"] += missing
            elif missing:
                module.warn("; ".join(missing))
            if result["problems"]:
                module.fail_json(msg="\n".join(result["problems"]), **result)
        elif state == "present":
            made = folder.ensure_folder()
            result["written"] = [
                spec["slug"] for spec in params["engines"] if folder.ensure_engine(spec, params["key_delivery"].get(spec["slug"]))
            ]
            wanted = [spec["slug"] for spec in params["engines"]]
            result["removed"] = [slug for slug in folder.slugs() if slug not in wanted] if params["purge"] else []
            for slug in result["removed"]:
                folder.remove(slug)
            result["changed"] = bool(made or result["written"] or result["removed"])
        elif state == "rolled_back":
            outcome = {slug: folder.roll_back(slug) for slug in params["names"]}
            for what in ("restored", "stopped"):
                result[what] = [slug for slug in params["names"] if outcome[slug] == what]
            result["changed"] = bool(result["restored"] or result["stopped"])
        else:
            result["removed"] = folder.slugs()
            for slug in result["removed"]:
                folder.remove(slug)
            result["changed"] = bool(result["removed"])
    except (OSError, ValueError, _engine_units.UnitError, docker_api.DockerError) as exc:
        module.fail_json(msg="%s: %s" % (params["directory"], exc), **result)
    result["diff"] = {"before": folder.before, "after": folder.after}
    module.exit_json(**result)


if __name__ == "__main__":
    main()
