# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Write files so that a power cut leaves the old or the new content, never half of it."""

from __future__ import annotations

import os
import tempfile


def fsync_directory(path):
    """Make a rename or a new name inside path durable. OSError from the system."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write(path, data, mode=0o644, uid=None, gid=None):
    """Replace path by data (bytes or str), with exactly this mode and, when given, owner.

    The file has its final mode and owner before it gets its name, so a secret is never readable for a moment.
    OSError from the system; the temporary file does not survive an error.
    """
    if isinstance(data, str):
        data = data.encode("utf-8")
    folder = os.path.dirname(path) or "."
    fd, temporary = tempfile.mkstemp(prefix=".%s." % os.path.basename(path), dir=folder)
    try:
        with os.fdopen(fd, "wb") as handle:
            if uid is not None or gid is not None:
                os.fchown(handle.fileno(), -1 if uid is None else uid, -1 if gid is None else gid)
            os.fchmod(handle.fileno(), mode)
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except FileNotFoundError:
            pass
        raise
    fsync_directory(folder)


def symlink(path, target):
    """Replace path by a symbolic link to target."""
    folder = os.path.dirname(path) or "."
    temporary = os.path.join(folder, ".%s.%d.link" % (os.path.basename(path), os.getpid()))
    os.symlink(target, temporary)
    try:
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    fsync_directory(folder)
