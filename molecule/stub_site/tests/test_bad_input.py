"""What cannot work stops the run before its first change, and says what was found, what is wanted and which variable to change."""
from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import site as support  # noqa: E402
from tests.support import streams  # noqa: E402

MODEL = {"name": "stub", "engine": "vllm", "image": "indiaai-test/stub-engine:1", "source": "/srv/models/stub"}
FOREIGN = ("docker", "run", "-d", "--name", "foreign", "--network", "host", "indiaai-test/stub-engine:1",
           "--model", "x", "--served-model-name", "old", "--host", "0.0.0.0", "--port", "8000")
CASES = {
    "a model without a name, an unknown engine, two models with one port": (
        {"inference_models": [{key: MODEL[key] for key in MODEL if key != "name"}, {**MODEL, "name": "a", "engine": "llamacpp"},
                              {**MODEL, "name": "b", "port": 31000}, {**MODEL, "name": "c", "port": 31000}]},
        ["name", "llamacpp", "31000", "inference_models"]),
    "two models with one name": ({"inference_models": [MODEL, MODEL]}, ["stub", "inference_models"]),
    "an unknown variable": ({"inference_modles": []}, ["inference_modles", "inference_models"]),
    "a missing engine archive": ({"inference_models": [{**MODEL, "image_archive": "/nowhere/engine.tar"}]}, ["/nowhere/engine.tar", "image_archive"]),
    "a missing gateway archive": ({"api_gateway_image_archive": "/nowhere/gateway.tar"}, ["/nowhere/gateway.tar", "api_gateway_image_archive"]),
}


@pytest.fixture(scope="module")
def site(host, tmp_path_factory):
    return support.Site(host, tmp_path_factory.mktemp("site"))


def refused(site, variables, words):
    before = site.read("/etc/indiaai-inference/plan.json"), site.engine_started()
    status, output = support.playbook("site", "-e", json.dumps(variables))
    assert status != 0
    for word in words:
        assert word in output, f"{word!r} is not in the message\n{output[-3000:]}"
    assert support.changed(output) == 0, support.changed_tasks(output)
    assert (site.read("/etc/indiaai-inference/plan.json"), site.engine_started()) == before


@pytest.mark.parametrize("case", CASES)
def test_refused_before_anything_changes(site, case):
    refused(site, *CASES[case])


def test_an_unsupported_system_is_refused(site):
    site.run("cp", "-a", "/usr/lib/os-release", "/tmp/os-release")
    try:
        site.run("sed", "-i", "s/^ID=.*/ID=gentoo/; s/Debian/Gentoo/", "/usr/lib/os-release")
        site.run("mv", "/etc/debian_version", "/tmp/debian_version")
        refused(site, {}, ["Gentoo", "Debian", "serving_plan_unsupported_os_ok"])
    finally:
        site.run("cp", "-a", "/tmp/os-release", "/usr/lib/os-release")
        site.run("mv", "/tmp/debian_version", "/etc/debian_version")


def test_a_malformed_docker_configuration_is_refused_and_left_alone(site):
    good = site.read("/etc/docker/daemon.json")
    try:
        site.run("sh", "-c", "echo '{\"live-restore\": true,' > /etc/docker/daemon.json")
        refused(site, {}, ["/etc/docker/daemon.json"])
        assert site.read("/etc/docker/daemon.json") == '{"live-restore": true,\n'
        assert site.run("systemctl", "is-active", "docker").strip() == "active"
    finally:
        support.subprocess.run(["docker", "exec", "-i", site.name, "sh", "-c", "cat > /etc/docker/daemon.json"], input=good, text=True, check=True)


def test_a_foreign_engine_in_the_way_is_refused_with_the_entry_to_paste(site):
    site.run(*FOREIGN)
    try:
        refused(site, {}, ["foreign", "inference_replaces", "8000"])
        entry = {"container": "foreign", "url": "http://127.0.0.1:8000", "api": "openai", "model": "old"}
        refused(site, {"inference_replaces": [entry]}, ["inference_cutover"])
    finally:
        site.run("docker", "rm", "-f", "foreign")


def test_the_old_engine_comes_back_when_the_gateway_does_not_start(site):
    """The new engine answers, but nobody reaches it: 443 is nginx's, and the gateway may not open a port below 1024."""
    site.run(*FOREIGN)
    entry = {"container": "foreign", "url": "http://127.0.0.1:8000", "api": "openai", "model": "old"}
    broken = {"api_gateway_tcp_address": "127.0.0.1", "api_gateway_tcp_port": 443, "api_gateway_ready_seconds": 5}
    try:
        status, output = support.playbook("site", "-e", json.dumps({"inference_replaces": [entry], "inference_cutover": True, **broken}))
        said = " ".join(output.split())
        assert status != 0
        assert "api_gateway_ready_seconds" in said and "The engine that served before is serving again." in said, output[-3000:]
        assert streams.post(site.address, 8000, {"model": "old", "messages": [{"role": "user", "content": "x"}], "max_tokens": 2}).status == 200
    finally:
        site.run("docker", "rm", "-f", "foreign")
    status, output = support.playbook("site")
    assert status == 0, output[-3000:]
