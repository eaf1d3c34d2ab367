"""Runs stages two at a time, those that need the machine for themselves one at a time, and reports as it goes."""
from __future__ import annotations

import concurrent.futures
import pathlib
import re
import signal
import threading
import time

from servers.shell import MachineError

from . import environment, places, prepare
from .report import ABSENT, FAILED, PASSED, SKIPPED, Result
from .stage import Run, Stage, StageFailed, StageSkipped

AT_ONCE = 2  # a scenario keeps about one core busy; more at once only makes each slower
TAIL_LINES = 60
FINDING_LINES = 60
FINDING = re.compile(r"(ERROR|FATAL|FAILED|\[ERROR\]|fatal|E  )")


class Schedule:
    """One run of some stages."""

    def __init__(self, first: environment.Environment, second: environment.Environment | None, second_wanted: str) -> None:
        self.first, self.second, self.second_wanted = first, second, second_wanted
        self.stopping = threading.Event()
        self.started = time.monotonic()
        self.machines: concurrent.futures.Future | None = None

    def say(self, text: str) -> None:
        elapsed = int(time.monotonic() - self.started)
        print(f"[{elapsed // 60:02d}:{elapsed % 60:02d}] {text}", flush=True)

    def run(self, stages: list[Stage], prepared: list[Result]) -> list[Result]:
        """Results in the order of the stages. Servers are prepared beside the stages that need none; times go to ``prepared``."""
        with_servers = [stage for stage in stages if stage.servers and not stage.absent()]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            previous = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
            try:
                if with_servers:
                    self.machines = pool.submit(prepare.machines, with_servers, prepared)
                results = {stage.name: pool.submit(self._one, stage) for stage in stages if not stage.alone}
                concurrent.futures.wait(results.values())
                done = {name: future.result() for name, future in results.items()}
                done |= {stage.name: self._one(stage) for stage in stages if stage.alone}
            finally:
                for number, handler in previous.items():
                    signal.signal(number, handler)
        return [done[stage.name] for stage in stages]

    def _stop(self, number, _frame) -> None:
        self.say(f"Stopping ({signal.Signals(number).name}): ending what runs")
        self.stopping.set()

    def _one(self, stage: Stage) -> Result:
        if self.stopping.is_set():
            return Result(stage.name, SKIPPED, note="run was stopped")
        if stage.absent():
            return Result(stage.name, ABSENT, note=f"no {stage.needs}")
        env = self.second if stage.second_core else self.first
        if env is None:
            return Result(stage.name, SKIPPED, note=f"no {self.second_wanted} found for the other ansible-core")
        if stage.servers and self.machines is not None and self.machines.exception() is not None:
            self.say(f"failed  {stage.name}: {self.machines.exception()}")
            return Result(stage.name, FAILED, note="servers could not be prepared, see above")
        path = places.logs() / f"{stage.name}.log"
        self.say(f"start   {stage.name}")
        began = time.monotonic()
        outcome, note = self._outcome(stage, env, path)
        result = Result(stage.name, outcome, time.monotonic() - began, note or f"ansible-core {env.core_version()}")
        self.say(f"{outcome:<7} {stage.name} in {result.seconds:.1f} s" + (f": {note}" if note else ""))
        if outcome == FAILED:
            print(_excerpt(path), flush=True)
        return result

    def _outcome(self, stage: Stage, env: environment.Environment, path: pathlib.Path) -> tuple[str, str]:
        with open(path, "w", encoding="utf-8") as log:
            run = Run(stage, env, log, time.monotonic() + stage.seconds, self.stopping)
            try:
                stage.action(run)
                return PASSED, ""
            except StageSkipped as reason:
                return SKIPPED, str(reason)
            except (StageFailed, MachineError) as reason:
                log.write(f"\n{reason}\n")
                return FAILED, str(reason).splitlines()[0]
            except Exception as error:  # pylint: disable=broad-except  # a bug in a stage must not take the others down
                log.write(f"\n{error!r}\n")
                return FAILED, repr(error)


def _excerpt(path: pathlib.Path) -> str:
    """The end of a log, and before it the lines further up that look like findings."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    above, tail = lines[:-TAIL_LINES], lines[-TAIL_LINES:]
    findings = [line for line in above if FINDING.match(line)][:FINDING_LINES]
    shown = "\n".join(f"    | {line}" for line in findings + (["..."] if findings else []) + tail)
    return f"    the end of {path}:\n{shown}"
