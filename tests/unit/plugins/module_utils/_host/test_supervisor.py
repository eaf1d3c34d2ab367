# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The life of an engine, phase by phase, in a false world."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import container, process, spec as spec_module, state, supervisor
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import specs, world as world_module


class Bench:
    """A supervisor in a world, and what came of it."""

    def __init__(self, folder, **changes):
        self.world = world_module.World()
        self.state = state.StateFile("demo", str(folder))
        self.spec = specs.complete(**changes)
        self.termination = world_module.Termination()
        self.locks = world_module.Locks(self.world)

    def supervisor(self):
        world = self.world
        return supervisor.Supervisor(
            spec=self.spec, docker=world_module.Docker(world), http=world_module.Http(world), notify=world_module.Notify(world), state=self.state,
            locks=self.locks, termination=self.termination, clock=world_module.Clock(world),
            open_handle=lambda found, again: world_module.Handle(world) if world.running else None,
            probe=lambda address, port: world_module.Http(world), log=world.log.append,
            bounds=lambda: world.bounds,
        )

    def run(self, stop_after=None):
        if stop_after is not None:
            self.world.at(stop_after, self.termination.request)
        self.supervisor().run()

    def fails(self, words, **more):
        with pytest.raises(supervisor.EngineFailure, match=words):
            self.run(**more)

    def fail_at(self, time, of=None):
        self.state.failed(time, "reason", [], None, spec_module.digest(of or self.spec), "2026-01-01T00:00:00Z")

    def times(self, name):
        return [sent[1] for sent in self.world.sent if sent[0] == name]

    def statuses(self):
        return [sent[2] for sent in self.world.sent if sent[0] == "STATUS"]

    def actions(self):
        return [call[0] for call in self.world.calls]


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def test_an_engine_is_created_started_and_ready_after_a_real_answer(bench):
    bench.run(stop_after=20)
    assert bench.actions() == ["create", "start", "request", "stop"]
    (ready,) = bench.times("READY")
    assert 1005 <= ready <= 1007
    assert not bench.locks.held and not bench.world.running


def test_a_limit_that_docker_may_not_give_is_lowered_and_told(tmp_path):
    bench = Bench(tmp_path, ulimits=[{"Name": "memlock", "Soft": -1, "Hard": -1}])
    bench.world.bounds = {"memlock": 65536}
    bench.run(stop_after=20)
    assert bench.world.container["HostConfig"]["Ulimits"] == [{"Name": "memlock", "Soft": 65536, "Hard": 65536}]
    assert any("memlock is 65536 instead of -1" in line for line in bench.world.log)


def test_locks_are_held_until_ready_and_no_longer(bench):
    held = []
    bench.world.at(3, lambda: held.append(bench.locks.held))
    bench.world.at(10, lambda: held.append(bench.locks.held))
    bench.run(stop_after=20)
    assert held == [True, False]


def test_an_existing_container_of_this_configuration_is_started_again(bench):
    bench.world.put_container(bench.spec, running=False)
    bench.run(stop_after=20)
    assert bench.actions() == ["start", "request", "stop"]


def test_a_container_of_another_configuration_is_replaced(bench):
    bench.world.put_container(specs.complete(command=["old"]), running=False)
    bench.run(stop_after=20)
    assert bench.actions() == ["remove", "create", "start", "request", "stop"]


def test_a_foreign_container_is_never_touched(bench):
    bench.world.put_container(bench.spec)
    bench.world.container["Config"]["Labels"] = {}
    with pytest.raises(supervisor.ConfigFailure, match="left alone"):
        bench.run()
    assert bench.actions() == [] and bench.world.running


def test_a_healthy_container_is_adopted_without_lock_or_request(bench):
    bench.world.put_container(bench.spec)
    bench.world.locks_free = False
    bench.state.became_ready(container.life(bench.world.container))
    bench.run(stop_after=10)
    assert bench.actions() == ["stop"] and bench.times("READY") == [1000]


def test_a_container_that_still_loads_is_awaited_without_the_lock(bench):
    bench.world.put_container(bench.spec, age=0)
    bench.world.locks_free = False
    bench.run(stop_after=30)
    assert bench.actions() == ["request", "stop"] and 1005 <= bench.times("READY")[0] <= 1007


def test_a_hung_container_is_not_adopted_but_stopped_and_started(bench):
    bench.world.put_container(bench.spec)
    bench.state.became_ready(container.life(bench.world.container))
    bench.world.hung = True
    bench.world.at(20, lambda: setattr(bench.world, "hung", False))
    bench.run(stop_after=60)
    assert bench.actions() == ["stop", "start", "request", "stop"]
    assert any("not adopted" in line for line in bench.world.log)


