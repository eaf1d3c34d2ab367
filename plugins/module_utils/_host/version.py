# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which host program this is."""

from __future__ import annotations

import hashlib
import os

VERSION = "1.0.0"


def digest(files):
    """Hash (12 hex digits) over {file name: bytes}: tells two builds of one version apart."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(name.encode("utf-8") + b"\0" + hashlib.sha256(files[name]).digest())
    return total.hexdigest()[:12]


def installed():
    """Digest of the package this file was loaded from."""
    folder = os.path.dirname(os.path.abspath(__file__))
    files = {}
    for name in os.listdir(folder):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as handle:
                files[name] = handle.read()
    return digest(files)
