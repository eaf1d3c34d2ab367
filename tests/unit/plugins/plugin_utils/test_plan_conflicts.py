# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Somebody else's engine or listener in the way of a plan."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.indiaai.inference.plugins.module_utils._host import paths
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan import build
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_conflicts import conflicts, url_port
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import PlanError

OLD = {"container": "legacy-llm", "unit": None, "url": "http://127.0.0.1:8000", "api": "openai",
       "models": ["demo-old"], "pid": 500, "managed": False}
ENTRY = {"container": "legacy-llm", "url": "http://127.0.0.1:8000", "api": "openai", "model": "demo-old"}
UNIT = {"container": None, "unit": "ollama.service", "url": "http://127.0.0.1:11434", "api": "ollama",
        "models": ["qwen:7b", "x"], "pid": 600, "managed": False}
UUID = "GPU-00000000-aaaa-4bbb-8ccc-dddddddddddd"


def listener(port, process="python3", container=None, pid=500):
    return {"address": "127.0.0.1", "port": port, "pid": pid, "process": process, "container": container}


def held(size, container=None, unit=None, managed=False, pid=501):
    return {"pid": pid, "name": "python3", "memory_mib": size, "container": container, "unit": unit, "managed": managed}


def run(audit, device="cpu", processes=(), models=None, **options):
    gpu = {}
    if device == "gpu":
        gpu = {"state": "ok", "gpus": [{
            "index": 0, "uuid": UUID, "name": "NVIDIA H200", "state": "ok", "memory_total_mib": 143771,
            "memory_used_mib": sum(p["memory_mib"] for p in processes), "processes": list(processes)}]}
    models = models or [{"name": "demo", "engine": "vllm", "source": "/srv/models/demo"}]
    settings = dict({"engines": ["vllm"], "paths": paths.as_dict(), "device": device, "audit": audit}, **options)
    return build(models, gpu, settings)


def refused(*args, **kwargs):
    with pytest.raises(PlanError) as caught:
        run(*args, **kwargs)
    return caught.value


def pasted(error):
    """The YAML at the end of the message, read as a person's inventory would be."""
    return yaml.safe_load(str(error).partition("put this in the inventory:")[2])


def test_nothing_in_the_way():
    assert run({})["replaces"] == []
    assert run({"engines": [], "listeners": []})
    assert run(None)


def test_on_cpu_any_foreign_engine_is_in_the_way_and_the_entry_is_printed():
    error = refused({"engines": [OLD], "listeners": [listener(8000, container="legacy-llm")]})
    assert len(error.problems) == 1
    assert "container legacy-llm" in str(error)
    assert pasted(error) == {"inference_replaces": [ENTRY], "inference_cutover": True}


def test_what_is_pasted_is_accepted():
    audit = {"engines": [OLD, UNIT], "listeners": []}
    error = refused(audit)
    values = pasted(error)
    result = run(audit, replaces=values["inference_replaces"], cutover=values["inference_cutover"])
    assert result["replaces"] == values["inference_replaces"]
    assert result["cutover"] is True


def test_the_pasted_list_keeps_what_is_named_already():
    error = refused({"engines": [OLD, UNIT]}, replaces=[ENTRY], cutover=True)
    assert [item.get("container") or item.get("unit") for item in pasted(error)["inference_replaces"]] == [
        "legacy-llm", "ollama.service",
    ]
    assert len(error.problems) == 1


def test_named_but_not_allowed():
    error = refused({"engines": [OLD]}, replaces=[ENTRY])
    assert error.problems[0].change == "inference_cutover: true"
    assert pasted(error) is None


def test_a_unit_may_be_named_with_or_without_its_suffix():
    entry = {"unit": "ollama", "url": "http://127.0.0.1:11434", "api": "ollama", "model": "qwen:7b"}
    assert run({"engines": [UNIT]}, replaces=[entry], cutover=True)


def test_our_own_engines_are_never_in_the_way():
    ours = dict(OLD, container="inference-demo", managed=True, url="http://127.0.0.1:30000", pid=77)
    renamed = dict(ours, container="inference-earlier", pid=78)
    audit = {
        "engines": [ours, renamed],
        "listeners": [listener(30000, container="inference-demo", pid=77), listener(443, "nginx", pid=1)],
    }
    assert run(audit)
    assert run(dict(audit, engines=[dict(ours, managed=False)]))


