# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is done with containers: pure decisions."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import container, docker_api, post
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import specs


def inspected(spec, **state):
    return {
        "Id": "c1",
        "Name": "/inference-demo",
        "State": dict({"Running": True, "StartedAt": "2026-01-01T00:00:00.5Z", "Pid": 7}, **state),
        "Config": {"Labels": container.labels(spec)},
    }


def test_the_container_is_confined_and_never_restarted_by_docker():
    spec = specs.complete(
        mounts=[{"source": "/srv/models/demo", "target": "/models/demo"}],
        environment={"B": "2", "A": "1"},
        shm_size_bytes=1024,
        extra_host_config={"SecurityOpt": ["seccomp=unconfined"], "CapAdd": ["SYS_NICE"]},
    )
    body = container.create_body(spec, "sha256:1")
    host = body["HostConfig"]
    assert host["NetworkMode"] == "host" and host["RestartPolicy"] == {"Name": "no"}
    assert host["CapDrop"] == ["ALL"] and host["CapAdd"] == ["SYS_NICE"]
    assert host["SecurityOpt"] == ["no-new-privileges", "seccomp=unconfined"]
    assert host["Mounts"] == [{"Type": "bind", "Source": "/srv/models/demo", "Target": "/models/demo", "ReadOnly": True}]
    assert host["ShmSize"] == 1024 and "Memory" not in host
    assert set(host["LogConfig"]["Config"]) == {"max-size", "max-file"}
    assert body["Env"] == ["A=1", "B=2"] and body["Image"] == "sha256:1" and "Entrypoint" not in body


def test_our_labels_win():
    spec = specs.complete(labels={"team": "x", container.MANAGED: "false"})
    found = container.labels(spec)
    assert found[container.MANAGED] == "true" and found["team"] == "x" and found[container.DEVICES] == '["cpu"]'


@pytest.mark.parametrize("labels", [{}, None, {container.MANAGED: "true"}, {container.MANAGED: "true", container.ENGINE: "other"}])
def test_a_foreign_container_is_refused(labels):
    with pytest.raises(container.ForeignContainer, match="inference-demo .* not made for engine demo"):
        container.check_ours({"Name": "/inference-demo", "Config": {"Labels": labels}}, "demo")


def test_none_and_our_own_container_are_fine():
    container.check_ours(None, "demo")
    container.check_ours(inspected(specs.complete()), "demo")


def test_a_container_is_made_anew_only_for_another_configuration():
    spec = specs.complete()
    assert container.start_action(None, spec) == "create"
    assert container.start_action(inspected(spec), spec) == "start"
    assert container.start_action(inspected(specs.complete(command=["--other"])), spec) == "recreate"


def test_adoption_looks_at_this_life_of_the_container():
    spec = specs.complete()
    ready = container.life(inspected(spec))
    assert container.adoption_limit(inspected(spec), ready, 100, 12, age_seconds=500) == (12, True)
    # the same container, stopped and started since: it loads again
    again = inspected(spec, StartedAt="2026-01-02T00:00:00Z")
    assert container.adoption_limit(again, ready, 100, 12, age_seconds=30) == (70, False)
    assert container.adoption_limit(again, None, 100, 12, age_seconds=500) == (12, False)


def test_the_start_of_this_life_is_known_to_the_nanosecond():
    assert container.started(inspected(specs.complete(), StartedAt="1970-01-01T00:01:00.123456789Z")) == (60, "123456789")
    assert container.started(inspected(specs.complete(), StartedAt="1970-01-01T00:01:00Z")) == (60, "0")
    assert container.started(inspected(specs.complete(), StartedAt="0001-01-01T00:00:00Z")) == (0, "0")
    assert container.started(inspected(specs.complete(), StartedAt="")) == (0, "0")


def test_siblings_share_a_device_and_are_not_ourselves():
    def listed(slug, devices, **more):
        labels = {container.MANAGED: "true", container.ENGINE: slug, container.DEVICES: json.dumps(devices), container.PORT: "1"}
        return {"Labels": dict(labels, **more), "State": "running"}

    items = [
        listed("demo", ["a"]), listed("other", ["a", "b"]), listed("far", ["c"]), {"Labels": {container.MANAGED: "true"}}, {"Labels": None},
        listed("broken", ["a"], **{container.PORT: "x"}), dict(listed("down", ["a"]), State="exited"),
    ]
    found = container.siblings(items, "demo", ["a"])
    assert [item["slug"] for item in found] == ["other"]
    assert found[0]["address"] == "127.0.0.1" and found[0]["health_path"] == "/health"


@pytest.mark.parametrize("pinned,reference,by_id,expected", [
    (None, {"Id": "x"}, None, ("example/engine:1", False, False)),
    (None, None, None, (None, False, True)),
    ("x", {"Id": "x"}, {"Id": "x"}, ("example/engine:1", False, False)),
    ("x", {"Id": "y"}, {"Id": "x"}, ("x", True, False)),
    ("x", None, {"Id": "x"}, ("x", True, False)),
    ("x", {"Id": "y"}, None, (None, False, True)),
])
def test_a_pinned_image_is_used_even_when_its_name_moved(pinned, reference, by_id, expected):
    image, warning, error = container.image_choice(specs.complete(image_id=pinned), reference, by_id)
    assert (image, bool(warning), bool(error)) == expected


def test_the_reason_of_an_end_is_in_words():
    assert container.end_reason({}) == "the container is gone"
    assert "exit code 137 (out of memory" in container.end_reason({"ExitCode": 137, "OOMKilled": True, "Error": ""})


@pytest.mark.parametrize("result,healthy,expected", [
    ("success", True, True), ("timeout", True, True), ("watchdog", False, True), ("watchdog", True, False),
    ("signal", False, False), ("exit-code", False, False), ("core-dump", False, False), ("", False, False),
])
def test_what_happens_to_the_container_after_inferctl(result, healthy, expected):
    assert post.must_stop(result, lambda: healthy) is expected


def test_only_a_stop_on_purpose_renews_the_restart_budget():
    assert [result for result in ("success", "timeout", "exit-code", "signal", "watchdog") if post.renews_budget(result)] == ["success"]


def test_the_log_stream_is_taken_apart():
    frames = b"\x01\0\0\0\0\0\0\x04one\n" + b"\x02\0\0\0\0\0\0\x04two\n"
    assert docker_api.demultiplex(frames) == b"one\ntwo\n"
    assert docker_api.demultiplex(b"plain text of a terminal") == b"plain text of a terminal"
    assert docker_api.demultiplex(b"") == b""


def test_a_missing_daemon_is_told_as_such(tmp_path):
    with pytest.raises(docker_api.DockerUnavailable, match="does not answer on .*/none"):
        docker_api.DockerApi(str(tmp_path / "none")).containers()
