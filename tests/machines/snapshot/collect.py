"""Write down the state of a server as one flat JSON object: {"kind:name": "value"}.

Runs on the server itself with nothing but Python's standard library. Kinds:

    file       every entry under TREES: type, mode, owner, and a hash of the content or the link's target
    entry      the names directly under LISTED (state folders whose content changes by itself)
    sysctl     every readable key of /proc/sys
    unit       every unit file's enablement and every loaded service's, socket's, timer's and target's activity
    container  every Docker container: running or not, image, restart policy, network
    firewall   every rule of the kernel's ruleset, one key a rule
    port       every listening TCP and bound UDP socket: address, port, program; ports that the kernel chose are not told apart
    module     every loaded kernel module
    package    every installed package and its version
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import pathlib
import pwd
import re
import grp
import socket
import stat
import subprocess
import sys

EPHEMERAL = 32768  # first port that Linux hands out by itself
TREES = ("/etc", "/usr/local", "/srv", "/lib/systemd/system", "/boot", "/root")
LISTED = ("/var/lib", "/run", "/opt", "/home", "/var/log", "/usr/lib/tmpfiles.d")


def name_of(table, number):
    """The account's name, or its number where it has none."""
    try:
        return table(number)[0]
    except KeyError:
        return str(number)


def describe(path):
    """One line that changes when the entry at `path` changes in a way that a user could notice."""
    info = os.lstat(path)
    owner = f"{name_of(pwd.getpwuid, info.st_uid)}:{name_of(grp.getgrgid, info.st_gid)}"
    if stat.S_ISLNK(info.st_mode):
        return f"link -> {os.readlink(path)}"
    mode = f"{stat.S_IMODE(info.st_mode):04o} {owner}"
    if stat.S_ISDIR(info.st_mode):
        return f"directory {mode}"
    if stat.S_ISREG(info.st_mode):
        digest = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()[:16]
        return f"file {mode} {digest}"
    return f"special {mode}"


def files():
    for tree in TREES:
        for folder, folders, names in os.walk(tree):
            for name in folders + names:
                path = os.path.join(folder, name)
                try:
                    yield f"file:{path}", describe(path)
                except FileNotFoundError:  # vanished between listing and reading
                    continue
    for folder in LISTED:
        for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
            yield f"entry:{folder}/{name}", "present"


def sysctls():
    root = pathlib.Path("/proc/sys")
    for folder, _folders, names in os.walk(root):
        for name in names:
            path = pathlib.Path(folder, name)
            try:
                value = path.read_text(encoding="utf-8", errors="replace")
            except OSError:  # write-only or not answerable in this namespace
                continue
            yield f"sysctl:{'.'.join(path.relative_to(root).parts)}", " ".join(value.split())


def run(*argv):
    """Standard output of a command, or an empty text where the command is missing or refuses."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout
    except FileNotFoundError:
        return ""


def units():
    for line in run("systemctl", "list-unit-files", "--no-legend", "--plain", "--no-pager").splitlines():
        name, state = line.split()[:2]
        yield f"unit-file:{name}", state
    listing = run("systemctl", "list-units", "--all", "--no-legend", "--plain", "--no-pager", "--type=service,socket,timer,target,path")
    for line in listing.splitlines():
        name, load, active, sub = line.split()[:4]
        if load != "not-found" and active != "inactive":
            yield f"unit:{name}", f"{active} {sub}"


class DockerSocket(http.client.HTTPConnection):
    """HTTP over Docker's unix socket."""

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect("/run/docker.sock")


def docker(path):
    connection = DockerSocket("docker")
    connection.request("GET", path)
    return json.loads(connection.getresponse().read())


def containers():
    try:
        listing = docker("/containers/json?all=1")
    except OSError:  # no Docker, or not running: the units say so
        return
    for item in listing:
        detail = docker(f"/containers/{item['Id']}/json")
        host = detail["HostConfig"]
        yield f"container:{detail['Name'].lstrip('/')}", " ".join(
            (
                "running" if detail["State"]["Running"] else "stopped",
                f"image={detail['Config']['Image']}",
                f"restart={host['RestartPolicy']['Name'] or 'no'}",
                f"network={host['NetworkMode']}",
            )
        )


def firewall():
    chain = ""
    for line in run("nft", "list", "ruleset").splitlines() or run("iptables-save").splitlines():
        text = re.sub(r"counter packets \d+ bytes \d+", "counter", line.strip())
        text = re.sub(r"\[\d+:\d+\]", "", text)
        if not text or text.startswith("#") or text == "}":
            continue
        if text.endswith("{"):
            chain = text.rstrip(" {") if text.startswith("table") else f"{chain.split(' / ', maxsplit=1)[0]} / {text.rstrip(' {')}"
        yield f"firewall:{chain} | {text}", "present"


def ports():
    for line in run("ss", "-H", "-lntup").splitlines():
        parts = line.split()
        found = re.search(r'\("([^"]+)"', line)
        program = found.group(1) if found else "kernel"
        address, _colon, number = parts[4].rpartition(":")
        if int(number) >= EPHEMERAL:  # chosen by the kernel at each start: the program counts, not the number
            yield f"port:{parts[0]} {address}:any {program}", "listening"
        else:
            yield f"port:{parts[0]} {parts[4]}", program


def modules():
    listing = pathlib.Path("/proc/modules")
    for line in listing.read_text(encoding="ascii").splitlines() if listing.exists() else ():  # a kernel may be built without modules
        yield f"module:{line.split()[0]}", "loaded"


def packages():
    for line in run("dpkg-query", "-W", "-f", "${Package} ${Version} ${db:Status-Abbrev}\n").splitlines():
        name, version, status = line.split()[:3]
        if status.startswith("i"):
            yield f"package:{name}", version


def snapshot():
    state = {}
    for kind in (files, sysctls, units, containers, firewall, ports, modules, packages):
        state.update(kind())
    return state


if __name__ == "__main__":
    json.dump(snapshot(), sys.stdout, indent=0, sort_keys=True)
