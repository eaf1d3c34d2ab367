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
  - Tells no GPU, a GPU without driver or library, a driver that does not match its library, and a GPU that does not
    answer apart.
  - Asks the driver's library NVML through the Python module C(pynvml) where the host's Python has it, and otherwise
    runs C(nvidia-smi -q -x) once. Both give the same facts. Changes nothing.
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
      - V(auto) asks NVML where C(pynvml) can be imported, else C(nvidia-smi) where it is installed, and otherwise looks
        at the PCI bus.
      - V(nvml) fails where C(pynvml) cannot be imported, V(nvidia-smi) where the program is not installed.
      - V(none) looks at nothing and reports no GPU.
    type: str
    choices: [auto, nvml, nvidia-smi, none]
    default: auto
  nvidia_smi:
    description: Name or path of the program.
    type: str
    default: nvidia-smi
  timeout:
    description:
      - Seconds after which NVML or C(nvidia-smi) is given up, with all children, and the state is V(unknown).
      - Without persistence mode the driver may need half a minute on a host with eight GPUs.
    type: int
    default: 60
  docker_socket:
    description: Socket of the Docker daemon that is asked for the names of containers.
    type: path
    default: /run/docker.sock
notes:
  - Processes are matched to containers by their cgroup, so the module has to run outside of containers.
  - The containers of podman, containerd and CRI-O are called by the first twelve digits of their id, Docker's by name.
  - C(pynvml) is the Debian package C(python3-pynvml) or C(nvidia-ml-py) from PyPI, versions 11.525 to 13. It is not needed.
"""

EXAMPLES = r"""
- name: Read the GPUs
  indiaai.inference.gpu_facts:

