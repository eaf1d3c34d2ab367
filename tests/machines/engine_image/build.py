# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the engine image, vLLM's CPU build on Debian 12, unless it is there already; prints its tag.

The wheels come first (see wheels.py for where from and for DEMO_WHEELHOUSE and DEMO_PIP_INDEX): without them nothing
else is started. The image is made in a container without a network and committed.
"""
from __future__ import annotations

import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from engine_image import base, wheels  # noqa: E402
from servers import names  # noqa: E402
from servers.shell import MachineError, run, say  # noqa: E402

TAG = "indiaai-test/vllm-cpu:0.32.0"

# What suits a small model on few cores; a container may set any of them otherwise.
ENVIRONMENT = {
    "PATH": "/opt/vllm/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "VLLM_CACHE_ROOT": "/opt/vllm/cache",
    # One worker needs no process of its own: saves an import of everything (10 s) and the shared memory between the two.
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    # One thread computes, the other core serves HTTP: faster than two threads at every number of users measured.
    "OMP_NUM_THREADS": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
}
ENTRYPOINT = 'ENTRYPOINT ["python3", "-m", "vllm.entrypoints.openai.api_server"]'


def image_hash() -> str:
    return base.inputs_hash(base.base_hash(), *wheels.pins(), HERE / "install.sh", ENTRYPOINT, repr(sorted(ENVIRONMENT.items())))


def ensure() -> str:
    """The tag of the engine image, which exists afterwards. MachineError when it cannot be built here."""
    base.build_once(TAG, image_hash(), _build)
    return TAG


def _refuse_what_cannot_work() -> None:
    if platform.machine() != "x86_64":
        raise MachineError(f"Found: a {platform.machine()} machine. Wanted: x86_64, which {wheels.CONSTRAINTS.name} is made for.")
    flags = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    if " avx2 " not in flags:
        raise MachineError("Found: a processor without AVX2. Wanted: AVX2 or AVX-512, which vLLM's CPU build is compiled for.")


def _build() -> None:
    _refuse_what_cannot_work()
    folder = wheels.ensure()
    base.ensure()
    container = f"{names.PREFIX}engine-image-{os.getpid()}"
    environment = [f"{key}={value}" for key, value in ENVIRONMENT.items()]
    try:
        run(["docker", "create", "--name", container, "--label", names.OWNER_LABEL, "--network", "none", "--volume", f"{folder}:/wheels:ro"]
            + [word for item in environment for word in ("--env", item)] + [base.TAG, "bash", "/tmp/install.sh"])
        for path in (HERE / "install.sh", wheels.CONSTRAINTS):
            run(["docker", "cp", str(path), f"{container}:/tmp/"])
        # Its progress goes to the terminal, hence not through run().
        if subprocess.run(["docker", "start", "--attach", container], stdin=subprocess.DEVNULL, check=False).returncode != 0:
            raise MachineError(f"Installing vLLM from {folder} failed; the reason stands above.")
        say("  committing the image")
        run(["docker", "commit"] + base.changes(image_hash(), *(f"ENV {item}" for item in environment), ENTRYPOINT, "CMD []")
            + [container, TAG])
    finally:
        run(["docker", "rm", "-fv", container], check=False)


def main() -> int:
    try:
        print(ensure())
    except MachineError as error:
        say(f"engine image: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
