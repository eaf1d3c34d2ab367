"""Small packages that look like a driver to dpkg, modinfo and the linker's folders, and a flat repository of them.

Usage: make_packages.py FOLDER. Runs on a server, which has dpkg-deb but no program that writes an index.
"""
from __future__ import annotations

import hashlib
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import sys

KERNEL = "6.8.0-50-test"
LIBRARIES = f"usr/lib/{platform.machine()}-linux-gnu"
ARCHITECTURE = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def kernel_module(version: str) -> bytes:
    """An object file with nothing but the section that modinfo reads."""
    names = b"\0.modinfo\0.shstrtab\0"
    info = b"license=GPL\0version=" + version.encode() + b"\0name=nvidia\0vermagic=" + KERNEL.encode() + b"\0"
    machine = {"x86_64": 62, "aarch64": 183}[platform.machine()]
    sections = 64 + len(info) + len(names)
    sections += -sections % 8
    header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 1, machine, 1, 0, 0, sections, 0, 64, 0, 0, 64, 3, 2)
    body = (header + info + names).ljust(sections, b"\0")
    row = "<IIQQQQIIQQ"
    return (body + struct.pack(row, *[0] * 10) + struct.pack(row, 1, 1, 2, 0, 64, len(info), 0, 0, 1, 0)
            + struct.pack(row, 10, 3, 0, 0, 64 + len(info), len(names), 0, 0, 1, 0))


def package(folder: pathlib.Path, name: str, version: str, files: dict, depends: str = "", postinst: str = "") -> pathlib.Path:
    """Build one; files: {path: bytes or the target of a link}."""
    root = folder / "build"
    shutil.rmtree(root, ignore_errors=True)
    (root / "DEBIAN").mkdir(parents=True)
    control = [f"Package: {name}", f"Version: {version}", f"Architecture: {ARCHITECTURE}", "Maintainer: Test <test@example.com>"]
    control += [f"Depends: {depends}"] if depends else []
    (root / "DEBIAN/control").write_text("\n".join(control + ["Description: stands for a part of a driver", ""]))
    if postinst:
        (root / "DEBIAN/postinst").write_text("#!/bin/sh\nset -e\n" + postinst + "\n")
        (root / "DEBIAN/postinst").chmod(0o755)
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            (root / path).write_bytes(content)
        else:
            (root / path).symlink_to(content)
    target = folder / f"{name}_{version}_{ARCHITECTURE}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Znone", "--build", str(root), str(target)], check=True, stdout=subprocess.DEVNULL)
    shutil.rmtree(root)
    return target


def driver(folder: pathlib.Path, version: str) -> None:
    """The three parts in one version, and the vendor's package that wants them in any."""
    branch, full = version.split(".")[0], version + "-1"
    libraries = {}
    for name in ("libnvidia-ml.so", "libcuda.so"):
        libraries[f"{LIBRARIES}/{name}.{version}"] = b"library"
        libraries[f"{LIBRARIES}/{name}.1"] = f"{name}.{version}"
    package(folder, f"libnvidia-compute-{branch}", full, libraries)
    package(folder, f"nvidia-kernel-{branch}", full, {f"lib/modules/{KERNEL}/updates/nvidia.ko": kernel_module(version)},
            depends="kmod", postinst=f"depmod {KERNEL} 2>/dev/null")
    package(folder, f"nvidia-utils-{branch}", full, {f"usr/share/doc/nvidia-utils-{branch}/note": b"utils"},
            depends=f"libnvidia-compute-{branch}")
    package(folder, f"nvidia-open-{branch}", full, {}, depends=f"nvidia-utils-{branch}, nvidia-kernel-{branch}")


def index(folder: pathlib.Path) -> None:
    """Packages and Release of a flat repository."""
    entries = []
    for path in sorted(folder.glob("*.deb")):
        control = subprocess.run(["dpkg-deb", "--field", str(path)], capture_output=True, text=True, check=True).stdout.strip()
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        entries.append(f"{control}\nFilename: ./{path.name}\nSize: {path.stat().st_size}\nSHA256: {digest}\n")
    packages = "\n".join(entries).encode()
    (folder / "Packages").write_bytes(packages)
    (folder / "Release").write_text(
        f"Origin: Vendor\nDate: {subprocess.run(['date', '-Ru'], capture_output=True, text=True, check=True).stdout.strip()}\n"
        f"SHA256:\n {hashlib.sha256(packages).hexdigest()} {len(packages)} Packages\n")


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    for version in ("570.172.08", "580.82.07", "580.95.05"):
        driver(folder, version)
    package(folder, "nvidia-tool", "1.2-1", {})
    index(folder)


if __name__ == "__main__":
    main()
