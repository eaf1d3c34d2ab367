"""Talking to qemu's monitor."""
from __future__ import annotations

import json
import os
import pathlib
import socket

from servers.shell import MachineError


def monitor(folder: pathlib.Path, line: str, seconds: float = 60) -> str:
    """Run one line of the human monitor and return what it says; MachineError where that is a complaint.

    folder: of the guest, with qmp.sock in it. Its path may be longer than a socket's may, so it is entered by descriptor.
    """
    descriptor = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(seconds)
            link.connect(f"/proc/self/fd/{descriptor}/qmp.sock")
            with link.makefile("rw", encoding="utf-8") as stream:
                json.loads(stream.readline())  # the greeting
                _ask(stream, "qmp_capabilities")
                said = _ask(stream, "human-monitor-command", **{"command-line": line})
    except (OSError, ValueError) as error:
        raise MachineError(f"qemu's monitor did not answer to '{line}': {error}") from error
    finally:
        os.close(descriptor)
    if said.strip():
        raise MachineError(f"qemu's monitor says to '{line}': {said.strip()}")
    return said


def _ask(stream, command: str, **arguments):
    stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
    stream.flush()
    while True:
        answer = json.loads(stream.readline())
        if "return" in answer:
            return answer["return"]
        if "error" in answer:
            raise ValueError(answer["error"].get("desc", str(answer["error"])))