- name: Read the GPUs of a host whose driver may be stuck
  indiaai.inference.gpu_facts:
    backend: nvidia-smi
    timeout: 20

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
          description:
            - V(nvml), V(nvidia-smi), or V(none) where neither could answer.
          type: str
          returned: always
          sample: nvml
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
          description:
            - V(ok), at least one GPU answered; each has a state of its own.
            - V(no_gpu), V(driver_missing), V(library_missing), which is a loaded driver without its library or tools.
            - V(version_mismatch), the library is newer or older than the loaded kernel module.
            - V(unknown), the driver hangs or fails. Never the same as no GPU.
          type: str
          returned: always
          sample: ok
        reason:
          description: The state in words.
          type: str
          returned: always
          sample: 1 GPU(s)
        unavailable_fields:
          description:
            - Fields of the GPUs that this backend, in the version of this host, cannot ask for. They are V(null).
          type: list
          elements: str
          returned: always
          sample: []
        gpus:
          description:
            - The GPUs in the driver's order.
            - A value is V(null) where the GPU has no such thing, and also where it could not say, which C(broken_fields)
              lists, or where nobody could be asked, which C(unavailable_fields) lists.
          type: list
          elements: dict
          returned: always
          contains:
            index:
              description: Number of the GPU in the driver's order.
              type: int
              returned: always
              sample: 0
            uuid:
              description: Identity that does not change with the order.
              type: str
              returned: always
              sample: GPU-5c8a21f4-93d7-4e06-b1a2-7f0d6e48c913
            name:
              description: Product name.
              type: str
              returned: always
              sample: NVIDIA H200
            state:
              description: One of V(ok), V(needs_reset), V(lost), V(unknown). Only V(ok) may be given work.
              type: str
              returned: always
              sample: ok
            broken_fields:
              description: Fields that the GPU could not report; they are V(null), and not absent.
              type: list
              elements: str
              returned: always
              sample: []
            pci_bus_id:
              description: Address on the PCI bus, in lower case with eight digits of domain.
              type: str
              returned: always
              sample: "00000000:83:00.0"
            minor_number:
              description: N of the device node C(/dev/nvidiaN).
              type: int
              returned: always
              sample: 0
            persistence_mode:
              description: Whether the driver stays loaded without clients.
              type: bool
              returned: always
              sample: true
            mig_mode:
              description:
                - V(enabled), V(disabled), or V(null) without MIG.
              type: str
              returned: always
              sample: disabled
            mig_mode_pending:
              description: The mode after the next reset.
              type: str
              returned: always
              sample: disabled
            mig_instances:
              description: GPU instances of MIG, ordered by id. Their compute instances share their memory, which is given once.
              type: list
              elements: dict
              returned: always
              contains:
                gpu_instance_id:
                  description: Id of the GPU instance.
                  type: int
                  returned: always
                  sample: 1
                memory_total_mib:
                  description: Memory of the instance.
                  type: int
                  returned: always
                  sample: 71040
                memory_used_mib:
                  description: Memory in use.
                  type: int
                  returned: always
                  sample: 16925
                memory_free_mib:
                  description: Free memory.
                  type: int
                  returned: always
                  sample: 54115
                compute_instances:
                  description: Compute instances, which are the MIG devices that a program can be given.
                  type: list
                  elements: dict
                  returned: always
                  contains:
                    compute_instance_id:
                      description: Id within the GPU instance.
                      type: int
                      returned: always
                      sample: 0
                    index:
                      description: Number of the MIG device of its GPU.
                      type: int
                      returned: always
                      sample: 0
                    uuid:
                      description: Identity of the MIG device. NVML only.
                      type: str
                      returned: always
                      sample: MIG-6f1c2a9e-54b8-5d07-9a31-0be8c4d27f65
            memory_total_mib:
              description: Memory of the GPU.
              type: int
              returned: always
              sample: 143771
            memory_used_mib:
              description: Memory in use, without what the driver reserves.
              type: int
              returned: always
              sample: 32362
            memory_free_mib:
              description: Free memory.
              type: int
              returned: always
              sample: 110796
            memory_reserved_mib:
              description: Memory that the driver and the firmware keep.
              type: int
              returned: always
              sample: 614
            memory_unattributed_mib:
              description: Memory in use that no listed process holds; V(null) with MIG or when a process does not say.
              type: int
              returned: always
              sample: 20
            utilization_percent:
              description: Share of the last sample period in which a kernel ran. No proof of use.
              type: int
              returned: always
              sample: 100
            temperature_c:
              description: Temperature of the GPU.
              type: int
              returned: always
              sample: 52
            temperature_margin_c:
              description: Degrees left until the GPU slows down.
              type: int
              returned: always
              sample: 35
            memory_temperature_c:
              description: Temperature of the memory.
              type: int
              returned: always
              sample: 61
            power_draw_w:
              description: Power draw, averaged by the GPU where it can.
              type: float
              returned: always
              sample: 627.32
            power_limit_w:
              description: Power limit in force.
              type: float
              returned: always
              sample: 700.0
            power_limit_requested_w:
              description: Power limit that was asked for.
              type: float
              returned: always
              sample: 700.0
            power_limit_default_w:
              description: Power limit after a restart of the driver.
              type: float
              returned: always
              sample: 700.0
            power_limit_min_w:
              description: Lowest power limit that can be asked for.
              type: float
              returned: always
              sample: 200.0
            power_limit_max_w:
              description: Highest power limit that can be asked for.
              type: float
              returned: always
              sample: 700.0
            sm_clock_mhz:
              description: Clock of the streaming multiprocessors.
              type: int
              returned: always
              sample: 1980
            memory_clock_mhz:
              description: Clock of the memory.
              type: int
              returned: always
              sample: 3201
            sm_clock_max_mhz:
              description: Highest clock of the streaming multiprocessors.
              type: int
              returned: always
              sample: 1980
            memory_clock_max_mhz:
              description: Highest clock of the memory.
              type: int
              returned: always
              sample: 3201
            clock_event_reasons:
              description: Why the clocks are not higher, by the names of nvidia-smi's XML.
              type: list
              elements: str
              returned: always
              sample: [sw_power_cap]
            ecc_mode:
              description: Whether memory errors are corrected.
              type: bool
              returned: always
              sample: true
            ecc_mode_pending:
              description: The mode after the next reset.
              type: bool
              returned: always
              sample: true
            ecc_volatile_corrected:
              description: Corrected memory errors since the driver was loaded.
              type: int
              returned: always
              sample: 0
            ecc_volatile_uncorrected:
              description: Uncorrected memory errors since the driver was loaded.
              type: int
              returned: always
              sample: 0
            ecc_aggregate_corrected:
              description: Corrected memory errors in the GPU's life.
              type: int
              returned: always
              sample: 0
            ecc_aggregate_uncorrected:
              description: Uncorrected memory errors in the GPU's life.
              type: int
              returned: always
              sample: 0
            remapped_rows_corrected:
              description: Memory rows replaced after corrected errors.
              type: int
              returned: always
              sample: 0
            remapped_rows_uncorrected:
              description: Memory rows replaced after uncorrected errors.
              type: int
              returned: always
              sample: 0
            remapped_rows_pending:
              description: Whether a row is replaced at the next reset.
              type: bool
              returned: always
              sample: false
            remapped_rows_failed:
              description: Whether a row could not be replaced; the GPU belongs to the vendor.
              type: bool
              returned: always
              sample: false
            nvlinks_active:
              description: Number of active NVLinks; V(null) without NVLink. NVML only.
              type: int
              returned: always
              sample: 18
            nvlinks_inactive:
              description: Numbers of the NVLinks that are down. NVML only.
              type: list
              elements: int
              returned: always
              sample: []
            fabric_state:
              description:
                - V(not_started), V(in_progress), V(completed), or V(null) without an NVSwitch fabric.
              type: str
              returned: always
              sample: completed
            fabric_status:
              description: How the registration with the fabric ended, once it is completed.
              type: str
              returned: always
              sample: success
            recovery_action:
              description: What the driver asks for, like V(reset), V(reboot), V(drain_p2p), V(drain_and_reset); V(null) when nothing.
              type: str
              returned: always
              sample: null
            processes:
              description: The processes that hold memory of the GPU, ordered by pid.
              type: list
              elements: dict
              returned: always
              contains:
                pid:
                  description: Process id on the host.
                  type: int
                  returned: always
                  sample: 10309
                name:
                  description: Name of the process, as the driver gives it.
                  type: str
                  returned: always
                  sample: ./gpu_burn
                type:
                  description:
                    - V(C) computes, V(G) draws, V(C+G) does both, V(M+C) computes through MPS.
                  type: str
                  returned: always
                  sample: C
                memory_mib:
                  description: Memory that it holds; V(null) when the driver does not say.
                  type: int
                  returned: always
                  sample: 28234
                gpu_instances:
                  description: Ids of the MIG GPU instances that it runs in.
                  type: list
                  elements: int
                  returned: always
                  sample: []
                container:
                  description: Name of its container, or the first twelve digits of its id.
                  type: str
                  returned: always
                  sample: burn-in
                unit:
                  description: Its systemd service, outside of containers.
                  type: str
                  returned: always
                  sample: null
                managed:
                  description: Whether it is an engine of this collection.
                  type: bool
                  returned: always
                  sample: false
