# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Taking a foreign engine out of the way: what its answers and the kernel's tables mean, and what is to be done. Pure."""

from __future__ import annotations

import json
import urllib.parse

# How engines call the number of requests they work on (TEI tells only of its queue).
RUNNING_METRICS = ("vllm:num_requests_running", "sglang:num_running_reqs", "te_queue_size")

_LISTEN = "0A"


def title(item):
    """One entry of inference_replaces for people: "container old-llm"."""
    return "container %s" % item["container"] if item.get("container") else "unit %s" % unit_name(item["unit"])


def unit_name(name):
    """A unit's full name."""
    return name if "." in name else name + ".service"


def journal_item(item):
    """One entry as the undo journal names it."""
    if item.get("container"):
        return {"kind": "container", "name": item["container"]}
    return {"kind": "unit", "name": unit_name(item["unit"])}


def target(url):
    """(host, port, path in front of the API's own paths) of an engine's url.

    A url often ends in /v1, which the paths of the API begin with as well.
    """
    parts = urllib.parse.urlsplit(url)
    path = parts.path.rstrip("/")
    if path.endswith("/v1"):
        path = path[: -len("/v1")]
    return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80), path


def needs(found, enabled):
    """What has to be done to something that is replaced: a set of "stop" and "disable".

    :param found: None when it is not there; else whether it runs.
    :param enabled: whether it comes back by itself at the next boot.
    """
    if found is None:
        return set()
    return ({"stop"} if found else set()) | ({"disable"} if enabled else set())


def probe(api, model):
    """A request with one token -> (path, body); (path, None) asks for the list of models first, when no model is known."""
    if model is None:
        return ("/api/tags" if api == "ollama" else "/v1/models"), None
    if api == "ollama":
        return "/api/generate", {"model": model, "prompt": "ping", "stream": False, "options": {"num_predict": 1}}
    return "/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "ping"}], "max_tokens": 1}


def first_model(text):
    """The first model in an answer to the list question of either API, None when there is none."""
    try:
        document = json.loads(text)
        if document.get("data"):
            return document["data"][0]["id"]
        return document["models"][0]["name"]
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def loaded_models(text):
    """Models that an Ollama server holds in memory, from its answer to /api/ps."""
    try:
        return [model.get("model") or model["name"] for model in json.loads(text).get("models") or []]
    except (ValueError, KeyError, TypeError, AttributeError):
        return []


def listening_inodes(table, port):
    """Inodes of the sockets that listen on a port, from the text of /proc/net/tcp or tcp6."""
    inodes = set()
    for line in table.splitlines()[1:]:
        fields = line.split()
        if len(fields) > 9 and fields[3] == _LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
            inodes.add(fields[9])
    return inodes


def in_group(cgroup_text, marker):
    """Whether a process belongs to a container or unit, from its /proc/PID/cgroup.

    :param marker: the container's full id, or the unit's control group.
    """
    for line in cgroup_text.splitlines():
        path = line.split(":", 2)[-1]
        if marker.startswith("/"):
            if path == marker or path.startswith(marker + "/"):
                return True
        elif marker in path:
            return True
    return False


def gpu_memory(text):
    """{pid: MiB} from nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits."""
    found = {}
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 2 and fields[0].isdigit():
            found[int(fields[0])] = found.get(int(fields[0]), 0) + (int(fields[1]) if fields[1].isdigit() else 0)
    return found


def resident_mib(status_text):
    """Resident memory of a process in MiB, from its /proc/PID/status."""
    for line in status_text.splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    return 0


def in_the_way(item, exclusive, ports):
    """Whether the plan cannot be carried out beside this engine.

    :param exclusive: the plan needs the whole machine (device cpu).
    :param ports: ports that the plan needs.
    """
    return exclusive or (bool(item.get("url")) and target(item["url"])[1] in ports)


def still_held(port, holders, processes):
    """Sentence about what is not free yet, None when all is.

    :param holders: who listens on the port (texts).
    :param processes: processes of the old engine that still live (texts), with the memory they hold.
    """
    parts = []
    if holders:
        parts.append("port %d is still held by %s" % (port, ", ".join(holders)))
    if processes:
        parts.append("memory is still held by %s" % ", ".join(processes))
    return "; ".join(parts) or None
