#!/usr/bin/env python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Builds the gateway's image as an archive that ``docker load`` takes, and prints its path.

Runs on the control machine, once for each version of the gateway: the file is kept in the cache folder under a name made
from the gateway's content. A Debian root (mmdebstrap) is one layer, the hash-locked wheels with the gateway's package the other; the
archive is written directly, so no Docker daemon is needed here, and the same content gives the same image id.

    build.py                      print the archive, building it when needed
    build.py --wheelhouse DIR     take the wheels from DIR and from nowhere else
    build.py --rebuild            build anew, with the distribution's present packages

Beside ``gateway-image-HASH.tar`` lies ``gateway-image-HASH.tar.json``: {"schema_version", "image_id", "build", "reference",
"sha256", "bytes", "version"}. Progress goes to standard error; the last line on standard output is the archive.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from datetime import datetime, timezone
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "gateway"
SUITE = "bookworm"
PACKAGES = ("python3",)
# Documentation and translations; licence texts stay.
EXCLUDED = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/i18n/*")
KEPT = ("/usr/share/doc/*/copyright",)
PYTHON = "3.11"  # of this Debian release: the wheels must be for it
PLATFORMS = ("manylinux_2_36_x86_64", "manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
USER = "10001:10001"
TARGET = "opt/gateway"
# Bump when this program lays the image out differently.
LAYOUT = 3
BASE_LAYOUT = 2


class Failure(Exception):
    """Something is missing; the text says what was found, what is wanted and what to do."""


def main() -> int:
    parser = argparse.ArgumentParser(description="Build the gateway's image archive; prints its path.")
    parser.add_argument("--wheelhouse", type=Path, help="folder with the locked wheels, for a machine without a package index")
    parser.add_argument("--mirror", help="Debian mirror (default: mmdebstrap's own)")
    parser.add_argument("--output", type=Path, help="also put the archive here")
    parser.add_argument("--rebuild", action="store_true", help="do not use what the cache holds")
    arguments = parser.parse_args()
    try:
        archive = build(arguments)
        if arguments.output is not None:
            for name in (archive, described(archive)):
                shutil.copy2(name, arguments.output / name.name if arguments.output.is_dir() else arguments.output.with_name(
                    arguments.output.name + (".json" if name != archive else "")))
    except Failure as exc:
        print(f"build.py: {exc}", file=sys.stderr)
        return 1
    print(archive)
    return 0


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "indiaai-inference"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def described(archive: Path) -> Path:
    return archive.with_name(archive.name + ".json")


def build(arguments: argparse.Namespace) -> Path:
    content = content_hash()
    archive = cache_folder() / f"gateway-image-{content}.tar"
    if archive.exists() and described(archive).exists() and not arguments.rebuild:
        say(f"{archive.name} is in the cache")
        return archive
    base = base_layer(arguments)
    with tempfile.TemporaryDirectory(prefix="indiaai-gateway-image-") as work:
        application = Path(work) / "application.tar"
        site = Path(work) / "site"
        install(site, arguments.wheelhouse)
        pack(site, application)
        write_archive(archive, base, application, content, compiled=any(site.rglob("*.pyc")))
    return archive


def sources() -> list[Path]:
    found = [SOURCE / "requirements.lock", *(SOURCE / "indiaai_gateway").rglob("*.py")]
    return sorted(found)


def content_hash() -> str:
    digest = hashlib.sha256(repr((LAYOUT, SUITE, PACKAGES, EXCLUDED, PYTHON, USER)).encode())
    for path in sources():
        digest.update(str(path.relative_to(SOURCE)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def version() -> str:
    text = (SOURCE / "indiaai_gateway" / "__init__.py").read_text(encoding="utf-8")
    match = re.search(r'__version__ = "([^"]+)"', text)
    assert match
    return match[1]


def base_layer(arguments: argparse.Namespace) -> Path:
    """The Debian root as a tar file, kept for the next version of the gateway."""
    key = hashlib.sha256(repr((BASE_LAYOUT, SUITE, PACKAGES, EXCLUDED, KEPT)).encode()).hexdigest()[:12]
    base = cache_folder() / f"gateway-base-{key}.tar"
    if base.exists() and not arguments.rebuild:
        return base
    if shutil.which("mmdebstrap") is None:
        add_mmdebstrap()
    say(f"making a Debian {SUITE} root (a minute)")
    temporary = base.with_name(f".{base.name}.{os.getpid()}.tar")
    command = [
        "mmdebstrap", "--quiet", "--variant=essential", "--include=" + ",".join(PACKAGES),
        "--aptopt=APT::Install-Recommends \"false\"", "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude={path}" for path in EXCLUDED),
        *(f"--dpkgopt=path-include={path}" for path in KEPT),
        # Set-user-id programs have no business in a container without capabilities; the rest is left-over of the installation.
        '--customize-hook=find "$1" -xdev -perm /6000 -type f -exec chmod ug-s {} +',
        '--customize-hook=rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/* "$1"/var/log/* "$1"/usr/share/perl* "$1"/tmp/*',
        SUITE, str(temporary), *([arguments.mirror] if arguments.mirror else []),
    ]
    try:
        run(command, "mmdebstrap failed; its own words are above. A mirror can be named with --mirror.")
        temporary.rename(base)
    finally:
        temporary.unlink(missing_ok=True)
    return base


def add_mmdebstrap() -> None:
    wanted = ("Found: no mmdebstrap on this machine. Wanted: it, to make the image's Debian root. Do: apt-get install mmdebstrap, "
              "or build the archive on a Debian or Ubuntu machine and copy it here with its .json file.")
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Failure(wanted)
    say("installing mmdebstrap from the distribution")
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300"]
    run([*apt, "update"], wanted)
    run([*apt, "install", "--no-install-recommends", "mmdebstrap"], wanted)


def install(site: Path, wheelhouse: Path | None) -> None:
    """The locked wheels for the image's Python, whatever Python this machine has, and the gateway's package."""
    say("installing the locked wheels")
    origin = [] if wheelhouse is None else ["--no-index", "--find-links", str(wheelhouse.resolve())]
    if wheelhouse is not None and not wheelhouse.is_dir():
        raise Failure(f"Found: no folder {wheelhouse}. Wanted: the locked wheels in it. Do: on a machine with an index, "
                      f"pip download --only-binary=:all: --python-version {PYTHON} --platform {PLATFORMS[2]} --platform {PLATFORMS[3]} "
                      f"--platform {PLATFORMS[4]} --require-hashes -r {SOURCE / 'requirements.lock'} -d {wheelhouse}")
    command = [
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-compile", "--no-deps",
        "--require-hashes", "--only-binary=:all:", "--implementation=cp", f"--python-version={PYTHON}", "--abi=cp311", "--abi=abi3",
        "--abi=none", *(f"--platform={name}" for name in PLATFORMS), "--platform=any", *origin,
        "--target", str(site), "-r", str(SOURCE / "requirements.lock"),
    ]
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
        raise Failure(f"Found: {sys.executable} has no pip. Wanted: one. Do: run this program with the Python of a virtual environment.")
    run(command, "pip could not install the locked wheels; its own words are above. Without an index, name a folder with --wheelhouse.")
    shutil.rmtree(site / "bin", ignore_errors=True)
    for path in sources():
        if path.suffix == ".py":
            target = site / path.relative_to(SOURCE)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    precompile(site)


def precompile(site: Path) -> None:
    """Where this machine has the image's Python: spare the container the work at every start, as its root is read-only."""
    python = sys.executable if sys.version_info[:2] == (3, 11) else shutil.which(f"python{PYTHON}")
    if python is None:
        say(f"no Python {PYTHON} here: the gateway will start a second later than it could")
        return
    run([python, "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash", "-s", str(site), "-p", f"/{TARGET}", str(site)],
        "the gateway could not be compiled; the reason is above.", PYTHONHASHSEED="0", PYTHONDONTWRITEBYTECODE="")


def pack(site: Path, target: Path) -> None:
    """The folder as a layer: sorted, owned by root, without times, so that the same files give the same layer."""
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("opt", TARGET):
            archive.addfile(_entry(name, directory=True))
        for path in sorted(site.rglob("*")):
            name = f"{TARGET}/{path.relative_to(site)}"
            if path.is_symlink():
                continue
            if path.is_dir():
                archive.addfile(_entry(name, directory=True))
            else:
                data = path.read_bytes()
                entry = _entry(name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))


def _entry(name: str, directory: bool = False) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE if directory else tarfile.REGTYPE
    entry.mode = 0o755 if directory else 0o644
    entry.mtime = 1
    return entry


def write_archive(archive: Path, base: Path, application: Path, content: str, compiled: bool) -> None:
    """An archive as ``docker save`` writes it: the layers, the configuration that names them by checksum, a manifest."""
    say("writing the archive")
    layers = [base, application]
    checksums = [_sha256(path) for path in layers]
    reference = f"indiaai/inference-gateway:{content}"
    # Tells builds of the same content apart where the daemon gives images ids of its own making.
    build_id = hashlib.sha256("".join(checksums).encode()).hexdigest()[:32]
    created = datetime.fromtimestamp(int(base.stat().st_mtime), timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    configuration = json.dumps({
        "architecture": "amd64",
        "os": "linux",
        "created": created,
        "config": {
            "User": USER,
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                f"PYTHONPATH=/{TARGET}",
                "PYTHONUNBUFFERED=1",
                "LANG=C.UTF-8",
                # The root is read-only: what is not compiled yet is compiled into the container's own /tmp.
                *([] if compiled else ["PYTHONPYCACHEPREFIX=/tmp/pycache"]),
            ],
            "Entrypoint": ["python3", "-m", "indiaai_gateway"],
            "Cmd": ["serve"],
            "WorkingDir": "/",
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "indiaai-gateway",
                "org.opencontainers.image.version": version(),
                "org.opencontainers.image.licenses": "GPL-3.0-or-later",
                "indiaai.inference.gateway.build": build_id,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{checksum}" for checksum in checksums]},
        "history": [
            {"created": created, "created_by": f"mmdebstrap {SUITE} {' '.join(PACKAGES)}"},
            {"created": created, "created_by": f"indiaai-gateway {version()}"},
        ],
    }, sort_keys=True).encode()
    image_id = hashlib.sha256(configuration).hexdigest()
    manifest = [{"Config": f"{image_id}.json", "RepoTags": [reference], "Layers": [f"{checksum}/layer.tar" for checksum in checksums]}]
    temporary = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        with tarfile.open(temporary, "w", format=tarfile.PAX_FORMAT) as out:
            for checksum, layer in zip(checksums, layers):
                entry = _entry(f"{checksum}/layer.tar")
                entry.size = layer.stat().st_size
                with layer.open("rb") as handle:
                    out.addfile(entry, handle)
            for name, data in ((f"{image_id}.json", configuration), ("manifest.json", json.dumps(manifest).encode())):
                entry = _entry(name)
                entry.size = len(data)
                out.addfile(entry, io.BytesIO(data))
        description = {
            "schema_version": 1, "image_id": f"sha256:{image_id}", "build": build_id, "reference": reference,
            "sha256": _sha256(temporary), "bytes": temporary.stat().st_size, "version": version(),
        }
        described(archive).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
        temporary.rename(archive)
    finally:
        temporary.unlink(missing_ok=True)
    say(f"{archive.name}: {description['bytes'] // 1_000_000} MB, {description['image_id']}")


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def run(command: list[str], hint: str, **environment: str) -> None:
    # What the programs say belongs to the progress, not to the answer on standard output.
    if subprocess.run(command, stdout=sys.stderr, env={**os.environ, **environment}, check=False).returncode != 0:
        raise Failure(hint)


def say(text: str) -> None:
    print(f"build.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