"""

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts, _gpu_probe


def containers(cgroups, socket_path, warn):
    """Docker's running containers; asked only when a process lives in one."""
    if not any(_gpu_facts.container_id(text) for text in cgroups.values()):
        return []
    # Here, because an HTTP client is the slowest thing to load and most hosts with idle GPUs need none.
    from ansible_collections.indiaai.inference.plugins.module_utils._host.docker_api import (
        DockerApi,
        DockerError,
        DockerUnavailable,
    )

    try:
        return DockerApi(socket_path=socket_path).containers(all=False)
    except (DockerUnavailable, DockerError) as exc:
        warn("Docker does not tell which containers use the GPU, so they count as foreign: {0}".format(exc))
        return []


def from_nvml(module, pci_gpus, kernel_driver):
    """-> (facts, whether they stand as they are); (None, False) without a binding."""
    answer = _gpu_probe.run_nvml(module.params["timeout"])
    if not answer["found"]:
        if module.params["backend"] == "nvml":
            module.fail_json(msg=missing_required_lib("pynvml (nvidia-ml-py)"), exception=answer["error"]["text"])
        return None, False
    return _gpu_facts.nvml_facts(answer, pci_gpus, kernel_driver), _gpu_facts.conclusive(answer)


def from_nvidia_smi(module, pci_gpus, kernel_driver, otherwise):
    """otherwise: NVML's inconclusive facts, used where there is no nvidia-smi to know better."""
    program = module.get_bin_path(module.params["nvidia_smi"])
    if program is None:
        if module.params["backend"] == "nvidia-smi":
            module.fail_json(msg="The program {0} is not installed on this host.".format(module.params["nvidia_smi"]))
        if otherwise is not None:
            return otherwise
    smi = _gpu_probe.run_nvidia_smi(program, module.params["timeout"])
    return _gpu_facts.facts(smi, pci_gpus, kernel_driver)


def gather(module):
    backend = module.params["backend"]
    if backend == "none":
        return _gpu_facts.disabled()
    pci_gpus, kernel_driver = _gpu_probe.count_pci_gpus(), _gpu_probe.kernel_driver()
    result, stands = None, False
    if backend in ("auto", "nvml"):
        result, stands = from_nvml(module, pci_gpus, kernel_driver)
    if backend != "nvml" and not stands:
        result = from_nvidia_smi(module, pci_gpus, kernel_driver, result)
    cgroups = _gpu_probe.cgroups(_gpu_facts.pids(result))
    listed = containers(cgroups, module.params["docker_socket"], module.warn)
    return _gpu_facts.with_owners(result, _gpu_facts.owners(cgroups, listed))


def main():
    module = AnsibleModule(
        argument_spec={
            "backend": {"type": "str", "choices": ["auto", "nvml", "nvidia-smi", "none"], "default": "auto"},
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
