"""Command line of the runner."""
from __future__ import annotations

import shutil
import time

from servers import docker_host, names, server
from servers.shell import MachineError, run, say

from . import environment, places, plan, prepare
from .report import FAILED, Result, table
from .schedule import Schedule


def main(arguments: list[str]) -> int:
    try:
        if arguments[:1] == ["--exec"]:
            return environment.execute(arguments[1:])
        if arguments == ["env"]:
            return _env()
        if arguments == ["clean"]:
            return _clean()
        if arguments == ["distclean"]:
            return _distclean()
        return _stages(arguments)
    except MachineError as error:
        say(str(error))
        return 1


def _stages(words: list[str]) -> int:
    if not words:
        raise MachineError("Found: no stage. Wanted: one or more, see `make help`.")
    stages = plan.chosen(words)
    began = time.monotonic()
    prepared: list[Result] = []
    first, second, wanted = prepare.environments(stages, prepared)
    results = Schedule(first, second, wanted).run(stages, prepared)
    print(table(prepared + results, time.monotonic() - began), flush=True)
    return 1 if any(result.outcome == FAILED for result in results) else 0


def _env() -> int:
    made = environment.current().prepare()
    print(f"Python {made.python_version}, ansible-core {made.core_version()}, in {made.venv}\n"
          f"One command in it:   tests/tools/in-env.sh ansible-doc -l indiaai.inference\n"
          f"A shell:             tests/tools/in-env.sh bash")
    return 0


def _clean() -> int:
    """What tests of this checkout left: its servers, its copies and logs. Other checkouts, the demo and caches stay."""
    if docker_host.ready():
        ours = [found["name"] for found in server.servers() if found["name"].endswith(f"-{places.CHECKOUT_ID}")]
        for name in ours:
            server.down(name)
        say("removed: " + (", ".join(ours) or "no servers were there"))
    shutil.rmtree(places.checkout_cache(), ignore_errors=True)
    for name in (".ansible", ".pytest_cache", ".hypothesis", "tests/output", "reports"):
        shutil.rmtree(places.ROOT / name, ignore_errors=True)
    return 0


def _distclean() -> int:
    """Everything that any checkout and the demo made on this machine, except packages."""
    if docker_host.ready():
        say("removed: " + (", ".join(server.down_all()) or "no servers were there"))
        label = ["--filter", f"label={names.OWNER_LABEL}"]
        for volume in run(["docker", "volume", "ls", "-q"] + label).stdout.split():
            run(["docker", "volume", "rm", volume], check=False)
        for found in sorted(set(run(["docker", "image", "ls", "-q"] + label).stdout.split())):
            run(["docker", "image", "rm", "--force", found], check=False)
        run(["docker", "network", "rm", names.NETWORK], check=False)
    shutil.rmtree(names.cache_dir(), ignore_errors=True)
    return 0
