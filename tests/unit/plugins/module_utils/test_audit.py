# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens, who serves models, and what is said about it: joins over captured text of /proc."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _audit

# Captured on a Debian 12 server with sshd, an engine on 0.0.0.0:8000 and containerd; a connected socket among them.
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21101 1 0000000000000000 100 0 0 10 0
   1: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 30001 1 0000000000000000 100 0 0 10 0
   2: 0100007F:9F2F 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21202 1 0000000000000000 100 0 0 10 0
   3: 0100007F:1F40 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 30002 1 0000000000000000 20 4 30 10 -1
"""
TCP6 = """  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21102 1
   1: 00000000000000000000000001000000:2CAA 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 40001 1
   2: 0000000000000000FFFF00000100007F:2382 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 40002 1
"""
CONTAINERS = [
    {"name": "chat-llm", "state": "running", "pid": 900, "managed": False, "restart_policy": "no", "ports": []},
    {"name": "web-ui", "state": "running", "pid": 950, "managed": False, "restart_policy": "always",
     "ports": [{"address": "0.0.0.0", "port": 3000, "container_port": 8080}]},
    {"name": "old", "state": "exited", "pid": None, "managed": False, "restart_policy": "no",
     "ports": [{"address": "0.0.0.0", "port": 9999, "container_port": 80}]},
]
PROCESSES = {21: {"name": "sshd", "rss_kib": 5000}, 49: {"name": "containerd", "rss_kib": 9000},
             900: {"name": "python3", "rss_kib": 1024000}, 901: {"name": "VLLM::EngineCor", "rss_kib": 1024000},
             930: {"name": "docker-proxy", "rss_kib": 3000}, 950: {"name": "node", "rss_kib": 100000},
             970: {"name": "ollama", "rss_kib": 204800}}
NOBODY = {"container": None, "unit": None, "managed": False}
OWNERS = {21: dict(NOBODY, unit="ssh.service"), 49: dict(NOBODY, unit="containerd.service"),
          900: dict(NOBODY, container="chat-llm"), 901: dict(NOBODY, container="chat-llm"),
          930: dict(NOBODY, unit="docker.service"), 950: dict(NOBODY, container="web-ui"),
          970: dict(NOBODY, unit="ollama.service")}
PIDS = {21101: {21}, 21102: {21}, 30001: {901, 900}, 21202: {49}, 40001: {970}, 50001: {930}}


def test_listening_sockets_are_read():
    assert _audit.parse_sockets(TCP) == [
        {"address": "0.0.0.0", "port": 22, "inode": 21101}, {"address": "0.0.0.0", "port": 8000, "inode": 30001},
        {"address": "127.0.0.1", "port": 40751, "inode": 21202}]
    assert [(item["address"], item["port"]) for item in _audit.parse_sockets(TCP6)] == [
        ("::", 22), ("::1", 11434), ("127.0.0.1", 9090)]


def found():
    sockets = _audit.parse_sockets(TCP) + _audit.parse_sockets(TCP6) + [{"address": "0.0.0.0", "port": 3000, "inode": 50001}]
    return _audit.listeners(sockets, PIDS, PROCESSES, OWNERS, CONTAINERS)


def by_port(port):
    return [item for item in found() if item["port"] == port]


def test_sockets_get_their_owners():
    assert by_port(8000) == [{"address": "0.0.0.0", "port": 8000, "pid": 900, "process": "python3", "container": "chat-llm",
                              "unit": None, "managed": False, "exposed": True}]
    assert by_port(11434)[0]["unit"] == "ollama.service" and by_port(11434)[0]["exposed"] is False
    assert {item["unit"] for item in by_port(22)} == {"ssh.service"}


def test_a_published_port_belongs_to_its_container_and_not_to_dockers_proxy():
    assert [(item["container"], item["process"], item["pid"]) for item in by_port(3000)] == [("web-ui", "node", 950)]


def test_a_published_port_without_a_proxy_is_seen():
    items = _audit.listeners([], {}, PROCESSES, OWNERS, CONTAINERS)
    assert [(item["port"], item["container"], item["address"]) for item in items] == [(3000, "web-ui", "0.0.0.0")]


def test_only_what_may_be_an_engine_is_asked_each_once():
    asked = [(item["container"] or item["unit"], url) for item, url in _audit.candidates(found())]
    assert asked == [("web-ui", "http://127.0.0.1:3000"), ("chat-llm", "http://127.0.0.1:8000"),
                     ("ollama.service", "http://[::1]:11434")]


def test_an_engine_on_both_families_is_asked_on_the_loopback_and_stays_exposed():
    both = [{"address": address, "port": 8000, "pid": 1, "process": "x", "container": "c", "unit": None, "managed": False,
             "exposed": _audit.is_exposed(address)} for address in ("::", "0.0.0.0", "127.0.0.1")]
    (item, url), = _audit.candidates(both)
    assert url == "http://127.0.0.1:8000" and item["exposed"]


OPENAI = {"status": 200, "body": {"object": "list", "data": [{"id": "chat", "owned_by": "vllm"}]}}
TAGS = {"status": 200, "body": {"models": [{"name": "llama3:8b"}]}}


@pytest.mark.parametrize("models, tags, answer", [
    (OPENAI, {"status": 404, "body": {"detail": "Not Found"}}, ("openai", ["chat"], False)),
    (OPENAI, None, ("openai", ["chat"], False)),
    (OPENAI, TAGS, ("ollama", ["llama3:8b"], False)),
    ({"status": 401, "body": {"error": "Unauthorized"}}, None, ("openai", [], True)),
    ({"status": 401, "body": {"message": "log in"}}, None, None),
    ({"status": 404, "body": {"detail": "Not Found"}}, None, None),
    ({"status": 200, "body": []}, None, None),
    (None, None, None),
])
def test_engines_are_known_by_their_answers(models, tags, answer):
    got = _audit.classify(models, tags)
    assert got == (answer and dict(zip(("api", "models", "key_required"), answer)))


def test_memory_is_that_of_the_whole_container():
    assert _audit.memory_of(by_port(8000)[0], PROCESSES, OWNERS) == 2000
    assert _audit.memory_of(by_port(11434)[0], PROCESSES, OWNERS) == 200


def test_mounts_are_counted_once_and_network_ones_not_touched():
    text = ("/dev/vda1 / ext4 rw 0 0\nproc /proc proc rw 0 0\n/dev/vda1 /etc/hosts ext4 rw 0 0\n"
            "tmpfs /run tmpfs rw 0 0\n/dev/sdb /srv/model\\040store xfs rw 0 0\nnas:/x /mnt/nas nfs4 rw 0 0\n"
            "overlay /var/lib/docker/overlay2/x/merged overlay rw 0 0\n")
    asked = []

    def is_folder(path):
        asked.append(path)
        return path != "/etc/hosts"

    assert [(item["path"], item["network"]) for item in _audit.parse_mounts(text, is_folder)] == [
        ("/", False), ("/mnt/nas", True), ("/srv/model store", False)]
    assert "/mnt/nas" not in asked


def test_containers_of_dockers_list():
    listed = {"Id": "f" * 64, "Names": ["/chat"], "Image": "vllm:1", "State": "running",
              "Labels": {"indiaai.inference.managed": "true"},
              "Ports": [{"IP": "127.0.0.1", "PrivatePort": 80, "PublicPort": 8081, "Type": "tcp"},
                        {"PrivatePort": 9000, "Type": "tcp"}]}
    inspected = {"State": {"Pid": 7, "StartedAt": "2026-01-01T00:00:00Z"},
                 "HostConfig": {"RestartPolicy": {"Name": "always"}, "NetworkMode": "host"}}
    item = _audit.container(listed, inspected)
    assert item["managed"] and item["pid"] == 7 and item["restart_policy"] == "always"
    assert item["ports"] == [{"address": "127.0.0.1", "port": 8081, "container_port": 80}]
    assert _audit.container({"Id": "a" * 64, "State": "created"}, None)["name"] == "a" * 12


def audit(**changes):
    base = {"engines": [], "docker": {"containers": CONTAINERS, "running": True, "live_restore": True, "swarm": False},
            "tuning": [{"name": "a", "state": "ok"}], "disks": [], "tls": [], "failed_units": [], "memory": {"hugepages_mib": 0}}
    base.update(changes)
    return base


def engine(**changes):
    item = _audit.engine(by_port(8000)[0], "http://127.0.0.1:8000", {"api": "openai", "models": ["chat"], "key_required": False}, 1)
    item.update(changes)
    return item


@pytest.mark.parametrize("changes, ids", [
    ({}, []),
    ({"engines": [engine()]}, ["engine_open", "engine_not_restarted"]),
    ({"engines": [engine(exposed=False)]}, ["engine_without_key", "engine_not_restarted"]),
    ({"engines": [engine(key_required=True, container="web-ui")]}, []),
    ({"engines": [engine(managed=True)]}, []),
    ({"docker": {"containers": [], "running": True, "live_restore": False, "swarm": False}}, ["live_restore_off"]),
    ({"docker": {"containers": [], "running": True, "live_restore": False, "swarm": True}}, []),
    ({"tuning": [{"name": "a", "state": "differs"}, {"name": "b", "state": "missing"}]}, ["kernel_defaults"]),
    ({"disks": [{"path": "/", "total_mib": 1000, "free_mib": 100}]}, ["disk_nearly_full"]),
    ({"disks": [{"path": "/nas", "total_mib": None, "free_mib": None}]}, []),
    ({"tls": [{"port": 443, "days_left": 6, "self_signed": True}]}, ["certificate_expires", "certificate_self_signed"]),
    ({"failed_units": ["x.service"]}, ["failed_units"]),
    ({"memory": {"hugepages_mib": 2048}}, ["hugepages_reserved"]),
])
def test_findings(changes, ids):
    assert [item["id"] for item in _audit.findings(audit(**changes))] == ids
    assert all(item["evidence"] for item in _audit.findings(audit(**changes)))


def test_small_parsers():
    assert _audit.parse_status("Name:\tpython3\nVmRSS:\t   12345 kB\n") == {"name": "python3", "rss_kib": 12345}
    assert _audit.parse_status("Name:\tkthreadd\n")["rss_kib"] == 0
    memory = _audit.parse_meminfo("MemTotal: 2048 kB\nMemAvailable: 1024 kB\nHugePages_Total: 4\nHugepagesize: 2048 kB\n")
    assert memory == {"total_mib": 2, "available_mib": 1, "swap_mib": 0, "hugepages_mib": 8}
    assert _audit.parse_os_release('ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n') == {
        "id": "debian", "version": "12", "name": "Debian 12"}
