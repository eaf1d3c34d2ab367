#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: docker_host_info
short_description: Which Docker a host has, and how it gives GPUs to containers
version_added: 1.0.0
description:
  - Looks at packages, apt sources, the NVIDIA container toolkit, CDI specifications and the containers that have a GPU. Changes
    nothing.
  - Tells which containers lose their GPUs when systemd reloads its units (C(systemctl daemon-reload), also from a package's
    scripts), and with O(probe=true) which of them have lost them already.
options:
  toolkit_source:
    description: The apt source of the toolkit that this collection writes; it is not taken for somebody else's.
    type: path
    default: /etc/apt/sources.list.d/indiaai-nvidia-container-toolkit.sources
  probe:
    description: Whether to run C(nvidia-smi -L) in the containers that have a GPU.
    type: bool
    default: false
  probe_timeout:
    description: Seconds until a program in a container that does not answer is given up.
    type: int
    default: 20
  socket_path:
    description: Socket of the daemon's API.
    type: path
    default: /run/docker.sock
attributes:
  check_mode:
    description: Can run in check mode; it never changes anything.
    support: full
  diff_mode:
    description: Returns a difference.
    support: none
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: List the containers that have lost their GPUs
  indiaai.inference.docker_host_info:
    probe: true
  register: docker_host

- name: Say which have to be made anew
  ansible.builtin.debug:
    msg: "{{ docker_host.gpu_containers | selectattr('recreate') | map(attribute='name') | list }}"
"""

RETURN = r"""
docker:
  description: The daemon, and the family of packages it came from, V(distribution), V(vendor) or none.
  returned: success
  type: dict
  sample: {"present": true, "version": "20.10.24", "family": "distribution", "packages": {"docker.io": "20.10.24+dfsg1-1+b3"}}
obstacles:
  description: Packages that an installation from each source would remove.
  returned: success
  type: dict
  sample: {"distribution": [], "vendor": ["containerd", "runc"]}
toolkit:
  description: The NVIDIA container toolkit. C(mixed) says that its packages are not of one version.
  returned: success
  type: dict
  sample:
    packages: {"nvidia-container-toolkit": "1.18.2-1"}
    version: "1.18.2-1"
    mixed: false
    runtime: /usr/bin/nvidia-container-runtime
    hook: /usr/bin/nvidia-container-runtime-hook
    ctk: /usr/bin/nvidia-ctk
    refresh_unit: true
stale_sources:
  description: Lists below C(/etc/apt) that keep apt from taking the toolkit's repository, each with the reason.
  returned: success
  type: list
  elements: dict
  sample: [{"path": "/etc/apt/sources.list.d/nvidia-docker.list", "reason": "a list of an earlier toolkit"}]
gpu:
  description: Whether an NVIDIA GPU is here, by the PCI bus (C(pci) is the number, null without a bus) or by the driver's device node.
  returned: success
  type: dict
  sample: {"present": true, "pci": 8, "node": true}
gpu_mode:
  description:
    - How this Docker gives a GPU to a container. V(cdi) by itself, V(cdi-feature) by CDI once C(features.cdi) is set,
      V(legacy) by NVIDIA's hook or runtime.
  returned: success
  type: str
  sample: legacy
gpu_settings:
  description: What C(daemon.json) needs for that.
  returned: success
  type: dict
  sample: {"features": {"cdi": true}}
cdi:
  description:
    - CDI specifications on the host, and the state of those for NVIDIA GPUs, V(ok), V(stale) (they name files that are gone) or
      V(absent).
  returned: success
  type: dict
  sample:
    state: ok
    specifications: [{"path": "/etc/cdi/nvidia.yaml", "kind": "nvidia.com/gpu", "missing": []}]
gpu_containers:
  description:
    - Running containers with a GPU. C(how) is V(cdi), V(devices), V(hook) or V(runtime). C(at_risk) says that they lose it with the next
      reload of systemd's units, C(recreate) that they have lost it.
  returned: success
  type: list
  elements: dict
  sample:
    - name: translate
      id: 4f0c4c1d5b1e
      how: hook
      at_risk: true
      sees_gpu: true
      recreate: false
      reason: its GPUs were added by the legacy hook, unknown to systemd
