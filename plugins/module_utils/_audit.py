# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens where, which of them serve models, and what is worth saying about a host. Pure.

Texts of /proc and answers of APIs in, plain data out; reading and probing is the module's business. This file is private
to the collection.
"""

from __future__ import annotations

import ipaddress

SCHEMA_VERSION = 1

# Listeners that are never asked whether they serve models: they belong to the system, and a stray request ends in their log.
SYSTEM_PROCESSES = frozenset((
    "apache2", "avahi-daemon", "caddy", "chronyd", "containerd", "cupsd", "dnsmasq", "dockerd", "exim4", "haproxy", "init",
    "master", "mariadbd", "memcached", "mysqld", "named", "nginx", "nfsd", "node_exporter", "ntpd", "postgres", "redis-server",
    "rpcbind", "rpc.statd", "slapd", "smbd", "snmpd", "sshd", "systemd", "systemd-network", "systemd-resolve",
    "valkey-server", "xinetd",
))

_LISTEN = "0A"
_PSEUDO = frozenset((
    "autofs", "bpf", "cgroup", "cgroup2", "configfs", "debugfs", "devpts", "devtmpfs", "efivarfs", "fusectl", "hugetlbfs",
    "mqueue", "nsfs", "proc", "pstore", "ramfs", "securityfs", "squashfs", "sysfs", "tmpfs", "tracefs", "binfmt_misc",
))
_NETWORK = ("nfs", "cifs", "smb", "ceph", "lustre", "gluster", "beegfs", "fuse.")


def parse_sockets(text):
    """Text of /proc/net/tcp or tcp6 -> [{"address", "port", "inode"}] of the listening sockets."""
    result = []
    for line in text.splitlines()[1:]:
        fields = line.split()
        if len(fields) < 10 or fields[3] != _LISTEN:
            continue
        address, dummy, port = fields[1].partition(":")
        result.append({"address": _address(address), "port": int(port, 16), "inode": int(fields[9])})
    return result


def _address(text):
    """The kernel's hexadecimal words, each in the byte order of a little-endian machine -> text of the address.

    >>> _address("0100007F")
    '127.0.0.1'
    """
    raw = b"".join(bytes.fromhex(text[at:at + 8])[::-1] for at in range(0, len(text), 8))
    address = ipaddress.ip_address(raw)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def parse_status(text):
    """Text of /proc/PID/status -> {"name", "rss_kib"}."""
    values = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    rss = values.get("VmRSS", "0").split()
    return {"name": values.get("Name", "").strip(), "rss_kib": int(rss[0]) if rss else 0}


def parse_meminfo(text):
    """Text of /proc/meminfo -> {"total_mib", "available_mib", "swap_mib", "hugepages_mib"}."""
    values = {}
    for line in text.splitlines():
        name, dummy, rest = line.partition(":")
        if rest.split()[:1] and rest.split()[0].isdigit():
            values[name] = int(rest.split()[0])
    return {
        "total_mib": values.get("MemTotal", 0) // 1024,
        "available_mib": values.get("MemAvailable", 0) // 1024,
        "swap_mib": values.get("SwapTotal", 0) // 1024,
        "hugepages_mib": values.get("HugePages_Total", 0) * values.get("Hugepagesize", 0) // 1024,
    }


def parse_os_release(text):
    """Text of /etc/os-release -> {"id", "version", "name"}."""
    values = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals:
            values[name.strip()] = value.strip().strip("\"'")
    return {"id": values.get("ID"), "version": values.get("VERSION_ID"), "name": values.get("PRETTY_NAME")}


def parse_mounts(text, is_folder=lambda path: True):
    """Text of /proc/self/mounts -> [{"path", "device", "type", "network"}], each file system once, pseudo ones left out.

    A network mount is named but must not be asked for anything: a stale one never answers. is_folder(path) tells single
    bind-mounted files, which stand for no file system, apart.
    """
    chosen = {}
    for line in text.splitlines():
        fields = line.split()
        if len(fields) < 3 or fields[2] in _PSEUDO:
            continue
        device, path, kind = fields[0], fields[1].encode().decode("unicode_escape"), fields[2]
        network = kind.startswith(_NETWORK)
        if (kind == "overlay" and path != "/") or (not network and not is_folder(path)):
            continue
        known = chosen.get(device)
        if known is None or len(path) < len(known["path"]):
            chosen[device] = {"path": path, "device": device, "type": kind, "network": network}
    return sorted(chosen.values(), key=lambda item: item["path"])


def container(listed, inspected):
    """One item of Docker's list and its inspection (or None) -> what the report says of it."""
    details = inspected or {}
    host = details.get("HostConfig") or {}
    state = details.get("State") or {}
    labels = listed.get("Labels") or {}
    return {
        "name": (listed.get("Names") or [listed["Id"][:12]])[0].lstrip("/"),
        "id": listed["Id"],
        "image": listed.get("Image"),
        "state": listed.get("State"),
        "started_at": state.get("StartedAt"),
        "pid": state.get("Pid") or None,
        "restart_policy": (host.get("RestartPolicy") or {}).get("Name") or "no",
        "network_mode": host.get("NetworkMode"),
        "ports": published(listed),
        "managed": str(labels.get("indiaai.inference.managed", "")).lower() == "true",
    }


