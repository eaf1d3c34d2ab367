# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""inferctl gpu-init: at boot, load the driver, wait for the GPUs, and set what the role gpu_clocks was told to.

All retrying is done in here. If the unit were left to fail and to be started again, the units ordered after it would be
released by its first failure and would not be held back again.
"""

from __future__ import annotations

import subprocess

from . import gpu_bus
from . import gpu_clocks
from . import gpu_record
from . import journal
from . import nvml
from . import process
from . import system as system_module

OK, FAILURE, UNAVAILABLE, CONFIG = 0, 1, 69, 78

ROLE = "gpu_clocks"
DAEMON = "nvidia-persistenced.service"
_PAUSE = 2.0  # seconds between two looks
_LOAD_AGAIN = 10.0  # seconds between two tries to load the driver


class Commands:
    """Programs of the host. Whether they succeed shows in whether NVML answers, so failures are not looked at."""

    @staticmethod
    def run(*argv):
        """Run one program; that it is missing, fails or hangs (60 s) is no error here."""
        try:
            # Used where there is no AnsibleModule, so not through run_command().
            subprocess.run(  # pylint: disable=ansible-bad-function
                list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            pass

    def load_driver(self, gpus):
        """Load the kernel modules and make the device nodes of so many GPUs."""
        self.run("modprobe", "nvidia")
        self.run("modprobe", "nvidia_uvm")
        self.run("nvidia-modprobe", "-u", *["-c=%d" % number for number in range(max(gpus, 1))])

    def start_daemon(self):
        """nvidia-persistenced gives up at boot when there are no device nodes yet, so it is started when there are."""
        try:
            unit = system_module.System().unit(DAEMON)
        except system_module.SystemFailure:
            return
        if unit["exists"] and unit["active"] not in ("active", "activating", "reloading"):
            self.run("systemctl", "start", DAEMON)


class Boot:
    """One run. say: where lines go; the rest stands for the host and is replaced in tests."""

    def __init__(self, say, clock=None, commands=None, library=None, on_bus=gpu_bus.count, record=None, book=None):
        self.say = say
        self.clock = clock or process.Clock()
        self.commands = commands or Commands()
        self.library = library or nvml.Library
        self.on_bus = on_bus
        self.record = record or gpu_record.Record()
        self.book = book or journal.Journal()

    def run(self, settings, wait=None):
        """-> exit code: 0 done, or no GPU here; 69 driver missing; 1 a GPU is missing or refused; 78 wrong settings."""
        if settings is None:
            self.say("gpu-init: nothing to do, no settings")
            return OK
        expected = max(settings["expected_gpus"], self.on_bus() or 0)
        library, problem = self._open(expected, settings["wait_seconds"] if wait is None else wait)
        if library is None:
            state, reason = gpu_bus.why_not(problem, self.on_bus(), settings["expected_gpus"], gpu_bus.driver_loaded())
            self.say("gpu-init: %s: %s" % ("nothing to do" if state == "no_gpu" else state, reason))
            return OK if state == "no_gpu" else UNAVAILABLE
        with library:
            if settings["persistence"]:
                self.commands.start_daemon()
            code = self._apply(library, settings)
            if library.count() < expected:
                self.say("gpu-init: %d of %d GPUs are here" % (library.count(), expected))
                return code or FAILURE
            return code

    def _open(self, expected, wait):
        """Wait for the driver and all GPUs -> (Library, None) or (None, NvmlError). Some GPUs are better than none."""
        begin = self.clock.now()
        loaded, told = None, ""
        while True:
            now = self.clock.now()
            if expected and (loaded is None or now - loaded >= _LOAD_AGAIN):
                self.commands.load_driver(expected)
                loaded = now
            library = problem = None
            try:
                library = self.library()
                found = library.count()
                text = "%d of %d GPUs are here" % (found, expected)
            except nvml.NvmlError as exc:
                if library is not None:
                    library.close()
                library, problem, found, text = None, exc, -1, str(exc)
            done = found >= expected or not expected or (problem and problem.code in (nvml.VERSION_MISMATCH, nvml.NO_PERMISSION))
            if done or self.clock.now() - begin >= wait:
                if told:
                    self.say("gpu-init: waited %d s" % (self.clock.now() - begin))
                return library, problem
            if library is not None:
                library.close()
            if text != told:
                told = text
                self.say("gpu-init: waiting up to %d s: %s" % (wait, text))
            self.clock.sleep(_PAUSE)

    def _apply(self, library, settings):
        try:
            rows, notes = gpu_clocks.prepare(settings, gpu_clocks.survey(library), self.record)
        except gpu_clocks.Refused as exc:
            for text in exc.problems:
                self.say("gpu-init: refused, nothing was set: %s" % text)
            return CONFIG
        gpu_clocks.await_daemon(rows, self.clock)
        items = gpu_clocks.journal_items(rows)
        if items:
            try:
                self.book.record(ROLE, items)
            except journal.JournalError as exc:
                self.say("gpu-init: nothing was set: %s" % exc)
                return FAILURE
        gpu_clocks.apply(rows, self.record, self.clock)
        for note in notes:
            self.say("gpu-init: %s" % note)
        code = OK
        for result in gpu_clocks.results(rows, settings, self.record, False):
            self.say("gpu-init: GPU %s %s: %s%s%s" % (
                result["index"], result["name"] or "", result["state"],
                ", " + ", ".join(result["actions"]) if result["actions"] else "", "; " + result["reason"] if result["reason"] else ""))
            if result["state"] in ("failed", "lost", "needs_reset", "unknown"):
                code = FAILURE
        return code