"""

import glob
import os
import shutil

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _cdi
from ansible_collections.indiaai.inference.plugins.module_utils import _daemon_host
from ansible_collections.indiaai.inference.plugins.module_utils import _docker_exec
from ansible_collections.indiaai.inference.plugins.module_utils import _docker_packages
from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_containers
from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_probe
from ansible_collections.indiaai.inference.plugins.module_utils._host import docker_api

_PROGRAMS = "/usr/bin:/usr/sbin:/usr/local/bin:/usr/local/sbin"
_UNIT_FOLDERS = ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system")


def packages(module):
    """{package: version} of Docker's and the toolkit's packages."""
    dpkg = shutil.which("dpkg-query", path=_PROGRAMS)
    if dpkg is None:
        return {}
    argv = [dpkg, "--show", "--showformat=${Package} ${db:Status-Status} ${Version}\n"] + list(_docker_packages.NAMES)
    return _docker_packages.installed(module.run_command(argv)[1])


def texts(*patterns):
    """{path: text} of the files that match."""
    return {path: _daemon_host.read_text(path) or "" for pattern in patterns for path in glob.glob(pattern) if os.path.isfile(path)}


def programs():
    """Paths of the toolkit's programs, None for those that are not there, and whether it refreshes the specification itself."""
    names = {"runtime": "nvidia-container-runtime", "hook": "nvidia-container-runtime-hook", "cdi_hook": "nvidia-cdi-hook",
             "ctk": "nvidia-ctk"}
    found = {key: shutil.which(name, path=_PROGRAMS) for key, name in names.items()}
    found["refresh_unit"] = any(os.path.exists(os.path.join(folder, "nvidia-cdi-refresh.path")) for folder in _UNIT_FOLDERS)
    return found


def gpu():
    """Whether there is a GPU: the bus knows one, or a driver (a virtual machine's, perhaps) has made its control device."""
    count = _gpu_probe.count_pci_gpus()
    node = os.path.exists("/dev/nvidiactl")
    return {"present": bool(count) or node, "pci": count, "node": node}


def gpu_containers(module, daemon, toolkit):
    """See the return value."""
    if daemon.info is None:
        return []

    def probe(container):
        try:
            code, out, err = _docker_exec.run(daemon.api, container["Id"], ["nvidia-smi", "-L"], timeout=module.params["probe_timeout"])
        except _docker_exec.ExecFailed:
            return None, ""
        return code, out + err

    containers = [daemon.api.inspect(item["Id"]) for item in daemon.api.containers()]
    return _gpu_containers.listing(
        [item for item in containers if item], daemon.info, toolkit["version"], toolkit["cdi_hook"] is not None,
        probe if module.params["probe"] else None)


def main():
    module = AnsibleModule(
        argument_spec={
            "toolkit_source": {"type": "path", "default": "/etc/apt/sources.list.d/indiaai-nvidia-container-toolkit.sources"},
            "probe": {"type": "bool", "default": False},
            "probe_timeout": {"type": "int", "default": 20},
            "socket_path": {"type": "path", "default": "/run/docker.sock"},
        },
        supports_check_mode=True,
    )
    daemon = _daemon_host.Daemon(module, module.params["socket_path"])
    found = packages(module)
    toolkit = dict(_docker_packages.toolkit(found), **programs())
    version = daemon.version()
    mode = _docker_packages.gpu_mode(version)
    folders = _cdi.FOLDERS
    specifications = _cdi.judge(texts(*[folder + end for folder in folders for end in ("/*.yaml", "/*.yml", "/*.json")]), os.path.lexists)
    try:
        containers = gpu_containers(module, daemon, toolkit)
    except (docker_api.DockerUnavailable, docker_api.DockerError) as exc:
        module.fail_json(msg="The running containers could not be listed: %s" % exc)
    module.exit_json(
        changed=False,
        docker={"present": daemon.binary is not None or daemon.info is not None, "version": version,
                "family": _docker_packages.family(found),
                "packages": {name: found[name] for names in _docker_packages.FAMILIES.values() for name in names if name in found}},
        obstacles={source: _docker_packages.obstacles(found, source) for source in _docker_packages.FAMILIES},
        toolkit=toolkit,
        stale_sources=_docker_packages.stale_sources(
            texts("/etc/apt/sources.list", "/etc/apt/sources.list.d/*.list", "/etc/apt/sources.list.d/*.sources"),
            module.params["toolkit_source"]),
        gpu=gpu(),
        gpu_mode=mode,
        gpu_settings=_docker_packages.gpu_settings(mode, toolkit["runtime"] is not None),
        cdi={"state": _cdi.gpu_state(specifications), "specifications": specifications},
        gpu_containers=containers,
    )


if __name__ == "__main__":
    main()