def published(listed):
    """Ports that Docker publishes for a container -> [{"address", "port", "container_port"}]."""
    seen = {}
    for item in listed.get("Ports") or []:
        if item.get("PublicPort") and item.get("Type", "tcp") == "tcp":
            key = (item.get("IP") or "0.0.0.0", item["PublicPort"])
            seen[key] = {"address": key[0], "port": key[1], "container_port": item.get("PrivatePort")}
    return [seen[key] for key in sorted(seen)]


def is_exposed(address):
    """Whether other machines can reach a socket bound to this address."""
    return not ipaddress.ip_address(address).is_loopback


def listeners(sockets, pids_by_inode, processes, owners, containers):
    """Join sockets, processes and containers -> [{"address", "port", "pid", "process", "container", "unit", "managed", "exposed"}].

    processes: {pid: {"name", ...}}; owners: {pid: {"container", "unit", "managed"}}; containers: as container() makes them.
    A socket of docker-proxy belongs to the container it publishes. A published port without a socket (Docker without its
    proxy) is listed all the same.
    """
    by_port = {}
    for item in containers:
        if item["state"] == "running":
            for port in item["ports"]:
                by_port[port["port"]] = item
    found = {}
    for socket in sockets:
        pids = sorted(pids_by_inode.get(socket["inode"], ()))
        pid = pids[0] if pids else None
        name = processes.get(pid, {}).get("name")
        owner = owners.get(pid) or {"container": None, "unit": None, "managed": False}
        if socket["port"] in by_port and name in ("docker-proxy", None):
            owner, pid, name = _published_owner(by_port[socket["port"]], processes)
        found[(socket["port"], socket["address"])] = _listener(socket["address"], socket["port"], pid, name, owner)
    for item in containers:
        if item["state"] == "running":
            for port in item["ports"]:
                key = (port["port"], port["address"])
                if key not in found:
                    owner, pid, name = _published_owner(item, processes)
                    found[key] = _listener(port["address"], port["port"], pid, name, owner)
    return [found[key] for key in sorted(found)]


def _published_owner(item, processes):
    owner = {"container": item["name"], "unit": None, "managed": item["managed"]}
    return owner, item["pid"], processes.get(item["pid"], {}).get("name")


def _listener(address, port, pid, name, owner):
    return {"address": address, "port": port, "pid": pid, "process": name, "container": owner["container"],
            "unit": owner["unit"], "managed": owner["managed"], "exposed": is_exposed(address)}


def candidates(found):
    """Listeners that may serve models, one a port and owner -> [(listener, url)]; the url is on the loopback where it can be."""
    chosen = {}
    for item in found:
        name = item["process"] or ""
        if not name and not item["container"]:
            continue  # nobody to name
        if name in SYSTEM_PROCESSES or name.startswith("systemd") or (item["unit"] or "").startswith("ssh"):
            continue
        key = (item["port"], item["container"] or item["unit"] or item["pid"])
        known = chosen.get(key)
        # 0.0.0.0 before ::, the loopback before an address of the network.
        if known is None or _rank(item["address"]) < _rank(known["address"]):
            exposed = item["exposed"] or bool(known and known["exposed"])
            chosen[key] = dict(item, exposed=exposed)
        elif item["exposed"]:
            known["exposed"] = True
    return [(item, "http://%s:%d" % (_reachable(item["address"]), item["port"]))
            for dummy, item in sorted(chosen.items(), key=lambda pair: (pair[0][0], str(pair[0][1])))]


def _rank(address):
    parsed = ipaddress.ip_address(address)
    return (parsed.version, not (parsed.is_unspecified or parsed.is_loopback))


def _reachable(address):
    parsed = ipaddress.ip_address(address)
    if parsed.is_unspecified:
        return "127.0.0.1"
    return "[%s]" % address if parsed.version == 6 else address


