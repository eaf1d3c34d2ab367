# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Give a disposable server an engine's image in seconds instead of minutes.

A *store* is a Docker volume that once was the /var/lib/docker of a server whose daemon loaded the image and stopped
cleanly. A server gets a *clone* of it: the files of image layers, which overlayfs only ever reads, are hard links;
everything that a daemon writes (its databases, metadata, directories) is a copy. So a clone costs neither the
time nor the space of the image, and what happens in one server (a container that changes a file, ``docker rmi``)
reaches neither the store nor another server. (Only root of a server that edits a layer's file in place, behind its
daemon's back, would reach them.)

    engine_store.py prepare STORE          make the store unless it is there
    engine_store.py clone STORE VOLUME     a new volume for one server
    engine_store.py list                   the prepared stores
    engine_store.py remove                 all of them
"""
from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from engine_image import base
from engine_image import build as vllm_image
from servers import docker_host, image, names, server
from servers.shell import MachineError, lock, run, say
from stub_engine import build as stub_image

# Store name: what builds its images. Each function returns the tag of an image that then exists.
STORES = {
    "vllm": (vllm_image.ensure,),
    "stub": (stub_image.ensure,),
    "both": (vllm_image.ensure, stub_image.ensure),
}
# Part of each store's name: raise it when the way of preparing or cloning changes.
FORMAT = "1"
MISSING = 3  # exit status of the clone script when there is no complete store

# Runs in a container that sees the volumes' common folder as one mount: a hard link cannot cross mounts.
CLONE_SCRIPT = r"""
set -eu
store=/volumes/$1/_data clone=/volumes/$2/_data
test -e "$store/.complete" || exit 3
for entry in "$store"/*; do
  case ${entry##*/} in
    overlay2) ;;
    # Of the daemon that prepared the store: a clone's daemon makes its own.
    engine-id|tmp|runtimes) ;;
    *) cp -a "$entry" "$clone/" ;;
  esac
done
mkdir -m 710 "$clone/overlay2"
cp -a "$store/overlay2/l" "$clone/overlay2/"
for layer in "$store"/overlay2/*; do
  name=${layer##*/}
  test "$name" != l || continue
  mkdir -m 710 "$clone/overlay2/$name"
  for part in "$layer"/*; do
    case ${part##*/} in
      diff) cp -al "$part" "$clone/overlay2/$name/" ;;
      *) cp -a "$part" "$clone/overlay2/$name/" ;;
    esac
  done
