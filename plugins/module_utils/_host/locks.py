# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One lock per device: engines that share one load one after the other.

The kernel frees a lock with its holder, so a killed inferctl never blocks the others.
"""

from __future__ import annotations

import fcntl
import os

from . import paths


class DeviceLocks:
    """The locks of some devices, taken in sorted order so that two engines with several devices cannot block each other."""

    def __init__(self, devices, folder=paths.LOCKS):
        self._wanted = sorted(set(devices))
        self._folder = folder
        self._held = []

    def missing(self):
        """Device whose lock is to be taken next, None when all are held."""
        return self._wanted[len(self._held)] if len(self._held) < len(self._wanted) else None

    def advance(self):
        """Take as many locks as are free now, without waiting. True when all are held."""
        while self.missing() is not None:
            fd = self._take(paths.device_lock(self.missing(), self._folder))
            if fd is None:
                return False
            self._held.append(fd)
        return True

    def release(self):
        """Let go of everything."""
        while self._held:
            os.close(self._held.pop())

    def _take(self, path):
        os.makedirs(self._folder, mode=0o755, exist_ok=True)
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # a lock on a file that lost its name would exclude nobody
            if os.fstat(fd).st_ino == os.stat(path).st_ino:
                return fd
        except (BlockingIOError, FileNotFoundError):
            pass
        os.close(fd)
        return None
