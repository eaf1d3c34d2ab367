# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Start, watch and stop the container of one engine as the main process of a systemd service.

Phases: adopt what runs and is healthy, else back-off, device locks, siblings that still load, create or start, await
ready; then watch; on SIGTERM drain and stop. systemd owns the order of things, the restart budget and the journal.
Everything that touches the world comes in by the constructor, so tests drive it with a false clock and a false Docker.
"""

from __future__ import annotations

from . import backoff
from . import console
from . import container
from . import docker_api
from . import health
from . import last_words
from . import process
from . import spec as spec_module
from . import ulimits

_POLL = 1  # seconds between two looks
_EXTEND = 30  # seconds asked for beyond what a step is expected to take
_DOCKER_PATIENCE = 600
_STOP_PATIENCE = 60
_LOG_LINES = 50


class EngineFailure(Exception):
    """The engine is not running as it should; systemd is to try again. Text: the reason."""


class ConfigFailure(Exception):
    """Trying again cannot help; somebody has to change something. Text: what."""


class Supervisor:
    """One engine.

    spec: complete specification. docker: DockerApi. http: EngineHttp. notify: Notifier. state: StateFile. locks: DeviceLocks.
    clock: Clock. open_handle: like process.open_handle. probe: (address, port) -> EngineHttp without a key. log: one line -> None.
    bounds: like ulimits.bounds.
    """

    def __init__(self, spec, docker, http, notify, state, locks, termination, clock=None, open_handle=None, probe=None, log=None,
                 bounds=None):
        self.spec = spec
        self.name = spec["container"]
        self.config = spec_module.config_hash(spec)
        self.digest = spec_module.digest(spec)
        self.docker = docker
        self.http = http
        self.notify = notify
        self.state = state
        self.locks = locks
        self.termination = termination
        self.clock = clock or process.Clock()
        self.open_handle = open_handle or process.open_handle
        self.probe = probe or health.EngineHttp
        self.log = log or console.say
        self.bounds = bounds or ulimits.bounds
        self._was_ready = False

    # ---- the whole life -------------------------------------------------------------------------------------------

    def run(self):
        """Until the engine ends (EngineFailure), cannot be started by anybody (ConfigFailure), or a stop was asked for (returns)."""
        try:
            handle = self.adopt()
            if handle is None:
                handle = self.start()
            self.watch(handle)
        except process.Stop:
            self.drain_and_stop()

    def adopt(self):
        """Take over a container that runs already, if it is healthy -> handle, else None with nothing running."""
        found = self._inspect()
        if not container.is_running(found):
            return None
        limit, was_ready = container.adoption_limit(
            found, self.state.read()["ready"], self.spec["readiness"]["load_seconds"], self.spec["liveness"]["hang_seconds"], self._age(found)
        )
        self.log("found the container running since %s, %s" % (found["State"]["StartedAt"], "was ready" if was_ready else "may still load"))
        # one that served before may have a queue of real requests: there a request of ours would prove nothing
        handle, reason = self._await_ready(found, limit, with_request=not was_ready)
        if reason is None:
            if not container.is_current(found, self.spec):
                self.log("warning: it runs an older configuration; restart the unit to apply the present one")
            self._ready(found, "adopted")
            return handle
        self.log("not adopted: %s" % reason)
        self._stop_container()
        self._remember(reason, self._tail())
        return None

    def start(self):
        """Bring the engine up under the locks of its devices -> handle."""
        self._back_off()
        self._take_locks()
        self._await_siblings()
        self._start_container()
        found = self._inspect()
        if not container.is_running(found):
            self._fail(container.end_reason((found or {}).get("State") or {}))
        handle, reason = self._await_ready(found, self.spec["readiness"]["load_seconds"], with_request=True)
        if reason is not None:
            self._stop_container()
            self._fail(reason)
        self._ready(found, "ready")
        self.locks.release()
        return handle

    def watch(self, handle):
        """Until the container ends or hangs; always ends by EngineFailure or Stop."""
        hang = self.spec["liveness"]["hang_seconds"]
        interval = min(10, max(_POLL, hang / 12.0))
        timeout = min(10, max(2, hang / 4.0))
        good = self.clock.now()
        due, silent, mark = good + interval, False, None
        while not handle.ended(_POLL):
            self.notify.watchdog()  # this loop lives; a hung engine is judged here, not by systemd
            if self.clock.now() < due:
                continue
            answer = self.http.health(self.spec["readiness"]["health_path"], timeout)
            now = self.clock.now()
            if answer.ok:
                if silent:
                    self.log("healthy again")
                    self.notify.status("ready", _EXTEND)
                good, due, silent, mark = now, now + interval, False, None
                continue
            due = now + _POLL
            if not silent:
                silent = True
                self.log("health: %s" % answer.detail)
            self.notify.status("unhealthy for %d s: %s" % (now - good, answer.detail), _EXTEND)
            if now - good >= hang / 3.0:
                moved, mark = self._progress(mark)
                if moved:
                    good = now
            if now - good >= hang:
                reason = "hung: no healthy answer and no progress for %d s (%s)" % (now - good, answer.detail)
                self.log(reason)
                self._stop_container()
                self._fail(reason)
        self._fail(self._why_ended())

    def drain_and_stop(self):
        """Let running requests end, within drain_seconds, then stop the container; earlier failures are forgotten."""
        self.notify.stopping("stopping")
        if self._was_ready:
            self._drain()
        self._stop_container(_STOP_PATIENCE)
        self.state.stopped()
        self.log("stopped")

    # ---- steps ----------------------------------------------------------------------------------------------------

    def _back_off(self):
        wanted = self.spec["backoff"]
        remembered = self.state.read()
        # what failed under another specification says nothing about this one
        times = remembered["failures"] if remembered["spec"] == self.digest else []
        failures = backoff.recent(times, self.clock.now(), wanted["window_seconds"])
        seconds = backoff.delay(len(failures), wanted["base_seconds"], wanted["max_seconds"])
        if seconds:
            self.log("failures within %d s: %d; waiting %d s" % (wanted["window_seconds"], len(failures), seconds))
            end = self.clock.now() + seconds
            while self.clock.now() < end:
                left = end - self.clock.now()
                self._pause(min(10, left), "waiting %d s; failures so far: %d" % (left, len(failures)))

    def _take_locks(self):
        while not self.locks.advance():
            self._pause(_POLL, "waiting for the lock of device %s" % self.locks.missing())
        self.log("holds the lock of %s" % ", ".join(sorted(self.spec["devices"])))

    def _await_siblings(self):
        """Under the lock: a loading container whose inferctl was killed holds no lock any more, so look for it."""
        end = self.clock.now() + self.spec["readiness"]["load_seconds"]
        said = None
        while True:
            listed = self._docker(self.docker.containers, filters={"label": [container.ENGINE]})
            busy = [s["slug"] for s in container.siblings(listed, self.spec["slug"], self.spec["devices"]) if not self._answers(s)]
            if not busy:
                return
            names = ", ".join(busy)
            if self.clock.now() >= end:
                self.log("warning: %s on the same device is still not ready; going on without it" % names)
                return
            if names != said:
                said = names
                self.log("waiting for %s, which still loads on the same device" % names)
            self._pause(_POLL, "waiting for %s, which still loads on the same device" % names)

    def _answers(self, sibling):
        status, unused = self.probe(sibling["address"], sibling["port"]).call("GET", sibling["health_path"], timeout=2)
        return status in (200, 401, 403)

    def _start_container(self):
        found = self._inspect()
        action = container.start_action(found, self.spec)
        self.notify.status("container: %s" % action, 150)
        try:
            if action == "recreate":
                self._docker(self.docker.remove, self.name)
            if action != "start":
                body = container.create_body(self.spec, self._image())
                body["HostConfig"]["Ulimits"] = self._ulimits()
                with self.termination.shield():
                    self._docker(self._create, body)
            with self.termination.shield():
                self._docker(self.docker.start, self.name)
        except docker_api.DockerError as exc:
            self._fail("Docker refused to %s the container: %s" % (action, exc.message))
        self.log("container started (%s)" % action)

    def _ulimits(self):
        """The specification's limits, as far as this Docker can give them."""
        granted, lowered = ulimits.clamp(self.spec["ulimits"], self.bounds() if self.spec["ulimits"] else {})
        for sentence in lowered:
            self.log("warning: " + sentence)
        return granted

    def _create(self, body):
        try:
            self.docker.create(self.name, body)
        except docker_api.DockerError as exc:
            # the first try may have reached a daemon that went away before it could answer
            if exc.status != 409 or not container.is_current(self._inspect() or {"Config": {}}, self.spec):
                raise

    def _image(self):
        pinned = self.spec["image_id"]
        by_reference = self._docker(self.docker.image, self.spec["image"])
        by_id = self._docker(self.docker.image, pinned) if pinned else None
        image, warning, error = container.image_choice(self.spec, by_reference, by_id)
        if error:
            self._fail(error)
        if warning:
            self.log("warning: " + warning)
        return image

    def _await_ready(self, found, limit, with_request):
        """Wait until the engine is ready -> (handle, None), or (None, why it is not)."""
        handle = self._handle(found)
        start = self.clock.now()
        stubborn_since = None
        patience = self.spec["readiness"]["request_seconds"]
        while True:
            if handle is None or handle.ended(0):
                return None, "not ready: " + self._why_ended()
            answer = self._examine(with_request)
            if answer.ok:
                return handle, None
            now = self.clock.now()
            if not answer.definite:
                stubborn_since = None
            elif stubborn_since is None:
                stubborn_since = now
            if stubborn_since is not None and now - stubborn_since >= patience:
                return None, "not ready, and waiting longer would not help: " + answer.detail
            if now - start >= limit:
                return None, "not ready after %d s: %s" % (now - start, answer.detail)
            self.notify.status("loading for %d s: %s" % (now - start, answer.detail), _EXTEND + patience)
            handle.ended(_POLL)

    def _examine(self, with_request):
        """Health; then, when wanted, the list of models and one real request."""
        readiness = self.spec["readiness"]
        answer = self.http.health(readiness["health_path"])
        if not answer.ok or not with_request:
            return answer
        answer = self.http.serves(self.spec["served_model"])
        if not answer.ok or not readiness["request"]:
            return answer
        self.notify.status("asking for one token", _EXTEND + readiness["request_seconds"])
        return self.http.request(readiness["request"]["path"], readiness["request"]["body"], readiness["request_seconds"])

    def _progress(self, mark):
        """(did counters move since mark, the new mark). An engine too busy to answer the health question still works."""
        metrics = self.http.metrics(self.spec["drain"]["metrics_path"])
        if not metrics.ok:
            return False, mark
        new = health.progress_mark(metrics.body)
        return mark is not None and new != mark, new

    def _drain(self):
        drain = self.spec["drain"]
        names = drain["running_metric"]
        if not names:
            return
        names = [names] if isinstance(names, str) else names
        end = self.clock.now() + drain["drain_seconds"]
        while True:
            metrics = self.http.metrics(drain["metrics_path"])
            running = health.metric_sum(metrics.body, names) if metrics.ok else None
            if not running and (metrics.ok or not self._inspect_running()):
                self.log("drained")
                return
            if self.clock.now() >= end:
                self.log("warning: requests still running after %d s: %s" % (drain["drain_seconds"], _count(running)))
                return
            self._pause(0.5, "draining, requests running: %s" % _count(running))

    def _inspect_running(self):
        try:
            return container.is_running(self.docker.inspect(self.name))
        except (docker_api.DockerUnavailable, docker_api.DockerError):
            return False

    # ---- tools ----------------------------------------------------------------------------------------------------

    def _docker(self, call, *args, **kwargs):
        """call(...), again and again while the daemon is away or in trouble with itself, but not for ever."""
        patience = kwargs.pop("patience", _DOCKER_PATIENCE)
        end = self.clock.now() + patience
        starting = call in (self.docker.start, self._create)
        while True:
            try:
                return call(*args, **kwargs)
            except docker_api.DockerUnavailable as exc:
                reason = str(exc)
            except docker_api.DockerError as exc:
                if starting or exc.status < 500:
                    raise
                reason = str(exc)
            if self.clock.now() >= end:
                raise EngineFailure("gave up after %d s: %s" % (patience, reason))
            self._pause(_POLL, "waiting for Docker: %s" % reason)

    def _inspect(self, patience=_DOCKER_PATIENCE):
        found = self._docker(self.docker.inspect, self.name, patience=patience)
        try:
            container.check_ours(found, self.spec["slug"])
        except container.ForeignContainer as exc:
            raise ConfigFailure(str(exc)) from None
        return found

    def _handle(self, found):
        try:
            return self.open_handle(found, self._inspect)
        except OSError as exc:
            raise ConfigFailure("this kernel cannot watch a process by pidfd (Linux 5.3 or newer is needed): %s" % exc) from None

    def _stop_container(self, patience=_DOCKER_PATIENCE):
        if self._inspect(patience) is None:
            return
        seconds = self.spec["drain"]["stop_seconds"]
        self.notify.status("stopping the container", seconds + _EXTEND + 15)
        self._docker(self.docker.stop, self.name, seconds, patience=patience)

    def _why_ended(self):
        """Exit code and reason, asked after the end; short, since the daemon may be away."""
        self.clock.sleep(0.3)  # the daemon needs a moment to notice
        try:
            found = self.docker.inspect(self.name)
        except (docker_api.DockerUnavailable, docker_api.DockerError):
            return "the container ended (Docker is away, its exit code is not known)"
        return container.end_reason((found or {}).get("State") or {})

    def _tail(self):
        """What was said last in this life of the container; it may have had others."""
        try:
            found = self.docker.inspect(self.name)
            lines = self.docker.logs(self.name, last_words.READ_LINES, "%d.%s" % container.started(found)) if found else []
            return last_words.telling(lines, _LOG_LINES)
        except (docker_api.DockerUnavailable, docker_api.DockerError):
            return []

    def _ready(self, found, how):
        with self.termination.shield():
            self.state.became_ready(container.life(found))
            self._was_ready = True
            self.notify.ready("ready")
        self.log(how)

    def _remember(self, reason, tail):
        with self.termination.shield():
            self.state.failed(self.clock.now(), reason, tail, self.config, self.digest, self.clock.utc())

    def _fail(self, reason):
        tail = self._tail()
        for line in tail:
            self.log("| " + line)
        self._remember(reason, tail)
        self.notify.status(reason, _EXTEND)
        raise EngineFailure(reason)

    def _pause(self, seconds, status):
        self.notify.status(status, seconds + _EXTEND)
        self.notify.watchdog()
        self.clock.sleep(seconds)

    def _age(self, found):
        return max(0, self.clock.wall() - container.started(found)[0])


def _count(number):
    return "unknown" if number is None else str(int(number))