def test_an_engine_without_container_and_unit_cannot_be_named():
    error = refused({"engines": [dict(OLD, container=None)]})
    assert "pid 500" in str(error) and "stop process 500" in str(error)
    assert pasted(error) is None


def test_an_engine_that_does_not_tell_its_models():
    error = refused({"engines": [dict(OLD, models=[])]})
    assert pasted(error)["inference_replaces"] == [{k: v for k, v in ENTRY.items() if k != "model"}]


def test_on_gpu_a_foreign_engine_that_leaves_room_is_left_alone():
    result = run({"engines": [OLD], "listeners": []}, "gpu", [held(40960, "legacy-llm")])
    assert result["engines"][0]["memory_mib"] == 143771 - 3072 - 40960


def test_on_gpu_a_foreign_engine_on_a_planned_port_is_in_the_way():
    audit = {"engines": [dict(OLD, url="http://127.0.0.1:30000")], "listeners": [listener(30000, "docker-proxy", pid=9)]}
    error = refused(audit, "gpu")
    assert len(error.problems) == 1 and "port 30000" in str(error)
    assert pasted(error)["inference_replaces"][0]["url"] == "http://127.0.0.1:30000"


def test_on_gpu_a_foreign_engine_whose_memory_is_needed_is_in_the_way():
    models = [{"name": "demo", "engine": "vllm", "source": "/srv/models/demo", "gpu_memory_mib": 120000}]
    audit = {"engines": [OLD], "listeners": []}
    processes = [held(40960, "legacy-llm")]
    error = refused(audit, "gpu", processes, models)
    assert "holds GPU memory" in str(error) and "40960 MiB" in str(error)
    values = pasted(error)
    result = run(audit, "gpu", processes, models, replaces=values["inference_replaces"], cutover=True)
    # The plan is the one of the host without the old engine: a second run finds the same.
    assert result["memory"] == run({}, "gpu", [], models)["memory"]


def test_a_foreign_listener_on_an_engine_port():
    error = refused({"engines": [], "listeners": [listener(30000, "java", pid=31)]})
    assert "port 30000, planned for demo, is held by java (pid 31)" in str(error)
    assert "inference_first_port" in str(error)


@pytest.mark.parametrize(
    ("item", "good"),
    [
        (listener(443, "nginx"), True),
        (listener(443, "apache2"), False),
        (listener(80, "docker-proxy", container="traefik"), False),
        (listener(80, "nginx", container="old-nginx"), False),
        (listener(30000, "nginx"), False),
        (listener(8000, "java"), True),
    ],
)
def test_the_public_ports(item, good):
    audit = {"engines": [], "listeners": [item]}
    if good:
        assert run(audit)
    else:
        assert str(item["port"]) in str(refused(audit))


def test_an_engine_on_two_ports_is_named_once():
    error = refused({"engines": [OLD, dict(OLD, url="http://127.0.0.1:8001")]})
    assert pasted(error)["inference_replaces"] == [ENTRY]


def test_a_proxy_in_front_of_an_engine_is_no_engine():
    proxy = dict(UNIT, unit="nginx.service", process="nginx", url="http://127.0.0.1:80")
    assert run({"engines": [proxy], "listeners": [listener(80, "nginx")]})
    # In a container it stands in the way of nothing but its port.
    boxed = dict(OLD, container="edge", process="nginx", url="http://127.0.0.1:80")
    assert run({"engines": [dict(boxed, url="http://127.0.0.1:8080")]})
    error = refused({"engines": [boxed], "listeners": [listener(80, "nginx", container="edge")]})
    assert "holds port 80" in str(error)


def test_listeners_that_the_audit_calls_ours():
    assert run({"listeners": [dict(listener(30000, container="inference-earlier"), managed=True)]})


def test_two_addresses_of_one_port_are_one_problem():
    audit = {"listeners": [listener(30000, "java"), dict(listener(30000, "java"), address="::1")]}
    assert len(refused(audit).problems) == 1


def test_conflicts_can_be_asked_of_a_plan_alone():
    plan = run({})
    assert conflicts(plan, {}) == []
    assert len(conflicts(plan, {"engines": [OLD, UNIT]})) == 2


@pytest.mark.parametrize(
    ("url", "port"),
    [("http://127.0.0.1:8000", 8000), ("http://[::1]:8000/v1", 8000), ("https://x/v1", 443), ("http://x", 80), (None, None), ("unix:/x", None)],
)
def test_url_port(url, port):
    assert url_port(url) == port
