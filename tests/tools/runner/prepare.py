"""What stages stand on: control environments, Docker, server images and engine stores. Each is timed for the table."""
from __future__ import annotations

import re
import time
from typing import Callable, TypeVar

from servers import docker_host, image, names
from servers.shell import say

from . import environment, places, pythons
from .report import DONE, Result
from .stage import Stage

Value = TypeVar("Value")


def timed(results: list[Result], name: str, action: Callable[[], Value]) -> Value:
    began = time.monotonic()
    value = action()
    results.append(Result(name, DONE, time.monotonic() - began))
    return value


def environments(stages: list[Stage], results: list[Result]) -> tuple[environment.Environment, environment.Environment | None, str]:
    """The environment of this interpreter; one for the other ansible-core or None; and which Python that one needs."""
    first = timed(results, "environment", lambda: environment.current().prepare())
    say(f"Python {first.python_version}, ansible-core {first.core_version()}: runs everything")
    if not any(stage.second_core for stage in stages):
        return first, None, ""
    path, wanted = pythons.second()
    if path is None:
        say(f"No {wanted} found: unit, sanity and syntax do not run on the other ansible-core")
        return first, None, wanted
    second = timed(results, "environment-second", lambda: environment.Environment(path).prepare())
    say(f"Python {second.python_version}, ansible-core {second.core_version()}: runs unit, sanity and syntax")
    return first, second, wanted


def machines(stages: list[Stage], results: list[Result]) -> None:
    """Docker, both server images, and the engine stores that the scenarios among these stages ask for."""
    timed(results, "docker", docker_host.ensure)
    timed(results, "server-images", lambda: image.ensure(names.DOCKER_IMAGE))
    for store in sorted({store for stage in stages for store in engine_stores(stage.name)}):
        timed(results, f"engine-store-{store}", lambda store=store: _prepare_store(store))


def engine_stores(stage_name: str) -> list[str]:
    """The values of engine_store in the scenario of the stage ``molecule-SCENARIO``; nothing for other stages."""
    path = places.ROOT / "molecule" / stage_name.removeprefix("molecule-") / "molecule.yml"
    if not stage_name.startswith("molecule-") or not path.exists():
        return []
    found = re.findall(r"^\s*(?:- )?engine_store: (\w+)\s*$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [store for store in found if store != "none"]


def _prepare_store(store: str) -> None:
    import engine_store  # pylint: disable=import-outside-toplevel  # only where a scenario needs an engine

    engine_store.prepare(store)
