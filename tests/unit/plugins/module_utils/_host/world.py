# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A false world for the supervisor: clock, Docker, engine, locks. Time passes only when somebody waits."""

from __future__ import annotations

import contextlib

from ansible_collections.indiaai.inference.plugins.module_utils._host import container, docker_api, health, process


class World:
    """One host at one moment. events: [(time, callable)] happen when the clock passes them."""

    def __init__(self):
        self.time = 1000.0
        self.events = []
        self.log = []
        self.sent = []
        self.calls = []
        self.container = None  # as Docker inspects it
        self.docker_away = False
        self.start_error = None
        self.images = {"example/engine:1": {"Id": "sha256:1"}}
        self.load_seconds = 5
        self.loaded_at = None
        self.hung = False
        self.models = ["demo"]
        self.request_status = 200
        self.metrics_text = "running 0\n"
        self.siblings = []
        self.sibling_ready = True
        self.locks_free = True
        self.bounds = {}  # of the limits that Docker can give

    def at(self, seconds, action):
        self.events.append((self.time + seconds, action))

    def pass_time(self, seconds):
        end = self.time + seconds
        while True:
            due = sorted((e for e in self.events if e[0] <= end), key=lambda e: e[0])
            if not due:
                break
            self.events.remove(due[0])
            self.time = max(self.time, due[0][0])
            due[0][1]()
        self.time = end

    # ---- what the engine does ----

    def engine_starts(self):
        self.container["State"].update(Running=True, Pid=7, StartedAt="2026-01-01T00:%02d:%02d.1Z" % divmod(int(self.time) % 3600, 60))
        self.loaded_at = self.time + self.load_seconds

    def engine_ends(self, code=1):
        self.container["State"].update(Running=False, Pid=0, ExitCode=code)

    def put_container(self, spec, running=True, age=100):
        self.container = {"Id": "c1", "Name": "/inference-demo", "State": {"Running": running, "Pid": 7, "ExitCode": 0, "StartedAt": "2026-01-01T00:00:00.1Z"},
                          "Config": {"Labels": container.labels(spec)}}
        self.loaded_at = self.time - age + self.load_seconds

    @property
    def running(self):
        return container.is_running(self.container)

    @property
    def answers(self):
        return self.running and not self.hung and self.time >= (self.loaded_at or 0)


class Clock:
    def __init__(self, world):
        self.world = world

    def now(self):
        return self.world.time

    def wall(self):
        return 1767225600 + 100  # 100 s after the container of put_container started

    def utc(self):
        return "2026-01-01T00:00:00Z"

    def sleep(self, seconds):
        self.world.pass_time(seconds)


class Handle:
    def __init__(self, world):
        self.world = world
        self.life = world.container["State"]["StartedAt"]

    def ended(self, timeout):
        end = self.world.time + timeout
        while True:
            if not self.world.running or self.world.container["State"]["StartedAt"] != self.life:
                return True
            if self.world.time >= end:
                return False
            self.world.pass_time(min(0.25, end - self.world.time))


class Docker:
    def __init__(self, world):
        self.world = world

    def _call(self, *call):
        if self.world.docker_away:
            raise docker_api.DockerUnavailable("Docker does not answer")
        self.world.calls.append(call)

    def inspect(self, name):
        if self.world.docker_away:
            raise docker_api.DockerUnavailable("Docker does not answer")
        return self.world.container

    def containers(self, all=False, filters=None):
        return self.world.siblings

    def image(self, reference):
        return self.world.images.get(reference)

    def create(self, name, body):
        self._call("create", body["Image"])
        self.world.container = {"Id": "c%d" % len(self.world.calls), "Name": "/" + name, "State": {"Running": False, "Pid": 0, "StartedAt": ""},
                                "Config": {"Labels": body["Labels"]}, "HostConfig": body["HostConfig"]}

    def start(self, name):
        self._call("start")
        if self.world.start_error:
            raise docker_api.DockerError(500, self.world.start_error)
        self.world.engine_starts()

    def stop(self, name, seconds):
        self._call("stop")
        if self.world.container:
            self.world.engine_ends(0)

    def remove(self, name):
        self._call("remove")
        self.world.container = None

    def logs(self, name, tail, since):
        return ["last words"]


class Http:
    def __init__(self, world):
        self.world = world

    def health(self, path, timeout=2):
        if self.world.hung:
            self.world.pass_time(timeout)
        return health.Answer(True, "healthy") if self.world.answers else health.Answer(False, "does not answer")

    def serves(self, model):
        return health.judge_models(model, 200, '{"data": [%s]}' % ",".join('{"id": "%s"}' % name for name in self.world.models))

    def request(self, path, body, timeout):
        self.world.calls.append(("request",))
        return health.judge_request(path, self.world.request_status, '{"choices": [{}]}')

    def metrics(self, path, timeout=2):
        return health.Answer(self.world.running, "", body=self.world.metrics_text)

    def call(self, method, path, timeout=2):
        return (200 if self.world.sibling_ready else None), ""


class Notify:
    def __init__(self, world):
        self.world = world

    def ready(self, status):
        self.world.sent.append(("READY", self.world.time))

    def status(self, text, seconds):
        self.world.sent.append(("STATUS", self.world.time, text, seconds))

    def watchdog(self):
        self.world.sent.append(("WATCHDOG", self.world.time))

    def stopping(self, status):
        self.world.sent.append(("STOPPING", self.world.time))


class Locks:
    def __init__(self, world):
        self.world = world
        self.held = False

    def missing(self):
        return None if self.held else "cpu"

    def advance(self):
        self.held = self.world.locks_free
        return self.held

    def release(self):
        self.held = False


class Termination:
    """As process.Termination, driven by the world's events."""

    def __init__(self):
        self.real = process.Termination()

    def request(self):
        self.real.handle()

    @contextlib.contextmanager
    def shield(self):
        with self.real.shield():
            yield
