#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: host_audit_info
short_description: One read-only picture of an inference host
version_added: 1.0.0
description:
  - Reads the operating system, disks, Docker and its containers, listening sockets, kernel settings, certificates and
    failed units in one pass, and finds the inference engines that run.
  - An engine is found by asking. Each listening socket that belongs to no system service gets a
    C(GET /v1/models) and, where that answers in JSON, a C(GET /api/tags).
  - Changes nothing. GPUs are the business of M(indiaai.inference.gpu_facts).
options:
  probe:
    description: Whether listening sockets are asked if they serve models.
    type: bool
    default: true
  probe_timeout:
    description: Seconds that a socket has for each answer. All are asked at once.
    type: float
    default: 1.0
  docker_socket:
    description: Socket of the Docker daemon.
    type: path
    default: /run/docker.sock
attributes:
  check_mode:
    description: Runs the same in check mode.
    support: full
  diff_mode:
    description: Nothing is changed, so there is no difference to show.
    support: none
notes:
  - Without root the owners of sockets stay unknown. RV(audit.not_seen) says so.
author:
  - IndiaAI Inference contributors (@indiaai)
"""

EXAMPLES = r"""
- name: Look at the host
  indiaai.inference.host_audit_info:
  register: found

- name: Engines that the collection did not start
  ansible.builtin.debug:
    msg: "{{ found.audit.engines | rejectattr('managed') }}"
"""

RETURN = r"""
audit:
  description: What is on the host. Sizes are MiB.
  returned: success
  type: dict
  contains:
    schema_version:
      description: Version of the shape.
      type: int
      returned: always
      sample: 1
    os:
      description: Distribution.
      type: dict
      returned: always
      sample: {"id": "debian", "name": "Debian GNU/Linux 12 (bookworm)", "version": "12"}
    kernel:
      description: Release of the running kernel.
      type: str
      returned: always
      sample: 6.1.0-28-amd64
    cpu:
      description: Number and model of the processors.
      type: dict
      returned: always
      sample: {"count": 2, "model": "AMD EPYC"}
    memory:
      description: Main memory.
      type: dict
      returned: always
      sample: {"total_mib": 24000, "available_mib": 21000, "swap_mib": 0, "hugepages_mib": 0}
    disks:
      description: File systems. A network mount is named and not measured.
      type: list
      elements: dict
      returned: always
      sample:
        - path: "/"
          device: "/dev/vda1"
          type: "ext4"
          network: false
          total_mib: 50000
          free_mib: 30000
          inodes_free: 3000000
    docker:
      description: The daemon and its containers in every state.
      type: dict
      returned: always
      sample: {"running": true, "version": "20.10.24", "live_restore": false, "containers": []}
    listeners:
      description: Listening TCP sockets with their owners, and whether other machines reach them.
      type: list
      elements: dict
      returned: always
      sample:
        - address: "0.0.0.0"
          port: 22
          pid: 300
          process: "sshd"
          container: null
          unit: "ssh.service"
          managed: false
          exposed: true
    engines:
      description: Listeners that serve models, the collection's own marked as managed.
      type: list
      elements: dict
      returned: always
      sample:
        - container: "chat-llm"
          unit: null
          url: "http://127.0.0.1:8000"
          api: "openai"
          models: ["chat"]
          key_required: false
          pid: 900
          process: "python3"
          managed: false
          exposed: true
          memory_mib: 2100
    tuning:
      description: Kernel settings that role C(kernel_tuning) cares for.
      type: list
      elements: dict
      returned: always
      sample: [{"name": "net.core.somaxconn", "value": "4096", "wanted": "8192", "state": "differs"}]
    tls:
      description: Certificates shown by web servers on this host.
      type: list
      elements: dict
      returned: always
      sample:
        - port: 443
          protocol: "TLSv1.3"
          subject: "CN=llm.example"
          issuer: "CN=llm.example"
          not_after: "2027-12-01T00:00:00Z"
          days_left: 396
          self_signed: true
    failed_units:
      description: Units that systemd calls failed.
      type: list
      elements: str
      returned: always
      sample: []
    findings:
      description: What stands out, the worst first, each with its evidence and the role that mends it.
      type: list
      elements: dict
      returned: always
      sample:
        - id: "live_restore_off"
          severity: "medium"
          evidence: "a restart of Docker stops every container (live-restore is off)"
          fixed_by: "docker_engine"
    not_seen:
      description: What could not be looked at, and why.
      type: list
      elements: str
      returned: always
      sample: []
