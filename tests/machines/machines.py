"""Disposable servers for tests and the demo: up, down, list, ssh, exec, inventory.

A server is a container with systemd as PID 1, sshd, Python and, when asked for, a Docker daemon of its own. It has its
own network namespace (net sysctls are writable) and a read-only view of the rest of the kernel.
"""
from __future__ import annotations

import argparse
import json
import os
import sys

from servers import docker_host, names, server, ssh
from servers.shell import MachineError, say


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return options.action(options)
    except MachineError as error:
        say(f"machines.py: {error}")
        return 1


def _up(options) -> int:
    docker_host.ensure()
    volume = options.docker_volume
    if options.engine_store != "none":
        import engine_store  # pylint: disable=import-outside-toplevel  # it builds on what this file stands on

        volume = engine_store.volume_for_server(options.name, options.engine_store)
    failed = server.up(server.Wanted(
        name=options.name, image=options.image, docker_volume=volume, cpus=options.cpus, memory=options.memory,
        publish=options.publish, volumes=options.volume, labels=options.label))
    server.report_boot(options.name, failed)
    return 1 if failed else 0


def _down(options) -> int:
    if options.all == bool(options.name):
        raise MachineError("Give the name of a server, or --all.")
    if not options.all:
        removed = [name for name in options.name if server.down(name)]
    else:
        removed = server.down_all()
    say("removed: " + (", ".join(removed) or "nothing was there"))
    return 0


def _list(options) -> int:
    found = server.servers()
    if options.json:
        print(json.dumps(found, indent=1))
    else:
        for item in found:
            print(f"{item['name']:<24} {item['address'] or '-':<16} {item['state']:<10} {item['image']}")
    return 0


def _ssh(options) -> int:
    command = ssh.command(server.find(options.name)["address"], options.command)
    os.execvp(command[0], command)


def _exec(options) -> int:
    terminal = ["-t"] if sys.stdin.isatty() and sys.stdout.isatty() else []
    words = options.command or ["bash", "-l"]
    os.execvp("docker", ["docker", "exec", "-i"] + terminal + [server.find(options.name)["container"]] + words)


def _inventory(options) -> int:
    """A static inventory in JSON, which Ansible reads as YAML."""
    common = {"ansible_user": "root", "ansible_python_interpreter": "/usr/bin/python3",
              "ansible_ssh_private_key_file": str(ssh.private_key()), "ansible_ssh_common_args": " ".join(ssh.OPTIONS)}
    hosts = {name: {"ansible_host": server.find(name)["address"]} for name in options.name}
    print(json.dumps({options.group: {"vars": common, "hosts": hosts}}, indent=1))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="machines.py", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    up = commands.add_parser("up", help="start a server; installs and starts Docker on this machine where needed")
    up.add_argument("name")
    up.add_argument("--image", default=names.BARE_IMAGE, help=f"{names.BARE_IMAGE} (default), {names.DOCKER_IMAGE}, or any other")
    up.add_argument("--docker-volume", metavar="VOLUME", help="use this volume as /var/lib/docker instead of an empty one")
    up.add_argument("--engine-store", choices=("none", "stub", "vllm", "both"), default="none",
                    help="start with a /var/lib/docker that holds this engine's image")
    up.add_argument("--cpus")
    up.add_argument("--memory")
    up.add_argument("--publish", action="append", default=[], metavar="[IP:]PORT:PORT")
    up.add_argument("--volume", action="append", default=[], metavar="SOURCE:TARGET[:ro]")
    up.add_argument("--label", action="append", default=[], metavar="KEY=VALUE")
    up.set_defaults(action=_up)

    down = commands.add_parser("down", help="remove servers with their volumes")
    down.add_argument("name", nargs="*")
    down.add_argument("--all", action="store_true", help="everything that these tests made, prepared volumes excepted")
    down.set_defaults(action=_down)

    listing = commands.add_parser("list", help="name, address, state and image of each server")
    listing.add_argument("--json", action="store_true")
    listing.set_defaults(action=_list)

    for name, action, text in (("ssh", _ssh, "log in, or run a command, over SSH"), ("exec", _exec, "the same through Docker")):
        enter = commands.add_parser(name, help=text)
        enter.add_argument("name")
        enter.add_argument("command", nargs=argparse.REMAINDER)
        enter.set_defaults(action=action)

    inventory = commands.add_parser("inventory", help="print an Ansible inventory that reaches these servers over SSH")
    inventory.add_argument("name", nargs="+")
    inventory.add_argument("--group", default="inference")
    inventory.set_defaults(action=_inventory)
    return parser


if __name__ == "__main__":
    sys.exit(main())
