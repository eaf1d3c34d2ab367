"""One guest: bring it up from a saved state, restart it, cut its power, take it away."""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import time

from servers import ssh
from servers.shell import MachineError, run, say, until

from . import accel, image, process, qmp
from .hardware import Hardware, command, identity

READY = "ready"  # name of the saved state of a guest that has just booted
BOOT_SECONDS = 240  # emulated, on two busy cores
GOES_DOWN_SECONDS = 120


@dataclasses.dataclass
class Guest:
    """A guest as its folder in the cache describes it."""

    name: str
    hardware: Hardware
    accelerator: str
    port: int

    @property
    def folder(self) -> pathlib.Path:
        return process.folder_of(self.name)

    def ssh(self, words: list[str], *options: str) -> list[str]:
        """The command line that runs ``words`` in the guest."""
        return ["ssh", "-F", str(self.folder / "ssh_config"), *options, self.name, *words]

    def ssh_config(self) -> str:
        """For ssh, scp and Ansible. A connection notices soon that the guest is gone."""
        return (f"Host {self.name}\n  HostName 127.0.0.1\n  Port {self.port}\n  User root\n  IdentityFile {ssh.private_key()}\n"
                "  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
                "  ConnectTimeout 30\n  ServerAliveInterval 5\n  ServerAliveCountMax 6\n")

    def save(self) -> None:
        description = {"hardware": dataclasses.asdict(self.hardware), "accelerator": self.accelerator, "port": self.port}
        (self.folder / "guest.json").write_text(json.dumps(description), encoding="utf-8")
        (self.folder / "ssh_config").write_text(self.ssh_config(), encoding="utf-8")


def find(name: str) -> Guest:
    """The guest of this name, running or not."""
    try:
        found = json.loads((process.folder_of(name) / "guest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(guest.name for guest in guests()) or "none"
        raise MachineError(f"Found: no guest {name} (there are: {known}). `guest.py up {name}` makes it.") from None
    return Guest(name, Hardware(**found["hardware"]), found["accelerator"], found["port"])


def guests() -> list[Guest]:
    return [find(path.parent.name) for path in sorted(process.folder_of_guests().glob("*/guest.json"))]


def _start(guest: Guest, lock: int, load: str | None = None) -> None:
    """On the guest's disk, from power-on or from a saved state."""
    base = (guest.folder / "image").resolve()
    process.start(guest.folder, command(guest.hardware, guest.accelerator, base, guest.port, load), lock)


def _answers(guest: Guest) -> bool:
    """Whether an SSH server greets. qemu accepts connections long before the guest does."""
    try:
        with socket.create_connection(("127.0.0.1", guest.port), timeout=3) as link:
            link.settimeout(3)
            return link.recv(4) == b"SSH-"
    except OSError:
        return False


def _wait_for_boot(guest: Guest) -> list[str]:
    """Until systemd has started all it wants to. Returns the failed units."""
    began = time.monotonic()
    until(lambda: _answers(guest) or process.pid(guest.folder) is None, BOOT_SECONDS, pause=0.5)
    left = max(10.0, BOOT_SECONDS - (time.monotonic() - began))
    script = "systemctl is-system-running --wait; systemctl --failed --no-legend --plain"
    try:
        done = subprocess.run(guest.ssh([script]), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=left, check=False)
        state, *failed = done.stdout.splitlines() or [f"no answer ({done.stderr.strip()})"]
    except subprocess.TimeoutExpired:
        state, failed = f"not done in {BOOT_SECONDS} s", []
    if state not in ("running", "degraded"):
        raise MachineError(f"{guest.name}: systemd is '{state}'. The end of its console:\n"
                           f"{process.tail(guest.folder / 'console.log', 25)}")
    return [line.split()[0] for line in failed if line.strip()]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _new(name: str, hardware: Hardware, accelerator: str, base: pathlib.Path) -> Guest:
    """A folder with everything but the disk."""
    guest = Guest(name, hardware, accelerator, _free_port())
    guest.folder.mkdir()
    (guest.folder / "image").symlink_to(base)
    guest.save()
    return guest


def _saved_state(hardware: Hardware, accelerator: str, base: pathlib.Path, lock: int) -> pathlib.Path:
    """The disk of a booted guest with its saved state in it; made by one boot when it is missing."""
    version = run(["qemu-system-x86_64", "--version"]).stdout.splitlines()[0]
    path = base / f"booted-{identity(hardware, accelerator, base.name, version)}.qcow2"
    if path.exists():
        return path
    say(f"Booting a guest once, to save its state ({'by KVM' if accelerator == 'kvm' else 'the processor is emulated'})")
    began = time.monotonic()
    name = ".saving"
    process.remove(process.folder_of(name))
    guest = _new(name, hardware, accelerator, base)
    try:
        run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw",
             "-b", str(base / "disk.img"), str(guest.folder / "disk.qcow2")])
        _start(guest, lock)
        failed = _wait_for_boot(guest)
        if failed:
            raise MachineError(f"The new guest is degraded; failed units: {', '.join(failed)}")
        run(guest.ssh(["sync"]))
        qmp.monitor(guest.folder, f"savevm {READY}")
        process.kill(guest.folder)
        os.replace(guest.folder / "disk.qcow2", path)
    finally:
        process.remove(guest.folder)
    say(f"Saved the state of a booted guest in {time.monotonic() - began:.0f} s")
    return path


