"""Guests for tests: servers with a kernel of their own, under qemu. up, down, reboot, powercut, ssh, exec, snapshot, restore.

A guest starts in seconds from the saved state of one that has booted. It has two NUMA nodes and one network card, and is
reached over SSH on a port of 127.0.0.1. There is never more than one on a machine; `up` waits for the other one to go.
"""
from __future__ import annotations

import argparse
import os
import pathlib
import sys

# This file lies in the package that it is the front door of; the package is to be found as `guest`, not this file.
sys.path[0] = str(pathlib.Path(__file__).resolve().parent.parent)

from guest import machine, process  # noqa: E402  pylint: disable=wrong-import-position
from guest.hardware import Hardware  # noqa: E402  pylint: disable=wrong-import-position
from servers.shell import MachineError, say  # noqa: E402  pylint: disable=wrong-import-position


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        return options.action(options) or 0
    except MachineError as error:
        say(f"guest.py: {error}")
        return 1


def _up(options) -> None:
    machine.up(options.name, Hardware(options.cpus, options.memory, options.extra_nic))


def _down(options) -> None:
    if options.all == bool(options.name):
        raise MachineError("Give the name of a guest, or --all.")
    removed = machine.down_all() if options.all else [name for name in options.name if machine.down(name)]
    say("removed: " + (", ".join(removed) or "nothing was there"))


def _list(_options) -> None:
    for guest in machine.guests():
        state = "running" if process.pid(guest.folder) else "off"
        print(f"{guest.name:<24} 127.0.0.1:{guest.port:<6} {state:<8} {guest.accelerator}")


def _ssh(options) -> None:
    _become(machine.find(options.name).ssh(options.command))


def _exec(options) -> None:
    if not options.command:
        raise MachineError("Give a command, or use `guest.py ssh`.")
    _become(machine.find(options.name).ssh(options.command, "-T"))


def _become(words: list[str]) -> None:
    os.execvp(words[0], words)


def _ssh_config(options) -> None:
    print(machine.find(options.name).ssh_config(), end="")


def _console(options) -> None:
    print((machine.find(options.name).folder / "console.log").read_text(encoding="utf-8", errors="replace"), end="")


def _reboot(options) -> None:
    say(f"{options.name}: restarted in {machine.reboot(options.name):.0f} s")


def _power_cut(options) -> None:
    say(f"{options.name}: back {machine.power_cut(options.name):.0f} s after the power cut")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="guest.py", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, text: str, action) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text)
        added.set_defaults(action=action)
        if name not in ("list", "down"):
            added.add_argument("name")
        return added

    wanted = Hardware()
    up = command("up", "start a guest; installs qemu and builds the image where needed", _up)
    up.add_argument("--cpus", type=int, default=wanted.cpus)
    up.add_argument("--memory", type=int, default=wanted.memory_mib, metavar="MIB")
    up.add_argument("--extra-nic", action="store_true", help="eth1 with a receive queue for each processor (root only)")

    down = command("down", "remove guests; images and saved states stay", _down)
    down.add_argument("name", nargs="*")
    down.add_argument("--all", action="store_true")

    command("list", "name, address, state and accelerator of each guest", _list)
    command("reboot", "restart it and wait until it has booted", _reboot)
    command("powercut", "cut its power, switch it on again and wait until it has booted", _power_cut)
    for name, text, action in (("ssh", "log in, or run a command", _ssh),
                               ("exec", "run a command without a terminal; standard input goes to it", _exec)):
        command(name, text, action).add_argument("command", nargs=argparse.REMAINDER)
    command("ssh-config", "print a configuration for ssh, scp and Ansible", _ssh_config)
    command("console", "print what its console showed", _console)
    for name, text, action in (("snapshot", "keep its memory and disk as they are now", machine.snapshot),
                               ("restore", "put it back to what was kept", machine.restore)):
        command(name, text, lambda options, action=action: action(options.name, options.tag)).add_argument(
            "tag", nargs="?", default="kept", help="name of the kept state (default: kept)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
