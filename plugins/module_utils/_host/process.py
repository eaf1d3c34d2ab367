# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The first process of a container, watched without the Docker daemon, and the end of this process on a signal."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time


class Clock:
    """Seconds since boot, which no change of the wall clock moves, and sleeping."""

    def now(self):
        """Seconds since boot, suspended time included."""
        return time.clock_gettime(time.CLOCK_BOOTTIME)

    def wall(self):
        """Seconds since 1970."""
        return time.time()

    def utc(self):
        """The present time as text, e.g. 2026-01-31T12:00:00Z."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.wall()))

    def sleep(self, seconds):
        """Wait; a signal handler may end it by an exception."""
        time.sleep(seconds)


class PidHandle:
    """A handle on one process: tells its end at once, survives a restart of the daemon, cannot be fooled by a reused pid."""

    def __init__(self, fd):
        self._fd = fd

    def ended(self, timeout):
        """Wait at most timeout seconds -> True when the process is gone."""
        return bool(select.select([self._fd], [], [], timeout)[0])


def open_handle(inspected, inspect_again):
    """PidHandle on the container's first process, None when it ended meanwhile.

    inspect_again: called without arguments, gives a fresh inspection; only needed where the cgroup does not carry the id.
    OSError (ENOSYS) on a kernel older than 5.3.
    """
    pid = inspected["State"].get("Pid") or 0
    if pid <= 0:
        return None
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    try:
        with open("/proc/%d/cgroup" % pid, encoding="utf-8") as handle:
            if inspected["Id"] in handle.read():
                return PidHandle(fd)
    except OSError:
        os.close(fd)
        return None
    again = inspect_again()
    if again and again["State"].get("Running") and again["State"].get("Pid") == pid:
        return PidHandle(fd)
    os.close(fd)
    return None


class Stop(BaseException):
    """A polite stop was asked for. Not an Exception: no handler of errors may swallow it."""


class Termination:
    """Turns the first SIGTERM or SIGINT into Stop, wherever the program is; later ones are ignored.

    Inside shield() the stop is put off to the end of the block, for calls that must not be cut in half.
    """

    def __init__(self):
        self._requested = False
        self._shields = 0

    def install(self):
        """Take over the signals."""
        signal.signal(signal.SIGTERM, self.handle)
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, signum=None, frame=None):
        """The signal handler."""
        if self._requested:
            return
        self._requested = True
        if not self._shields:
            raise Stop

    @contextlib.contextmanager
    def shield(self):
        """No Stop inside the block; it is raised at its end when one was asked for meanwhile."""
        before = self._requested
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
            if self._requested and not before and not self._shields:
                raise Stop
