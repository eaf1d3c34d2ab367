"""Names that the tests, the demo and the tools share, in one place."""
from __future__ import annotations

import os
import pathlib

OWNER_LABEL = "owner=indiaai-test"
SERVER_LABEL = "indiaai-test.server"  # the server that a volume belongs to; the volume goes when the server goes
CACHE_LABEL = "indiaai-test.cache"  # a volume that outlives servers on purpose (a prepared engine image)
INPUTS_LABEL = "indiaai-test.inputs"  # hash of what an image was built from

NETWORK = "indiaai-test"
PREFIX = "indiaai-"

BARE_IMAGE = "indiaai-test/server:12"
DOCKER_IMAGE = "indiaai-test/server-docker:12"
SUITE = "bookworm"


def container_name(name: str) -> str:
    """``node1`` and ``indiaai-node1`` both mean the container ``indiaai-node1``."""
    return name if name.startswith(PREFIX) else PREFIX + name


def short_name(container: str) -> str:
    return container[len(PREFIX):] if container.startswith(PREFIX) else container


def server_label(name: str) -> str:
    """The label of everything that belongs to one server; both forms of its name give the same."""
    return f"{SERVER_LABEL}={short_name(container_name(name))}"


def docker_volume_name(name: str) -> str:
    return container_name(name) + "-docker"


def cache_dir() -> pathlib.Path:
    """The folder for everything that a fresh clone should find again; made when missing."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    path = pathlib.Path(base, "indiaai-inference")
    path.mkdir(parents=True, exist_ok=True)
    return path