def up(name: str, hardware: Hardware) -> Guest:
    """A booted guest that nobody touched, or, where its folder is still there without a qemu, that guest booted again."""
    if (process.folder_of(name) / "guest.json").exists():
        guest = find(name)
        if process.pid(guest.folder):
            raise MachineError(f"Found: a guest {name} already. Wanted: a free name; `guest.py down {name}` removes it.")
        with process.only_guest() as lock:
            _start(guest, lock)
        _report(guest, _wait_for_boot(guest))
        return guest
    base = image.ensure()
    with process.only_guest() as lock:
        accelerator = accel.choose(base / "vmlinuz", base / "initrd.img")
        saved = _saved_state(hardware, accelerator, base, lock)
        guest = _new(name, hardware, accelerator, base)
        try:
            # A copy: what is saved inside a disk cannot be seen through one that stands on it.
            run(["cp", "--sparse=always", str(saved), str(guest.folder / "disk.qcow2")])
            _start(guest, lock, READY)
            _continue(guest)
        except MachineError:
            down(name)
            raise
    say(f"{name}: up")
    return guest


def _continue(guest: Guest) -> None:
    """After a saved state was loaded: the guest's clock still stands at the moment of the saving."""
    if not until(lambda: _answers(guest), 60):
        raise MachineError(f"{guest.name} does not answer after its state was loaded. {process.tail(guest.folder / 'qemu.log')}")
    run(guest.ssh(["hwclock", "--hctosys", "--utc"]))


def _report(guest: Guest, failed: list[str]) -> None:
    say(f"{guest.name}: up" + (f", but degraded; failed units: {', '.join(failed)}" if failed else ""))
    for unit in failed:
        say(run(guest.ssh(["systemctl", "status", "--no-pager", unit]), check=False).stdout)


def reboot(name: str) -> float:
    """Restart the guest as an administrator does. Returns the seconds that it took to come back."""
    guest = find(name)
    began = time.monotonic()
    run(guest.ssh(["systemctl", "--no-block", "reboot"]), check=False)  # the connection may go first
    if not until(lambda: process.pid(guest.folder) is None, GOES_DOWN_SECONDS):
        raise MachineError(f"{name} did not go down in {GOES_DOWN_SECONDS} s. The end of its console:\n"
                           f"{process.tail(guest.folder / 'console.log')}")
    return _boot_again(guest, began)


def power_cut(name: str) -> float:
    """Cut the guest's power, whatever it does at this moment, and switch it on again. Returns the seconds."""
    guest = find(name)
    began = time.monotonic()
    process.kill(guest.folder)
    return _boot_again(guest, began)


def _boot_again(guest: Guest, began: float) -> float:
    with process.only_guest() as lock:
        _start(guest, lock)
    _report(guest, _wait_for_boot(guest))
    return time.monotonic() - began


def snapshot(name: str, tag: str) -> None:
    """Keep the guest as it is now under a name inside its own disk."""
    qmp.monitor(find(name).folder, f"savevm {tag}")


def restore(name: str, tag: str) -> None:
    """Put the guest back to a kept state, memory and disk."""
    guest = find(name)
    process.kill(guest.folder)
    with process.only_guest() as lock:
        _start(guest, lock, tag)
    _continue(guest)


def down(name: str) -> bool:
    """Remove the guest. Whether there was anything to remove."""
    folder = process.folder_of(name)
    there = folder.exists()
    process.remove(folder)
    return there


def down_all() -> list[str]:
    """Remove every guest; saved states and images stay."""
    return [path.name for path in sorted(process.folder_of_guests().iterdir()) if down(path.name)]
