"""What a guest is made of, as the arguments of qemu."""
from __future__ import annotations

import dataclasses
import hashlib
import pathlib

from . import accel

# These only save time; what a role sees is an ordinary machine.
KERNEL_LINE = "root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off quiet systemd.show_status=0 apparmor=0"


@dataclasses.dataclass(frozen=True)
class Hardware:
    """Two NUMA nodes share processors and memory evenly, for there are settings that one node does not have."""

    cpus: int = 2
    memory_mib: int = 2048
    extra_nic: bool = False  # eth1 with a receive queue for each processor; needs root and /dev/net/tun


def identity(hardware: Hardware, accelerator: str, image: str, qemu: str) -> str:
    """Hash of all that a saved state depends on: it can be loaded only into the machine that it was saved from."""
    text = "\0".join([repr(hardware), *accel.ARGUMENTS[accelerator], image, qemu, KERNEL_LINE, *_devices(hardware, 0)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def command(hardware: Hardware, accelerator: str, image: pathlib.Path, port: int, load: str | None = None) -> list[str]:
    """The command line of qemu, to be run in the guest's folder. port: on 127.0.0.1, leads to the guest's port 22.

    A restart of the guest ends qemu (-no-reboot), and the caller starts another: no connection outlives a boot.
    Writes reach the disk when the guest flushes them and not before (cache=writeback): a power cut is one.
    """
    return ["qemu-system-x86_64", "-machine", "q35", *accel.ARGUMENTS[accelerator], "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-pidfile", "pid", "-qmp", "unix:qmp.sock,server=on,wait=off",
            "-chardev", "file,id=console,path=console.log,append=on", "-serial", "chardev:console",
            "-kernel", str(image / "vmlinuz"), "-initrd", str(image / "initrd.img"), "-append", KERNEL_LINE,
            *_devices(hardware, port), *(["-loadvm", load] if load else [])]


def _devices(hardware: Hardware, port: int) -> list[str]:
    half, odd = divmod(hardware.cpus, 2)
    memory = hardware.memory_mib // 2
    devices = ["-smp", str(hardware.cpus), "-m", str(2 * memory)]
    for node, cpus in enumerate(((0, half + odd - 1), (half + odd, hardware.cpus - 1))):
        devices += ["-object", f"memory-backend-ram,id=ram{node},size={memory}M",
                    "-numa", f"node,nodeid={node},memdev=ram{node}" + (f",cpus={cpus[0]}-{cpus[1]}" if cpus[0] <= cpus[1] else "")]
    devices += ["-drive", "file=disk.qcow2,if=none,id=disk,cache=writeback", "-device", "virtio-blk-pci,drive=disk",
                "-netdev", f"user,id=net0,hostfwd=tcp:127.0.0.1:{port}-:22", "-device", "virtio-net-pci,netdev=net0,romfile=",
                "-device", "virtio-rng-pci"]
    if hardware.extra_nic:
        devices += ["-netdev", f"tap,id=net1,queues={hardware.cpus},script=no,downscript=no",
                    "-device", f"virtio-net-pci,netdev=net1,mq=on,vectors={2 * hardware.cpus + 2},romfile="]
    return devices
