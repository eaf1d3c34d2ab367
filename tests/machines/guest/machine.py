"""One guest: bring it up from a saved state, restart it, cut its power, take it away. Never two at once on a machine."""
from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time
from typing import Iterator

from servers import ssh
from servers.shell import MachineError, run, say, until

from . import accel, image, qmp
from .hardware import Hardware, command, identity

READY = "ready"  # name of the saved state of a guest that has just booted
BOOT_SECONDS = 240  # emulated, on two busy cores
GOES_DOWN_SECONDS = 120
WAIT_FOR_OTHER_SECONDS = 1200
GOING_SECONDS = 3  # of a qemu that was ended, until it has closed everything


@dataclasses.dataclass
class Guest:
    """A guest as its folder in the cache describes it."""

    name: str
    hardware: Hardware
    accelerator: str
    port: int

    @property
    def folder(self) -> pathlib.Path:
        return _guests() / self.name

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


def _guests() -> pathlib.Path:
    path = image.folder() / "guests"
    path.mkdir(exist_ok=True)
    return path


def find(name: str) -> Guest:
    """The guest of this name, running or not."""
    try:
        found = json.loads((_guests() / name / "guest.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(guest.name for guest in guests()) or "none"
        raise MachineError(f"Found: no guest {name} (there are: {known}). `guest.py up {name}` makes it.") from None
    return Guest(name, Hardware(**found["hardware"]), found["accelerator"], found["port"])


def guests() -> list[Guest]:
    return [find(path.parent.name) for path in sorted(_guests().glob("*/guest.json"))]


def pid(folder: pathlib.Path) -> int | None:
    """Of the qemu that runs in this folder."""
    try:
        number = int((folder / "pid").read_text(encoding="utf-8"))
        here = pathlib.Path(f"/proc/{number}/cwd").resolve() == folder.resolve()
        words = pathlib.Path(f"/proc/{number}/cmdline").read_bytes()
    except (OSError, ValueError):
        return None
    return number if here and words.startswith(b"qemu-system-") else None


@contextlib.contextmanager
def _only_guest() -> Iterator[int]:
    """Hold the lock that allows a guest. qemu inherits the descriptor, so the lock lasts as long as any qemu does."""
    with open(image.folder() / "running.lock", "w", encoding="utf-8") as handle:
        def take() -> bool:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                return False

        if not until(take, GOING_SECONDS, pause=0.1):
            others = ", ".join(guest.name for guest in guests() if pid(guest.folder)) or "one that is being prepared"
            say(f"Waiting for another guest to go: {others}")
            if not until(take, WAIT_FOR_OTHER_SECONDS, pause=1):
                raise MachineError(f"Found: guest {others}, still running after {WAIT_FOR_OTHER_SECONDS} s. Wanted: no other guest, "
                                   "for two of them on one machine are too slow to test anything. `guest.py down NAME` removes one.")
        yield handle.fileno()


def _start(guest: Guest, lock: int, load: str | None = None) -> None:
    """Start qemu on the guest's disk, from power-on or from a saved state, in a session of its own."""
    (guest.folder / "pid").unlink(missing_ok=True)
    words = command(guest.hardware, guest.accelerator, (guest.folder / "image").resolve(), guest.port, load)
    with open(guest.folder / "qemu.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(words, cwd=guest.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   start_new_session=True, pass_fds=(lock,))
    until(lambda: process.poll() is not None or pid(guest.folder) is not None, 20, pause=0.05)
    if process.poll() is not None or pid(guest.folder) is None:
        raise MachineError(f"qemu did not start: {_tail(guest.folder / 'qemu.log')}\n  {' '.join(words)}")


def _tail(path: pathlib.Path, lines: int = 15) -> str:
    return "\n".join(path.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]) if path.exists() else ""


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
    until(lambda: _answers(guest) or pid(guest.folder) is None, BOOT_SECONDS, pause=0.5)
    left = max(10.0, BOOT_SECONDS - (time.monotonic() - began))
    script = "systemctl is-system-running --wait; systemctl --failed --no-legend --plain"
    try:
        done = subprocess.run(guest.ssh([script]), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=left, check=False)
        state, *failed = done.stdout.splitlines() or [f"no answer ({done.stderr.strip()})"]
    except subprocess.TimeoutExpired:
        state, failed = f"not done in {BOOT_SECONDS} s", []
    if state not in ("running", "degraded"):
        raise MachineError(f"{guest.name}: systemd is '{state}'. The end of its console:\n{_tail(guest.folder / 'console.log', 25)}")
    return [line.split()[0] for line in failed if line.strip()]


def _kill(folder: pathlib.Path) -> bool:
    """End qemu as a power cut ends a server. Whether there was one."""
    number = pid(folder)
    if number is None:
        return False
    os.kill(number, signal.SIGKILL)
    if not until(lambda: pid(folder) is None, 20, pause=0.05):
        raise MachineError(f"qemu (process {number}) did not end.")
    return True


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
    _remove(_guests() / name)
    guest = _new(name, hardware, accelerator, base)
    try:
        run(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", str(base / "disk.img"), str(guest.folder / "disk.qcow2")])
        _start(guest, lock)
        failed = _wait_for_boot(guest)
        if failed:
            raise MachineError(f"The new guest is degraded; failed units: {', '.join(failed)}")
        run(guest.ssh(["sync"]))
        qmp.monitor(guest.folder, f"savevm {READY}")
        _kill(guest.folder)
        os.replace(guest.folder / "disk.qcow2", path)
    finally:
        _remove(guest.folder)
    say(f"Saved the state of a booted guest in {time.monotonic() - began:.0f} s")
    return path


def up(name: str, hardware: Hardware) -> Guest:
    """A booted guest that nobody touched, or, where its folder is still there without a qemu, that guest booted again."""
    if (_guests() / name / "guest.json").exists():
        guest = find(name)
        if pid(guest.folder):
            raise MachineError(f"Found: a guest {name} already. Wanted: a free name; `guest.py down {name}` removes it.")
        with _only_guest() as lock:
            _start(guest, lock)
        _report(guest, _wait_for_boot(guest))
        return guest
    base = image.ensure()
    with _only_guest() as lock:
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
        raise MachineError(f"{guest.name} does not answer after its state was loaded. {_tail(guest.folder / 'qemu.log')}")
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
    if not until(lambda: pid(guest.folder) is None, GOES_DOWN_SECONDS):
        raise MachineError(f"{name} did not go down in {GOES_DOWN_SECONDS} s. The end of its console:\n{_tail(guest.folder / 'console.log')}")
    return _boot_again(guest, began)


def power_cut(name: str) -> float:
    """Cut the guest's power, whatever it does at this moment, and switch it on again. Returns the seconds."""
    guest = find(name)
    began = time.monotonic()
    _kill(guest.folder)
    return _boot_again(guest, began)


def _boot_again(guest: Guest, began: float) -> float:
    with _only_guest() as lock:
        _start(guest, lock)
    _report(guest, _wait_for_boot(guest))
    return time.monotonic() - began


def snapshot(name: str, tag: str) -> None:
    """Keep the guest as it is now under a name inside its own disk."""
    qmp.monitor(find(name).folder, f"savevm {tag}")


def restore(name: str, tag: str) -> None:
    """Put the guest back to a kept state, memory and disk."""
    guest = find(name)
    _kill(guest.folder)
    with _only_guest() as lock:
        _start(guest, lock, tag)
    _continue(guest)


def down(name: str) -> bool:
    """Remove the guest. Whether there was anything to remove."""
    folder = _guests() / name
    there = folder.exists()
    _remove(folder)
    return there


def down_all() -> list[str]:
    """Remove every guest; saved states and images stay."""
    return [path.name for path in sorted(_guests().iterdir()) if down(path.name)]


def _remove(folder: pathlib.Path) -> None:
    _kill(folder)
    shutil.rmtree(folder, ignore_errors=True)
