# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the image of the stub engine unless it is there already; prints its tag."""
from __future__ import annotations

import io
import os
import pathlib
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from engine_image import base  # noqa: E402
from servers import names  # noqa: E402
from servers.shell import MachineError, run, say  # noqa: E402

TAG = "indiaai-test/stub-engine:1"
ENTRYPOINT = 'ENTRYPOINT ["python3", "/opt/stub/stub_engine"]'
NOT_IN_IMAGE = {"build.py", "running.py"}
# An engine profile made for vLLM starts its containers with `python3 -m vllm.entrypoints.openai.api_server`, whatever the
# image's own entrypoint is. Under this name the image holds nothing but the start of the stub.
MODULE = "opt/stub/vllm/entrypoints/openai/api_server.py"
MODULE_TEXT = """import sys

from stub_engine.server import main

sys.exit(main(sys.argv[1:]))
"""
ENVIRONMENT = ("ENV PYTHONDONTWRITEBYTECODE=1", "ENV PYTHONPATH=/opt/stub")


def sources() -> list[pathlib.Path]:
    """The files that make up the stub, without what only the control machine needs."""
    return sorted(path for path in HERE.glob("*.py") if path.name not in NOT_IN_IMAGE)


def image_hash() -> str:
    return base.inputs_hash(base.base_hash(), ENTRYPOINT, *ENVIRONMENT, MODULE, MODULE_TEXT, *sources())


def ensure() -> str:
    """The tag of the stub's image, which exists afterwards."""
    base.build_once(TAG, image_hash(), _build)
    return TAG


def _archive() -> bytes:
    """A tar archive to unpack at /: /opt/stub."""
    files = {f"opt/stub/stub_engine/{path.name}": path.read_bytes() for path in sources()}
    files[MODULE] = MODULE_TEXT.encode()
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), 0o644
            archive.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()


def _build() -> None:
    container = f"{names.PREFIX}stub-image-{os.getpid()}"
    try:
        run(["docker", "create", "--name", container, "--label", names.OWNER_LABEL, "--network", "none", base.ensure()])
        copied = subprocess.run(["docker", "cp", "-", f"{container}:/"], input=_archive(), capture_output=True, check=False)
        if copied.returncode != 0:
            raise MachineError(f"Could not copy the stub into {container}: {copied.stderr.decode().strip()}")
        run(["docker", "commit"] + base.changes(image_hash(), *ENVIRONMENT, ENTRYPOINT, "CMD []") + [container, TAG])
    finally:
        run(["docker", "rm", "-fv", container], check=False)


def main() -> int:
    try:
        print(ensure())
    except MachineError as error:
        say(f"stub engine image: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