"""

import os
import platform
import socket

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.indiaai.inference.plugins.module_utils import _audit, _audit_probe, _gpu_facts, _sysctl

_WEB_SERVERS = ("nginx", "apache2", "haproxy", "caddy")


def tuning():
    """State of each kernel setting that the collection sets: ok, differs or missing."""
    result = []
    for row in _sysctl.wanted(("network",), (), ()):
        text = _audit_probe.read(_sysctl.path(row.name))
        value = _sysctl.normal(text) if text else None
        state = "missing" if value is None else "ok" if _sysctl.satisfied(row, value) else "differs"
        result.append({"name": row.name, "value": value, "wanted": _sysctl.target(row, value), "state": state})
    return result


def network(docker, probe, timeout):
    """(listeners, engines) of the host."""
    processes = _audit_probe.processes()
    sockets = _audit_probe.sockets()
    inodes = _audit_probe.pids_by_inode(processes, {item["inode"] for item in sockets})
    listed = [{"Id": item["id"], "Names": [item["name"]], "Labels": {_gpu_facts.MANAGED_LABEL: str(item["managed"])}}
              for item in docker["containers"]]
    owners = _gpu_facts.owners({pid: item["cgroup"] for pid, item in processes.items()}, listed)
    found = _audit.listeners(sockets, inodes, processes, owners, docker["containers"])
    asked = _audit.candidates(found) if probe else []
    answers = _audit_probe.ask_all([url for dummy, url in asked], timeout)
    engines = [_audit.engine(item, url, answers[url], _audit.memory_of(item, processes, owners))
               for item, url in asked if answers.get(url)]
    return found, engines


def certificates(found, timeout):
    """What the host's own web servers show on their ports."""
    ports = sorted({item["port"] for item in found
                    if item["process"] in _WEB_SERVERS and not item["container"] and item["port"] != 80})
    shown = (_audit_probe.certificate(port, socket.getfqdn(), timeout) for port in ports)
    return [item for item in shown if item]


def processor():
    """Number and model of the processors."""
    model = None
    for line in _audit_probe.read("/proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            model = " ".join(line.partition(":")[2].split())
            break
    return {"count": os.cpu_count(), "model": model}


def main():
    module = AnsibleModule(
        argument_spec={
            "probe": {"type": "bool", "default": True},
            "probe_timeout": {"type": "float", "default": 1.0},
            "docker_socket": {"type": "path", "default": "/run/docker.sock"},
        },
        supports_check_mode=True,
    )
    not_seen = []
    if os.geteuid() != 0:
        not_seen.append("owners of other users' sockets, containers and their memory: the audit did not run as root")
    docker = _audit_probe.docker(module.params["docker_socket"], timeout=10)
    if not docker["running"]:
        not_seen.append("containers: %s" % docker["reason"])
    found, engines = network(docker, module.params["probe"], module.params["probe_timeout"])
    audit = {
        "schema_version": _audit.SCHEMA_VERSION,
        "os": _audit.parse_os_release(_audit_probe.read("/etc/os-release")),
        "kernel": platform.release(),
        "cpu": processor(),
        "memory": _audit.parse_meminfo(_audit_probe.read("/proc/meminfo")),
        "disks": _audit_probe.disks(),
        "docker": docker,
        "listeners": found,
        "engines": engines,
        "tuning": tuning(),
        "tls": certificates(found, module.params["probe_timeout"]),
        "failed_units": _audit_probe.failed_units(),
        "not_seen": not_seen,
    }
    audit["findings"] = _audit.findings(audit)
    module.exit_json(changed=False, audit=audit)


if __name__ == "__main__":
    main()
