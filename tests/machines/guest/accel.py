"""Whether this machine can run a guest by KVM. Where it cannot, qemu emulates the processor, some twenty times slower."""
from __future__ import annotations

import os
import pathlib
import re
import subprocess

CPUINFO = pathlib.Path("/proc/cpuinfo")
DEVICE = pathlib.Path("/dev/kvm")
PROBE_SECONDS = 30
VARIABLE = "INDIAAI_GUEST_ACCEL"  # kvm or tcg: no probe

ARGUMENTS = {
    "kvm": ["-accel", "kvm", "-cpu", "host"],
    "tcg": ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"],
}


def may_work(cpuinfo: str, writable: bool) -> bool:
    """A device alone proves nothing: nested machines offer one that cannot run an ordinary kernel."""
    return writable and re.search(r"^flags\s*:.*\b(svm|vmx)\b", cpuinfo, re.MULTILINE) is not None


def choose(kernel: pathlib.Path, initrd: pathlib.Path) -> str:
    """``kvm`` where a kernel really boots by it, else ``tcg``."""
    asked = os.environ.get(VARIABLE, "")
    if asked in ARGUMENTS:
        return asked
    if not may_work(CPUINFO.read_text(encoding="utf-8"), os.access(DEVICE, os.R_OK | os.W_OK)):
        return "tcg"
    return "kvm" if _boots(kernel, initrd) else "tcg"


def _boots(kernel: pathlib.Path, initrd: pathlib.Path) -> bool:
    """Boot into a panic on purpose: the kernel finds no init, and qemu ends when it wants to restart."""
    command = ["qemu-system-x86_64", "-machine", "q35", *ARGUMENTS["kvm"], "-m", "512", "-nodefaults", "-no-user-config",
               "-display", "none", "-serial", "stdio", "-no-reboot", "-kernel", str(kernel), "-initrd", str(initrd),
               "-append", "console=ttyS0 panic=-1 rdinit=/none root=/none"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0 and b"Kernel panic" in done.stdout
