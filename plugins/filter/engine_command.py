# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: engine_command
short_description: Render one engine of the plan into what the host program runs
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Takes one entry of C(engines) in the serving plan and the engine profiles, and gives the engine specification with image,
    command line, environment, mounts, devices, readiness request and stop times.
  - Flags get their full canonical names. V(true) becomes a bare flag, V(false) and V(null) nothing, a list several values of one
    flag, a dictionary one JSON word. Flags that the plan decides are refused in the model's C(args), with the variable that sets them.
  - The result holds no secret, only the paths of the files that do.
positional: _input, profiles, options
options:
  _input:
    description: One entry of C(engines) of the serving plan.
    type: dict
    required: true
  profiles:
    description: Engine profiles by name, see C(vars/profiles) of the role P(indiaai.inference.inference_engine#role).
    type: dict
    required: true
  options:
    description: What holds for every engine of the host.
    type: dict
    required: true
    suboptions:
      engines_dir:
        description: Folder of specifications and keys on the managed host.
        type: path
        required: true
      image:
        description: Image for engines that name none.
        type: str
      entrypoint:
        description: Entry point to use instead of the profile's.
        type: list
        elements: str
      image_refs:
        description: Image reference by engine slug, where an archive decides.
        type: dict
      image_ids:
        description: Image ID by engine slug, where it is known.
        type: dict
      memory:
        description: The plan's C(memory).
        type: dict
      ready_seconds:
        description: How long loading may take.
        type: int
        required: true
      drain_seconds:
        description: How long a stop waits for running requests.
        type: int
        required: true
      stop_seconds:
        description: Seconds between SIGTERM and SIGKILL.
        type: int
        required: true
      cpus:
        description: Processor limit in cores; V(0) for none.
        type: float
      memory_limit_mib:
        description: Limit of host memory in MiB; V(0) for none.
        type: int
"""

EXAMPLES = r"""
- name: Show the command line of every planned engine
  ansible.builtin.debug:
    msg: "{{ item | indiaai.inference.engine_command(profiles, options) }}"
  loop: "{{ serving_plan_result.engines }}"
  vars:
    profiles: "{{ lookup('ansible.builtin.file', 'profiles/vllm.yml') | from_yaml }}"
    options:
      engines_dir: /etc/indiaai-inference/engines
      memory: "{{ serving_plan_result.memory }}"
      ready_seconds: 1800
      drain_seconds: 60
      stop_seconds: 20
"""

RETURN = r"""
_value:
  description: The engine specification.
  type: dict
  contains:
    command:
      description: Words after the entry point.
      type: list
      elements: str
      sample: [--model, /model, --port, "30000"]
    image:
      description: Image reference.
      type: str
      sample: vllm/vllm-openai:v0.18.0
"""

from ansible.errors import AnsibleFilterError
from ansible_collections.indiaai.inference.plugins.plugin_utils._engine_command import EngineCommandError, build_spec
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_plain import plain


def engine_command(engine, profiles, options):
    """The engine specification, or an AnsibleFilterError with every problem of this engine."""
    try:
        return build_spec(plain(engine), plain(profiles), plain(options))
    except EngineCommandError as exc:
        raise AnsibleFilterError(str(exc)) from exc


class FilterModule:
    """Filters of this file."""

    def filters(self):
        return {"engine_command": engine_command}
