#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: gateway_key
short_description: Manage the keys of the inference gateway
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Makes, changes and deletes keys of the gateway that runs in a container on this host, identified by their names.
  - The gateway keeps only a hash. The secret of a new key is written once to a file on the host that only root can read; it is never
    returned, shown in a difference or logged.
  - A change is in force within two seconds. Keys that are not named are left alone.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Without a running gateway check mode reports that every key is missing; a real run fails then.
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  keys:
    description: The keys.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the key, 1 to 64 of letters, digits, dot, underscore and hyphen. It also names the file with the secret.
        type: str
        required: true
      models:
        description: Models that the key may use, by their names or aliases. V(*) stands for all.
        type: list
        elements: str
        default: ['*']
      enabled:
        description: Whether the key is let in. A disabled key can be enabled again, with the same secret.
        type: bool
        default: true
      expires_at:
        description: Date or time (ISO 8601, UTC where no zone is given) from which the key is refused, or V(never).
        type: str
        default: never
      state:
        description: V(absent) deletes the key and the file with its secret for good.
        type: str
        choices: [present, absent]
        default: present
  secret_dir:
    description: Folder for the secrets of new keys, one file C(NAME.key) each, mode 0600. Made with mode 0700 when it is missing.
    type: path
    default: /etc/indiaai-inference/keys
  container:
    description: Container that the gateway runs in.
    type: str
    default: inference-gateway
  docker_socket:
    description: Socket of the Docker daemon.
    type: path
    default: /run/docker.sock
"""

EXAMPLES = r"""
- name: Two departments, one of them for one model and one year
  indiaai.inference.gateway_key:
    keys:
      - name: agriculture
      - name: health
        models: [qwen3.5-35b]
        expires_at: "2027-11-30"

- name: Take a key away
  indiaai.inference.gateway_key:
    keys:
      - name: pilot
        state: absent
"""

RETURN = r"""
gateway_keys:
  description: The wanted keys as they are now, without secrets.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: Name of the key.
      type: str
      sample: health
    display:
      description: First and last characters of the secret, enough to tell keys apart.
      type: str
      sample: sk-ind-Tjyz…FFSw
    models:
      description: Models that the key may use.
      type: list
      elements: str
      sample: [qwen3.5-35b]
    enabled:
      description: Whether the key is let in.
      type: bool
      sample: true
    expires_at:
      description: Microseconds since 1970, UTC, or none.
      type: int
      sample: 1827532800000000
    secret_file:
      description: File with the secret on the host, or none where it was moved away.
      type: str
      sample: /etc/indiaai-inference/keys/health.key
  sample:
    - name: health
      display: sk-ind-Tjyz…FFSw
      models: [qwen3.5-35b]
      enabled: true
      expires_at: null
      secret_file: /etc/indiaai-inference/keys/health.key
actions:
  description: What was done.
  returned: always
  type: list
  elements: str
  sample: ["create health"]
"""

import json
import os

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _docker_exec, _gateway_keys
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, docker_api

PROGRAM = ["python3", "-m", "indiaai_gateway"]


class Keys:
    """The gateway's keys and the files with their secrets."""

    def __init__(self, module):
        self.module = module
        self.container = module.params["container"]
        self.secret_dir = module.params["secret_dir"]
        self.api = docker_api.DockerApi(module.params["docker_socket"])

    def listed(self):
        """Keys that the gateway has, as its command line prints them."""
        return json.loads(self._run(["keys", "list", "--json"]))

    def carry_out(self, step):
        """One step of _gateway_keys.actions()."""
        if step["action"] == "create":
            # The folder first: a secret that cannot be kept must not be made.
            os.makedirs(self.secret_dir, mode=0o700, exist_ok=True)
            self._create(step)
            return
        self._run(_gateway_keys.arguments(step))
        if step["action"] == "delete":
            self._forget(step["name"])

    def secret_file(self, name):
        return os.path.join(self.secret_dir, name + ".key")

    def _create(self, step):
        made = json.loads(self._run(_gateway_keys.arguments(step)))
        secret = made["secret"]
        self.module.no_log_values.add(secret)
        try:
            atomic.write(self.secret_file(step["name"]), secret + "\n", 0o600, 0, 0)
        except OSError:
            # Nobody would ever know the secret: take the key back, so that the next run makes another.
            self._run(["keys", "delete", step["name"]])
            raise

    def _forget(self, name):
        try:
            os.unlink(self.secret_file(name))
        except FileNotFoundError:
            pass

    def _run(self, arguments):
        status, out, err = _docker_exec.run(self.api, self.container, PROGRAM + arguments)
        if status != 0:
            # Standard output may hold a secret; only what went wrong is told.
            raise _docker_exec.ExecFailed("%s: %s" % (" ".join(arguments[:3]), err.strip() or "exit status %s" % status))
        return out


def public(keys, wanted, found):
    """What is told about the wanted keys that exist."""
    names = {key["name"] for key in wanted if key["state"] == "present"}
    return [
        {
            "name": key["name"],
            "display": "%s…%s" % (key["prefix"], key["last4"]),
            "models": key["models"],
            "enabled": key["enabled"],
            "expires_at": key["expires_at"],
            "secret_file": keys.secret_file(key["name"]) if os.path.exists(keys.secret_file(key["name"])) else None,
        }
        for key in found
        if key["name"] in names
    ]


def main():
    key_spec = {
        "name": {"type": "str", "required": True},
        "models": {"type": "list", "elements": "str", "default": ["*"]},
        "enabled": {"type": "bool", "default": True},
        "expires_at": {"type": "str", "default": "never"},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    }
    module = AnsibleModule(
        argument_spec={
            "keys": {"type": "list", "elements": "dict", "required": True, "options": key_spec, "no_log": False},
            "secret_dir": {"type": "path", "default": "/etc/indiaai-inference/keys", "no_log": False},
            "container": {"type": "str", "default": "inference-gateway"},
            "docker_socket": {"type": "path", "default": "/run/docker.sock"},
        },
        supports_check_mode=True,
    )
    keys = Keys(module)
    try:
        wanted = _gateway_keys.normalise(module.params["keys"])
    except _gateway_keys.WrongKey as exc:
        module.fail_json(msg="keys: %s. Nothing was changed." % exc)
    try:
        found = keys.listed()
    except _docker_exec.ExecFailed as exc:
        if not module.check_mode:
            module.fail_json(msg="The gateway's keys cannot be read: %s. Wanted: the running gateway in container %s." % (exc, keys.container))
        found = []
    steps = _gateway_keys.actions(wanted, found)
    result = {
        "changed": bool(steps),
        "actions": ["%s %s" % (step["action"], step["name"]) for step in steps],
        "diff": _gateway_keys.difference(found, steps),
        "gateway_keys": public(keys, wanted, found),
    }
    if steps and not module.check_mode:
        done = []
        try:
            for step in steps:
                keys.carry_out(step)
                done.append("%s %s" % (step["action"], step["name"]))
            result["gateway_keys"] = public(keys, wanted, keys.listed())
        except (_docker_exec.ExecFailed, OSError) as exc:
            module.fail_json(msg="keys: %s" % exc, changed=bool(done), actions=done)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
