"""One disposable server: bring it up, look at it, take it away."""
from __future__ import annotations

import dataclasses
import json
import subprocess

from . import capabilities, image, names, ssh
from .shell import MachineError, run, say, until

BOOT_SECONDS = 90


@dataclasses.dataclass
class Wanted:
    """What ``up`` is asked for."""

    name: str
    image: str = names.BARE_IMAGE
    docker_volume: str | None = None  # an existing volume to use as /var/lib/docker; None makes an empty one
    cpus: str | None = None  # as `docker run --cpus`
    memory: str | None = None  # as `docker run --memory`
    publish: list[str] = dataclasses.field(default_factory=list)  # as `docker run --publish`
    volumes: list[str] = dataclasses.field(default_factory=list)  # as `docker run --volume`
    labels: list[str] = dataclasses.field(default_factory=list)


def up(wanted: Wanted) -> list[str]:
    """Start the server and wait for systemd. Returns the names of failed units (empty when it is `running`)."""
    container = names.container_name(wanted.name)
    if run(["docker", "inspect", container], check=False).returncode == 0:
        raise MachineError(f"Found: a server {wanted.name} already. Wanted: a free name; "
                           f"`machines.py down {wanted.name}` removes it.")
    image.ensure(wanted.image)
    volume = wanted.docker_volume or _make_volume(wanted.name)
    run(_create_command(wanted, container, volume))
    try:
        _put_key(container)
        run(["docker", "start", container])
        return _wait_for_systemd(container)
    except MachineError:
        down(wanted.name)
        raise


def _make_volume(name: str) -> str:
    volume = names.docker_volume_name(name)
    run(["docker", "volume", "create", "--label", names.OWNER_LABEL, "--label", names.server_label(name), volume])
    return volume


def _create_command(wanted: Wanted, container: str, volume: str) -> list[str]:
    command = ["docker", "create", "--name", container, "--hostname", container, "--network", names.NETWORK,
               "--label", names.OWNER_LABEL, "--label", names.server_label(container),
               # Its own sub-tree of control groups: limits hold for everything inside, and nothing is left behind.
               "--cgroupns", "private",
               # systemd re-executes itself on SIGTERM; this is its signal for a clean shutdown.
               "--stop-signal", "SIGRTMIN+3",
               "--tmpfs", "/run:rw,exec,nosuid,nodev,mode=755", "--tmpfs", "/run/lock:rw,nosuid,nodev,mode=1777",
               "--shm-size", "1g",
               "--volume", f"{volume}:/var/lib/docker"]
    command += capabilities.run_arguments()
    for flag, value in (("--cpus", wanted.cpus), ("--memory", wanted.memory)):
        command += [flag, value] if value else []
    for flag, values in (("--publish", wanted.publish), ("--volume", wanted.volumes), ("--label", wanted.labels)):
        for value in values:
            command += [flag, value]
    return command + [wanted.image]


def _put_key(container: str) -> None:
    done = subprocess.run(["docker", "cp", "-", f"{container}:/root"], input=ssh.authorized_keys_archive(),
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise MachineError(f"Could not put the SSH key into {container}: {done.stderr.decode().strip()}")


def _wait_for_systemd(container: str) -> list[str]:
    state = ""

    def booted() -> bool:
        nonlocal state
        state = run(["docker", "exec", container, "systemctl", "is-system-running"], check=False).stdout.strip()
        return state in ("running", "degraded")

    if not until(booted, BOOT_SECONDS):
        logs = run(["docker", "logs", "--tail", "20", container], check=False)
        raise MachineError(f"{container}: systemd says '{state}' after {BOOT_SECONDS} s.\n{logs.stdout}{logs.stderr}")
    failed = run(["docker", "exec", container, "systemctl", "--failed", "--no-legend", "--plain"]).stdout
    return [line.split()[0] for line in failed.splitlines() if line.strip()]


def down(name: str) -> bool:
    """Remove the server and the volumes made for it. Whether there was anything to remove."""
    container = names.container_name(name)
    removed = run(["docker", "rm", "-f", "-v", container], check=False)
    volumes = _volumes(names.server_label(container))
    for volume in volumes:
        run(["docker", "volume", "rm", volume])
    return bool(volumes) or removed.stdout.strip() == container


def down_all() -> list[str]:
    """Remove every server and volume of these tests, prepared (cache) volumes excepted. Names of what was removed."""
    containers = run(["docker", "ps", "-aq", "--filter", f"label={names.OWNER_LABEL}", "--format", "{{.Names}}"]).stdout.split()
    for container in containers:
        run(["docker", "rm", "-f", "-v", container], check=False)
    kept = set(_volumes(names.CACHE_LABEL))
    volumes = [volume for volume in _volumes(names.OWNER_LABEL) if volume not in kept]
    for volume in volumes:
        run(["docker", "volume", "rm", volume])
    return containers + volumes


def _volumes(label: str) -> list[str]:
    return run(["docker", "volume", "ls", "-q", "--filter", f"label={label}"]).stdout.split()


def servers() -> list[dict]:
    """``[{name, container, address, image, state}]``, sorted by name."""
    names_found = run(["docker", "ps", "-aq", "--filter", f"label={names.SERVER_LABEL}"]).stdout.split()
    if not names_found:
        return []
    found = []
    for item in json.loads(run(["docker", "inspect"] + names_found).stdout):
        network = item["NetworkSettings"]["Networks"].get(names.NETWORK, {})
        container = item["Name"].lstrip("/")
        found.append({"name": names.short_name(container), "container": container, "address": network.get("IPAddress", ""),
                      "image": item["Config"]["Image"], "state": item["State"]["Status"]})
    return sorted(found, key=lambda server: server["name"])


def find(name: str) -> dict:
    """The entry of ``servers`` with this name, which must run."""
    container = names.container_name(name)
    for server in servers():
        if server["container"] == container:
            if server["state"] != "running":
                raise MachineError(f"Found: server {name} is '{server['state']}'. Wanted: running.")
            return server
    known = ", ".join(server["name"] for server in servers()) or "none"
    raise MachineError(f"Found: no server {name} (there are: {known}). `machines.py up {name}` makes it.")


def report_boot(name: str, failed: list[str]) -> None:
    if failed:
        say(f"{name}: up, but degraded; failed units: {', '.join(failed)}")
        for unit in failed:
            say(run(["docker", "exec", names.container_name(name), "systemctl", "status", "--no-pager", unit], check=False).stdout)
    else:
        say(f"{name}: up")
