"""One planted leftover of each kind turns the comparison red that every role's undo has to pass, and an idle server leaves it green."""
from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import servers  # noqa: E402

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tests/machines/snapshot"
UNIT = "[Service]\\nExecStart=/bin/sleep infinity\\n"
# key of the snapshot: (what plants it, what takes it away again). Modules are missing: a container cannot load one.
LEFTOVERS = {
    "file:/etc/left-over": ("touch /etc/left-over", "rm /etc/left-over"),
    "entry:/var/lib/left-over": ("mkdir /var/lib/left-over", "rmdir /var/lib/left-over"),
    "sysctl:net.ipv4.tcp_mtu_probing": ("sysctl -qw net.ipv4.tcp_mtu_probing=1", "sysctl -qw net.ipv4.tcp_mtu_probing=0"),
    "unit-file:left-over.service": (f"printf '{UNIT}' > /run/systemd/system/left-over.service; systemctl daemon-reload",
                                    "rm /run/systemd/system/left-over.service; systemctl daemon-reload"),
    "unit:left-running.service": ("systemd-run -q --unit left-running sleep infinity", "systemctl stop left-running"),
    "container:left-over": ("tar c --files-from /dev/null | docker import - left:over; docker create --name left-over left:over true",
                            "docker rm left-over; docker rmi left:over"),
    "firewall: | -A INPUT -s 192.0.2.1/32 -j DROP": ("iptables -A INPUT -s 192.0.2.1 -j DROP", "iptables -D INPUT -s 192.0.2.1 -j DROP"),
    "port:tcp 127.0.0.1:8099": (
        "systemd-run -q --unit left-listening python3 -m http.server -b 127.0.0.1 8099;"
        "until ss -Hltn sport = 8099 | grep -q .; do sleep 0.1; done", "systemctl stop left-listening"),
    "package:left-over": (
        "mkdir -p /tmp/left/DEBIAN; printf 'Package: left-over\\nVersion: 1\\nArchitecture: all\\nMaintainer: x <x@example>\\nDescription: x\\n'"
        " > /tmp/left/DEBIAN/control; dpkg-deb -b /tmp/left /tmp/left.deb; dpkg -i /tmp/left.deb", "dpkg -P left-over; rm -r /tmp/left /tmp/left.deb"),
}


@pytest.fixture
def docker_server(host):
    if not host.exists("docker"):
        pytest.skip("for the server that has Docker")
    return servers.name(host)


def inside(server, command):
    done = subprocess.run(["docker", "exec", server, "bash", "-c", command], text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def take(server, path):
    with open(TOOLS / "collect.py", encoding="utf-8") as program, open(path, "w", encoding="utf-8") as out:
        subprocess.run(["docker", "exec", "-i", server, "python3", "-"], check=True, stdin=program, stdout=out)
    return path


def compare(before, after):
    return subprocess.run([sys.executable, TOOLS / "compare.py", before, after, "/dev/null"], text=True, capture_output=True, check=False)


def test_each_kind_of_leftover_is_seen_and_an_idle_server_has_none(docker_server, tmp_path):
    before = take(docker_server, tmp_path / "before.json")
    for plant, _remove in LEFTOVERS.values():
        inside(docker_server, plant)
    planted = take(docker_server, tmp_path / "planted.json")
    for _plant, remove in reversed(LEFTOVERS.values()):
        inside(docker_server, remove)
    red = compare(before, planted)
    seen = [key for key in LEFTOVERS if key in red.stdout]
    assert red.returncode == 1 and seen == list(LEFTOVERS), red.stdout
    green = compare(before, take(docker_server, tmp_path / "after.json"))
    assert green.returncode == 0, green.stdout