done
"""


def _image_ids(tags: list[str]) -> list[str]:
    return run(["docker", "image", "inspect", "-f", "{{.Id}}"] + tags).stdout.split()


def _store_volume(store: str, tags: list[str]) -> str:
    return f"{names.PREFIX}store-{store}-{base.inputs_hash(FORMAT, names.SUITE, *_image_ids(tags))[:12]}"


def _images(store: str) -> list[str]:
    if store not in STORES:
        raise MachineError(f"Found: engine store '{store}'. Wanted: one of {', '.join(STORES)}.")
    docker_host.ensure()
    return [ensure() for ensure in STORES[store]]


def _in_volumes(script: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess:
    """Run a shell script in a container that sees the folder of all volumes as /volumes."""
    root = run(["docker", "info", "-f", "{{.DockerRootDir}}"]).stdout.strip()
    return run(["docker", "run", "--rm", "--network", "none", "--label", names.OWNER_LABEL,
                # Overlayfs marks a replaced directory with an attribute that only SYS_ADMIN sees and may copy.
                "--cap-add", "SYS_ADMIN",
                "--volume", f"{root}/volumes:/volumes", base.ensure(), "sh", "-c", script, "sh", *arguments], check=check)


def prepare(store: str) -> str:
    """The volume of a store, complete. Builds the images and the store where they are missing or old."""
    tags = _images(store)
    volume = _store_volume(store, tags)
    if _complete(volume):
        return volume
    with lock(volume):
        if not _complete(volume):
            _prepare(store, volume, tags)
    return volume


def _complete(volume: str) -> bool:
    if run(["docker", "volume", "inspect", volume], check=False).returncode != 0:
        return False
    return _in_volumes('test -e "/volumes/$1/_data/.complete"', volume, check=False).returncode == 0


def _prepare(store: str, volume: str, tags: list[str]) -> None:
    started = time.monotonic()
    say(f"Preparing the engine store '{store}' ({', '.join(tags)})")
    for old in _volumes(store):
        # A clone holds links of its own, so an old store can go at once, as can a half-made one.
        run(["docker", "volume", "rm", old], check=False)
    run(["docker", "volume", "create", "--label", names.OWNER_LABEL, "--label", f"{names.CACHE_LABEL}={store}", volume])
    image.ensure(names.DOCKER_IMAGE)
    name = f"store-{store}-{os.getpid()}"
    container = names.container_name(name)
    try:
        server.up(server.Wanted(name=name, image=names.DOCKER_IMAGE, docker_volume=volume))
        run(["docker", "exec", container, "systemctl", "start", "docker"])
        say("  loading the image into a server's Docker")
        _load(container, tags)
        # Cleanly: databases closed, layers unmounted.
        run(["docker", "exec", container, "systemctl", "stop", "docker.socket", "docker.service", "containerd.service"])
    finally:
        server.down(name)
    _in_volumes('touch "/volumes/$1/_data/.complete"', volume)
    say(f"Prepared the engine store '{store}' in {time.monotonic() - started:.0f} s")


def _load(container: str, tags: list[str]) -> None:
    save = subprocess.Popen(["docker", "save"] + tags, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    load = subprocess.run(["docker", "exec", "-i", container, "docker", "load", "--quiet"], stdin=save.stdout, capture_output=True,
                          text=True, check=False)
    save.stdout.close()
    if save.wait() != 0 or load.returncode != 0:
        raise MachineError(f"Could not load {', '.join(tags)} into {container}: {load.stderr.strip() or 'docker save failed'}")


def _volumes(store: str = "") -> list[str]:
    label = names.CACHE_LABEL + (f"={store}" if store else "")
    found = run(["docker", "volume", "ls", "-q", "--filter", f"label={label}"]).stdout.split()
    return [volume for volume in found if volume.startswith(f"{names.PREFIX}store-")]


def clone(store: str, volume: str, labels: tuple[str, ...] = ()) -> None:
    """Make ``volume`` as a clone of the store. MachineError when there is a volume of this name already."""
    if run(["docker", "volume", "inspect", volume], check=False).returncode == 0:
        raise MachineError(f"Found: a volume {volume}. Wanted: none of this name; `docker volume rm {volume}` removes it.")
    golden = _store_volume(store, _images(store))
    command = ["docker", "volume", "create", "--label", names.OWNER_LABEL]
    for label in labels:
        command += ["--label", label]
    run(command + [volume])
    done = _in_volumes(CLONE_SCRIPT, golden, volume, check=False)
    if done.returncode == MISSING:
        prepare(store)
        done = _in_volumes(CLONE_SCRIPT, golden, volume, check=False)
    if done.returncode != 0:
        run(["docker", "volume", "rm", volume], check=False)
        raise MachineError(f"Could not clone the engine store '{store}': {done.stderr.strip()}")


def volume_for_server(name: str, store: str) -> str:
    """A fresh clone as the /var/lib/docker of the server ``name``; goes when the server goes. Returns the volume's name."""
    volume = names.docker_volume_name(name)
    # Left over from a server of this name that was removed by hand; in use, it stays and clone() says so.
    run(["docker", "volume", "rm", volume], check=False)
    clone(store, volume, (f"{names.SERVER_LABEL}={names.short_name(names.container_name(name))}",))
    return volume


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="engine_store.py", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare", help="make the store unless it is there").add_argument("store", choices=STORES)
    cloning = commands.add_parser("clone", help="a new volume for one server")
    cloning.add_argument("store", choices=STORES)
    cloning.add_argument("volume")
    commands.add_parser("list", help="the prepared stores")
    commands.add_parser("remove", help="remove all prepared stores; servers keep what they have")
    options = parser.parse_args(arguments)
    try:
        if options.command == "prepare":
            print(prepare(options.store))
        elif options.command == "clone":
            started = time.monotonic()
            clone(options.store, options.volume)
            say(f"{options.volume}: cloned in {time.monotonic() - started:.1f} s")
        else:
            for volume in _volumes():
                if options.command == "remove":
                    run(["docker", "volume", "rm", volume])
                print(volume)
    except MachineError as error:
        say(f"engine_store.py: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
