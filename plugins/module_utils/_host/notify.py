# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The service manager's notification protocol (sd_notify), without a library."""

from __future__ import annotations

import os
import socket


def encode(fields):
    """{"READY": 1, "STATUS": "ready"} -> b"READY=1\\nSTATUS=ready". Newlines inside a value would start a new field."""
    return "\n".join("%s=%s" % (name, str(value).replace("\n", " ")) for name, value in fields.items()).encode("utf-8")


class Notifier:
    """Sends to $NOTIFY_SOCKET; silent when there is none (run by hand) or when it cannot be reached."""

    def __init__(self, address=None):
        self.address = os.environ.get("NOTIFY_SOCKET") if address is None else address

    def send(self, **fields):
        """Send the fields in one message."""
        if not self.address:
            return
        address = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.connect(address)
                sock.send(encode(fields))
        except OSError:
            pass

    def ready(self, status):
        """Tell that the engine answers."""
        self.send(READY=1, STATUS=status)

    def status(self, text, seconds):
        """Show what is going on and ask for this many seconds more before start, stop or watchdog time out."""
        self.send(STATUS=text, EXTEND_TIMEOUT_USEC=int(seconds * 1000000))

    def watchdog(self):
        """Tell that the loop of inferctl lives; says nothing about the engine."""
        self.send(WATCHDOG=1)

    def stopping(self, status):
        """Tell that the stop began."""
        self.send(STOPPING=1, STATUS=status)