def classify(models, tags):
    """Answers to GET /v1/models and GET /api/tags, each {"status", "body"} or None -> {"api", "models", "key_required"} or None.

    Ollama answers both; it is called by its own name. A refusal in OpenAI's form is an engine that asks for a key.
    """
    if tags and tags["status"] == 200 and isinstance(tags["body"], dict) and isinstance(tags["body"].get("models"), list):
        names = [item.get("name") for item in tags["body"]["models"] if isinstance(item, dict)]
        return {"api": "ollama", "models": [name for name in names if name], "key_required": False}
    if not models or not isinstance(models["body"], dict):
        return None
    data = models["body"].get("data")
    if models["status"] == 200 and isinstance(data, list):
        names = [item.get("id") for item in data if isinstance(item, dict)]
        return {"api": "openai", "models": [name for name in names if name], "key_required": False}
    if models["status"] in (401, 403) and "error" in models["body"]:
        return {"api": "openai", "models": [], "key_required": True}
    return None


def engine(listener, url, answer, memory_mib):
    """One serving listener -> its entry in `engines`."""
    return {
        "container": listener["container"], "unit": None if listener["container"] else listener["unit"],
        "url": url, "api": answer["api"], "models": answer["models"], "key_required": answer["key_required"],
        "pid": listener["pid"], "process": listener["process"], "managed": listener["managed"],
        "exposed": listener["exposed"], "memory_mib": memory_mib,
    }


def memory_of(listener, processes, owners):
    """Resident memory in MiB of everything in the listener's container or unit, else of its process."""
    def same(pid):
        owner = owners.get(pid) or {}
        if listener["container"]:
            return owner.get("container") == listener["container"]
        if listener["unit"]:
            return owner.get("unit") == listener["unit"]
        return pid == listener["pid"]

    return sum(item.get("rss_kib", 0) for pid, item in processes.items() if same(pid)) // 1024


def findings(audit):
    """What stands out -> [{"id", "severity": high|medium|low, "evidence", "fixed_by"}], the worst first."""
    found = []

    def add(identity, severity, evidence, fixed_by):
        found.append({"id": identity, "severity": severity, "evidence": evidence, "fixed_by": fixed_by})

    policies = {item["name"]: item["restart_policy"] for item in audit["docker"]["containers"]}
    for item in audit["engines"]:
        who = item["container"] or item["unit"] or "process %s" % item["pid"]
        if item["managed"]:
            continue
        if item["exposed"] and not item["key_required"]:
            add("engine_open", "high", "%s answers other machines on %s without a key and without TLS" % (who, item["url"]),
                "engine_cutover, api_gateway, nginx_tls")
        elif not item["key_required"]:
            add("engine_without_key", "medium", "%s answers on %s without a key" % (who, item["url"]), "api_gateway")
        if item["container"] and policies.get(item["container"]) == "no":
            add("engine_not_restarted", "medium", "%s has restart policy no and nothing that starts it after a boot" % who,
                "inference_engine")
    docker = audit["docker"]
    if docker["running"] and not docker["live_restore"] and not docker["swarm"]:
        add("live_restore_off", "medium", "a restart of Docker stops every container (live-restore is off)", "docker_engine")
    differing = [item["name"] for item in audit["tuning"] if item["state"] == "differs"]
    if differing:
        add("kernel_defaults", "low", "%d of %d network settings of the kernel are not as an inference host wants them"
            % (len(differing), len(audit["tuning"])), "kernel_tuning")
    for item in audit["disks"]:
        if item["total_mib"] and item["free_mib"] < 0.15 * item["total_mib"]:
            add("disk_nearly_full", "medium", "%s has %d of %d MiB free" % (item["path"], item["free_mib"], item["total_mib"]),
                "host_cleanup")
    for item in audit["tls"]:
        if item["days_left"] is not None and item["days_left"] < 21:
            add("certificate_expires", "high" if item["days_left"] < 7 else "medium",
                "the certificate on port %d ends in %d days" % (item["port"], item["days_left"]), "nginx_tls")
        if item["self_signed"]:
            add("certificate_self_signed", "low", "the certificate on port %d is self-signed" % item["port"], "nginx_tls")
    if audit["failed_units"]:
        add("failed_units", "medium", "failed units: %s" % ", ".join(audit["failed_units"]), None)
    if audit["memory"]["hugepages_mib"]:
        add("hugepages_reserved", "low", "%d MiB are set aside as huge pages" % audit["memory"]["hugepages_mib"], "kernel_tuning")
    order = {"high": 0, "medium": 1, "low": 2}
    return sorted(found, key=lambda item: order[item["severity"]])
