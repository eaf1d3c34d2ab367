#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: gpu_facts
short_description: Reads the NVIDIA GPUs of a host
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Reports the GPUs, their memory and clocks, and which process of which container holds how much memory.
  - Tells no GPU, a GPU without driver or library, and a GPU that does not answer apart.
  - Reads C(nvidia-smi -q -x). Changes nothing.
attributes:
  check_mode:
    support: full
    description: Runs the same in check mode.
  diff_mode:
    support: none
    description: Nothing is changed, so there is no difference to show.
  facts:
    support: full
    description: Returns the fact C(indiaai_gpu).
options:
  backend:
    description:
      - V(auto) asks C(nvidia-smi) where it is installed and otherwise looks at the PCI bus.
      - V(nvidia-smi) fails where the program is not installed.
      - V(none) looks at nothing and reports no GPU.
    type: str
    choices: [auto, nvidia-smi, none]
    default: auto
  nvidia_smi:
    description: Name or path of the program.
    type: str
    default: nvidia-smi
  timeout:
    description:
      - Seconds after which C(nvidia-smi) and its children are killed and the state is V(unknown).
      - Without persistence mode the driver may need half a minute on a host with eight GPUs.
    type: int
    default: 60
  docker_socket:
    description: Socket of the Docker daemon that is asked for the names of containers.
    type: path
    default: /run/docker.sock
notes:
  - Processes are matched to containers by their cgroup, so the module has to run outside of containers.
"""

EXAMPLES = r"""
- name: Read the GPUs
  indiaai.inference.gpu_facts:

- name: Show who holds GPU memory
  ansible.builtin.debug:
    msg: "{{ ansible_facts['indiaai_gpu']['gpus'] | map(attribute='processes') | flatten }}"
"""

RETURN = r"""
ansible_facts:
  description: The fact C(indiaai_gpu).
  returned: always
  type: dict
  contains:
    indiaai_gpu:
      description: The GPUs of the host. The shape is docs/contracts/gpu_facts.schema.json.
      returned: always
      type: dict
      contains:
        schema_version:
          description: Version of the shape.
          type: int
          returned: always
          sample: 1
        backend:
          description: Where the facts come from.
          type: str
          returned: always
          sample: nvidia-smi
        driver_version:
          description: Version of the driver.
          type: str
          returned: always
          sample: 590.48.01
        cuda_version:
          description: Newest CUDA version that the driver serves.
          type: str
          returned: always
          sample: "13.1"
        state:
          description: One of V(ok), V(no_gpu), V(driver_missing), V(library_missing), V(unknown).
          type: str
          returned: always
          sample: ok
        reason:
          description: The state in words.
          type: str
          returned: always
          sample: 1 GPU(s)
        gpus:
          description:
            - The GPUs in the driver's order.
            - A value is V(null) where the GPU has no such thing, and also where it could not say; the names of the latter
              are listed in C(broken_fields).
          type: list
          elements: dict
          returned: always
          sample:
            - index: 0
              uuid: GPU-5c8a21f4-93d7-4e06-b1a2-7f0d6e48c913
              name: NVIDIA H200
              state: ok
              memory_total_mib: 143771
              memory_used_mib: 32362
              memory_free_mib: 110796
              processes:
                - pid: 10309
                  name: ./gpu_burn
                  memory_mib: 28234
                  container: null
                  unit: null
                  managed: false
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts, _gpu_probe
from ansible_collections.indiaai.inference.plugins.module_utils._host.docker_api import DockerApi, DockerError, DockerUnavailable


def containers(cgroups, socket_path, warn):
    """Docker's running containers; asked only when a process lives in one."""
    if not any(_gpu_facts.container_id(text) for text in cgroups.values()):
        return []
    try:
        return DockerApi(socket_path=socket_path).containers(all=False)
    except (DockerUnavailable, DockerError) as exc:
        warn("Docker does not tell which containers use the GPU, so they count as foreign: {0}".format(exc))
        return []


def gather(module):
    params = module.params
    if params["backend"] == "none":
        return _gpu_facts.disabled()
    program = module.get_bin_path(params["nvidia_smi"])
    if program is None and params["backend"] == "nvidia-smi":
        module.fail_json(msg="The program {0} is not installed on this host.".format(params["nvidia_smi"]))
    smi = _gpu_probe.run_nvidia_smi(program, params["timeout"])
    result = _gpu_facts.facts(smi, _gpu_probe.count_pci_gpus(), _gpu_probe.driver_loaded())
    cgroups = _gpu_probe.cgroups(_gpu_facts.pids(result))
    listed = containers(cgroups, params["docker_socket"], module.warn)
    return _gpu_facts.with_owners(result, _gpu_facts.owners(cgroups, listed))


def main():
    module = AnsibleModule(
        argument_spec={
            "backend": {"type": "str", "choices": ["auto", "nvidia-smi", "none"], "default": "auto"},
            "nvidia_smi": {"type": "str", "default": "nvidia-smi"},
            "timeout": {"type": "int", "default": 60},
            "docker_socket": {"type": "path", "default": "/run/docker.sock"},
        },
        supports_check_mode=True,
    )
    if module.params["timeout"] < 1:
        module.fail_json(msg="timeout is {0}, a number of seconds from 1 is wanted.".format(module.params["timeout"]))
    module.exit_json(changed=False, ansible_facts={"indiaai_gpu": gather(module)})


if __name__ == "__main__":
    main()