def test_an_older_configuration_is_adopted_with_a_warning(bench):
    bench.world.put_container(specs.complete(command=["old"]))
    bench.run(stop_after=10)
    assert "remove" not in bench.actions()
    assert any("older configuration" in line for line in bench.world.log)


def test_a_failure_before_ready_is_told_with_the_log(bench):
    bench.world.at(2, lambda: bench.world.engine_ends(3))
    bench.fails("not ready: the container ended with exit code 3")
    told = bench.state.failure()
    assert told["reason"].endswith("exit code 3") and told["log_tail"] == ["last words"] and told["attempt"] == 1
    assert "| last words" in bench.world.log


def test_never_ready_ends_after_its_loading_time(bench):
    bench.world.load_seconds = 10000
    bench.fails("not ready after 10. s: does not answer")
    assert bench.actions() == ["create", "start", "stop"] and 1100 <= bench.world.time <= 1104


def test_an_error_that_will_stay_is_believed_early(bench):
    bench.world.request_status = 401
    bench.fails("waiting longer would not help: /v1/chat/completions answered 401")
    assert bench.world.time < 1030


def test_a_missing_model_is_an_error_that_will_stay(bench):
    bench.world.models = ["other"]
    bench.fails("lists other, not demo")
    assert bench.world.time < 1030


def test_failures_back_off_and_a_stop_forgets_them(bench):
    bench.world.start_error = "no such device"
    waits = []
    for unused in range(4):
        before = bench.world.time
        bench.fails("Docker refused to (create|start) the container: no such device")
        waits.append(round(bench.world.time - before))
    assert waits == [0, 2, 4, 8]
    bench.world.start_error = None
    bench.run(stop_after=60)
    assert bench.state.read()["failures"] == [] and bench.state.failure() == {}


def test_old_failures_do_not_count(bench):
    bench.fail_at(bench.world.time - 601)
    bench.run(stop_after=20)
    assert bench.times("READY")[0] < 1008


def test_failures_of_another_specification_do_not_count(bench):
    bench.fail_at(bench.world.time - 1, of=specs.complete(liveness={"hang_seconds": 1}))
    bench.run(stop_after=20)
    assert bench.times("READY")[0] < 1008


def test_the_lock_is_awaited(bench):
    bench.world.locks_free = False
    bench.world.at(30, lambda: setattr(bench.world, "locks_free", True))
    bench.run(stop_after=60)
    assert bench.times("READY")[0] >= 1035
    assert "waiting for the lock of device cpu" in bench.statuses()


def test_an_unready_sibling_is_awaited_under_the_lock(bench):
    bench.world.siblings = [{"Labels": container.labels(specs.complete(slug="other")), "State": "running"}]
    bench.world.sibling_ready = False
    bench.world.at(30, lambda: setattr(bench.world, "sibling_ready", True))
    bench.run(stop_after=60)
    assert bench.times("READY")[0] >= 1035
    assert sum("waiting for other" in line for line in bench.world.log) == 1


def test_a_sibling_that_never_gets_ready_blocks_only_for_a_while(bench):
    bench.world.siblings = [{"Labels": container.labels(specs.complete(slug="other")), "State": "running"}]
    bench.world.sibling_ready = False
    bench.run(stop_after=150)
    assert 1105 <= bench.times("READY")[0] <= 1110


def test_the_end_of_the_container_is_a_failure_even_with_exit_code_0(bench):
    bench.world.at(20, lambda: bench.world.engine_ends(0))
    bench.fails("the container ended with exit code 0")
    assert bench.world.time < 1022


def test_the_end_is_seen_while_docker_is_away(bench):
    def lost():
        bench.world.docker_away = True
        bench.world.engine_ends(137)

    bench.world.at(20, lost)
    bench.fails("Docker is away, its exit code is not known")


def test_a_restart_of_docker_is_not_even_noticed(bench):
    bench.world.at(20, lambda: setattr(bench.world, "docker_away", True))
    bench.world.at(40, lambda: setattr(bench.world, "docker_away", False))
    bench.run(stop_after=60)
    assert bench.actions() == ["create", "start", "request", "stop"]


def test_docker_that_is_away_at_the_start_is_awaited(bench):
    bench.world.docker_away = True
    bench.world.at(50, lambda: setattr(bench.world, "docker_away", False))
    bench.run(stop_after=90)
    assert bench.times("READY")[0] >= 1055


