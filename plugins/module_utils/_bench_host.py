# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of the measured host, read when the measurement runs: memory, tuning, GPU.

PRIVATE to the collection. Parsers are pure (text in, data out); the readers around them
never raise for something that this host does not have.
"""

from __future__ import annotations

import os
import re
import subprocess

# The settings of the host whose difference between two records is worth naming.
TUNING_KEYS = (
    "net.core.default_qdisc", "net.core.netdev_max_backlog", "net.core.rmem_max", "net.core.somaxconn",
    "net.core.wmem_max", "net.ipv4.tcp_congestion_control", "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_max_syn_backlog", "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_notsent_lowat", "net.ipv4.tcp_rmem", "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_wmem", "net.ipv4.ip_local_port_range", "vm.max_map_count", "vm.nr_hugepages",
    "vm.overcommit_memory", "vm.swappiness", "kernel.numa_balancing",
)

ENGINE_ENVIRONMENT = ("OLLAMA_", "SGLANG_", "VLLM_")

_SECRET = re.compile(r"(^|[-_])(api[-_]?key|token|secret|password|passwd|auth)$")


def parse_meminfo(text: str) -> dict:
    """``{"memory_total_mib", "memory_available_mib"}`` of /proc/meminfo."""
    values = {}
    for line in text.splitlines():
        name, dummy, rest = line.partition(":")
        fields = rest.split()
        if fields and fields[0].isdigit():
            values[name] = int(fields[0]) // 1024
    return {"memory_total_mib": values.get("MemTotal"), "memory_available_mib": values.get("MemAvailable")}


def parse_cpu_model(text: str) -> str | None:
    """The first model name in /proc/cpuinfo."""
    for line in text.splitlines():
        name, dummy, value = line.partition(":")
        if name.strip() == "model name":
            return " ".join(value.split())
    return None


def parse_gpu_memory(text: str) -> dict:
    """``{uuid: {"memory_total_mib", "memory_free_mib"}}`` of nvidia-smi's CSV without header and units."""
    result = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 3 and fields[1].isdigit() and fields[2].isdigit():
            result[fields[0]] = {"memory_total_mib": int(fields[1]), "memory_free_mib": int(fields[2])}
    return result


def flags_from_command(command: list) -> dict:
    """The ``--flag value`` pairs of an engine's command line; a bare flag is True.

    Values of flags that carry a secret are masked. Words that belong to no flag are left out.
    """
    flags = {}
    name = None
    for word in command:
        word = str(word)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            flags[name] = value if equals else True
            if equals:
                name = None
        elif name is not None:
            flags[name] = word
            name = None
    return mask_flags(flags)


def describe_inspect(document: dict) -> dict:
    """``{"image", "flags"}`` of a container as Docker's inspect shows it.

    Settings that engines take from the environment appear as ``env:NAME`` beside the flags.
    """
    config = document.get("Config") or {}
    flags = flags_from_command(list(config.get("Entrypoint") or []) + list(config.get("Cmd") or []))
    environment = {}
    for item in config.get("Env") or []:
        name, dummy, value = item.partition("=")
        if name.startswith(ENGINE_ENVIRONMENT):
            environment["env:" + name] = value
    flags.update(mask_flags(environment))
    return {"image": config.get("Image"), "flags": flags}


def mask_flags(flags: dict) -> dict:
    """A copy without the values of flags that carry a secret."""
    return {
        name: "(hidden)" if _SECRET.search(str(name).lower()) and value is not True else value
        for name, value in flags.items()
    }


def read_tuning(keys, proc_sys: str = "/proc/sys") -> dict:
    """``{key: value}`` for the keys this kernel has; runs of blanks become one."""
    result = {}
    for key in keys:
        text = _read(os.path.join(proc_sys, *key.split(".")))
        if text is not None:
            result[key] = " ".join(text.split())
    return result


def read_host() -> dict:
    """The host facts of a record."""
    facts = {
        "cpu_count": len(os.sched_getaffinity(0)),
        "cpu_model": parse_cpu_model(_read("/proc/cpuinfo") or ""),
        "kernel": os.uname().release,
    }
    facts.update(parse_meminfo(_read("/proc/meminfo") or ""))
    return facts


def gpu_subset(facts: dict, live: dict) -> dict:
    """What a record keeps of the GPU facts, with memory as it was when the load ran."""
    gpus = []
    for gpu in facts.get("gpus") or []:
        kept = {name: gpu.get(name) for name in ("index", "uuid", "name", "memory_total_mib", "memory_free_mib")}
        kept.update(live.get(gpu.get("uuid"), {}))
        gpus.append(kept)
    known = set(gpu["uuid"] for gpu in gpus)
    for uuid in sorted(set(live) - known):
        gpus.append(dict({"index": None, "uuid": uuid, "name": None}, **live[uuid]))
    return {
        "backend": facts.get("backend") or ("nvidia-smi" if live else "none"),
        "state": facts.get("state") or ("ok" if live else "no_gpu"),
        "driver_version": facts.get("driver_version"),
        "gpus": gpus,
    }


def read_gpu_memory(program: str | None, seconds: float = 15.0) -> dict:
    """Memory of each GPU now; empty where there is no nvidia-smi or it does not answer."""
    if not program:
        return {}
    command = [program, "--query-gpu=uuid,memory.total,memory.free", "--format=csv,noheader,nounits"]
    try:
        # Used where there is no AnsibleModule, so not through run_command().
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=seconds, check=False)  # pylint: disable=ansible-bad-function
    except (OSError, subprocess.SubprocessError):
        return {}
    return parse_gpu_memory(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else {}


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as handle:
            return handle.read()
    except OSError:
        return None