def test_docker_that_stays_away_is_a_failure_in_the_end(bench):
    bench.world.docker_away = True
    bench.fails("gave up after 600 s: Docker does not answer")


def test_a_hung_engine_is_stopped_after_its_time(bench):
    bench.world.at(20, lambda: setattr(bench.world, "hung", True))
    bench.world.metrics_text = ""
    bench.fails("hung: no healthy answer and no progress")
    assert bench.actions()[-1] == "stop" and 1031 <= bench.world.time <= 1038


def test_an_engine_that_works_is_not_hung_however_slow_its_health(bench):
    world = bench.world
    world.at(20, lambda: setattr(world, "hung", True))
    counter = [0]

    def work():
        counter[0] += 1
        world.metrics_text = "tokens_total %d\n" % counter[0]
        if counter[0] < 60:
            world.at(1, work)

    world.at(1, work)
    bench.fails("hung")
    assert 1070 <= world.time <= 1080, "hung only after the counters stood still"


def test_a_short_silence_is_forgiven(bench):
    bench.world.at(20, lambda: setattr(bench.world, "hung", True))
    bench.world.at(26, lambda: setattr(bench.world, "hung", False))
    bench.run(stop_after=60)
    assert "healthy again" in bench.world.log


def test_the_watchdog_hears_from_us_often_enough(bench):
    bench.world.at(20, lambda: setattr(bench.world, "hung", True))
    bench.world.at(27, lambda: setattr(bench.world, "hung", False))
    bench.run(stop_after=60)
    beats = [at for at in bench.times("WATCHDOG") if at > 1007]
    assert max(later - earlier for earlier, later in zip(beats, beats[1:])) < 30


def test_more_time_is_asked_for_before_it_is_up(bench):
    """Each message that extends the time-out must come before the one before it runs out."""
    bench.world.load_seconds = 90
    bench.run(stop_after=120)
    until = 1060  # TimeoutStartSec
    for sent in bench.world.sent:
        if sent[0] == "READY":
            break
        assert sent[1] <= until, sent
        if sent[0] == "STATUS":
            until = max(until, sent[1] + sent[3])
    else:
        pytest.fail("never ready")


def test_running_requests_are_awaited_before_the_stop(bench):
    bench.world.metrics_text = 'running{a="b"} 2\n'
    bench.world.at(30, lambda: setattr(bench.world, "metrics_text", "running 0\n"))
    stopped = []
    bench.world.at(28, lambda: stopped.append(bench.world.running))
    bench.run(stop_after=20)
    assert stopped == [True] and bench.actions()[-1] == "stop" and 1030 <= bench.world.time <= 1032
    assert "drained" in bench.world.log


def test_the_drain_has_an_end(bench):
    bench.world.metrics_text = "running 1\n"
    bench.run(stop_after=20)
    assert bench.actions()[-1] == "stop" and 1040 <= bench.world.time <= 1042


@pytest.mark.parametrize("phase,prepare", [
    ("loading", lambda world: setattr(world, "load_seconds", 1000)),
    ("lock", lambda world: setattr(world, "locks_free", False)),
    ("docker", lambda world: (setattr(world, "docker_away", True), world.at(30, lambda: setattr(world, "docker_away", False)))),
])
def test_a_stop_is_polite_in_every_phase(bench, phase, prepare):
    prepare(bench.world)
    bench.run(stop_after=10)
    assert not bench.world.running and bench.state.read()["failures"] == []
    assert bench.times("STOPPING") == [1010]


def test_a_stop_during_the_back_off(bench):
    for unused in range(3):
        bench.fail_at(bench.world.time - 1)
    bench.run(stop_after=2)
    assert bench.actions() == [] and bench.state.read()["failures"] == []


def test_a_stop_is_put_off_inside_a_shield():
    termination = process.Termination()
    done = []
    with pytest.raises(process.Stop):
        with termination.shield():
            termination.handle()
            done.append(1)
    assert done == [1]
    termination.handle()  # a second signal is ignored
    with termination.shield():
        done.append(2)
    assert done == [1, 2]


def test_a_pinned_image_that_is_missing(tmp_path):
    bench = Bench(tmp_path, image_id="sha256:9")
    bench.fails("with the pinned id sha256:9 is not on this host")


def test_the_state_survives_a_broken_file(tmp_path):
    (tmp_path / "demo.state.json").write_text("{")
    assert state.StateFile("demo", str(tmp_path)).read() == {"ready": None, "failures": [], "spec": None, "last_failure": None}
