# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan contains, and how a wrong inventory is refused."""

from __future__ import annotations

import json
import pathlib

import jsonschema
import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import paths
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan import build
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_models import slug
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import PlanError
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_table import table

CONTRACTS = pathlib.Path(__file__).resolve().parents[4] / "docs" / "contracts"
SCHEMA = json.loads((CONTRACTS / "plan.schema.json").read_text())


def model(name="demo", **more):
    return dict({"name": name, "engine": "vllm", "source": "/srv/models/" + slug(name)}, **more)


def gpu(index=0, total=143771, processes=(), state="ok", **more):
    return dict(
        {
            "index": index,
            "uuid": "GPU-0000000{0}-aaaa-4bbb-8ccc-dddddddddddd".format(index),
            "name": "NVIDIA H200",
            "state": state,
            "memory_total_mib": total,
            "memory_used_mib": sum(p["memory_mib"] or 0 for p in processes),
            "memory_free_mib": total,
            "processes": list(processes),
        },
        **more
    )


def process(memory_mib, pid=4242, container=None, managed=False, unit=None):
    return {
        "pid": pid, "name": "python3", "memory_mib": memory_mib,
        "container": container, "unit": unit, "managed": managed,
    }


def facts(*gpus, state="ok"):
    return {"schema_version": 1, "backend": "nvidia-smi", "driver_version": "590.48.01", "state": state,
            "reason": "as told by the test", "gpus": list(gpus)}


def plan(models, gpus=None, **options):
    options = dict({"engines": ["vllm", "tei", "sglang"], "paths": paths.as_dict()}, **options)
    result = build(models, gpus or {}, options)
    jsonschema.validate(result, SCHEMA)
    return result


def refused(models, gpus=None, **options):
    with pytest.raises(PlanError) as caught:
        plan(models, gpus, **options)
    return caught.value


def test_a_model_on_cpu():
    result = plan([model(max_running_requests="16", gpu_memory_mib=2048)], device="cpu", server_name="llm.example.in")
    engine = result["engines"][0]
    assert result["device"] == "cpu"
    assert engine["devices"] == ["cpu"]
    assert engine["memory_mib"] == 2048
    assert engine["max_running_requests"] == 16
    assert (engine["port"], engine["ports"], engine["url"]) == (30000, [30000], "http://127.0.0.1:30000")
    assert (engine["container"], engine["unit"]) == ("inference-demo", "inference-engine@demo.service")
    assert result["gateway"]["models"] == [
        {
            "name": "demo",
            "aliases": [],
            "url": "http://127.0.0.1:30000",
            "upstream_model": "demo",
            "key_file": "/etc/indiaai-inference/engines/demo.key",
        }
    ]
    assert {80, 443, 30000} <= set(result["reserved_ports"])


def test_memory_on_cpu_is_left_to_the_engine_unless_told():
    assert plan([model()], device="cpu")["engines"][0]["memory_mib"] is None


def test_a_name_becomes_safe_for_files_containers_and_units():
    engine = plan([model("Qwen/Qwen3.5_35B:fp8")], device="cpu")["engines"][0]
    assert engine["name"] == engine["served_model"] == "Qwen/Qwen3.5_35B:fp8"
    assert engine["slug"] == "qwen-qwen3.5-35b-fp8"


def test_the_source_is_normalised():
    assert plan([model(source="//srv/models/../models/x/")], device="cpu")["engines"][0]["source"] == "/srv/models/x"


def test_an_ipv6_address_makes_a_valid_url():
    assert plan([model()], device="cpu", address="fd00::5")["engines"][0]["url"] == "http://[fd00::5]:30000"


def test_device_auto_follows_the_host():
    assert plan([model()], {})["device"] == "cpu"
    assert plan([model()], facts(state="no_gpu"))["device"] == "cpu"
    assert plan([model()], facts(gpu()))["device"] == "gpu"
    assert plan([model()], facts(gpu()), device="cpu")["device"] == "cpu"


@pytest.mark.parametrize("state", ["driver_missing", "library_missing", "unknown"])
@pytest.mark.parametrize("device", ["auto", "gpu"])
def test_a_gpu_that_does_not_work_is_not_silently_a_cpu(state, device):
    message = str(refused([model()], facts(state=state), device=device))
    assert "GPU state " + state in message
    assert "as told by the test" in message
    assert "inference_device: cpu" in message


def test_device_gpu_without_a_gpu():
    assert "GPU state no_gpu" in str(refused([model()], {}, device="gpu"))


def test_ports_follow_the_list_and_step_over_what_is_taken():
    result = plan(
        [model("a"), model("b", port=30001), model("c"), model("d")],
        device="cpu", reserved_ports=[30002], frontend_ports=[80, 30000],
    )
    assert [engine["port"] for engine in result["engines"]] == [30003, 30001, 30004, 30005]


def test_hidden_ports_of_engines_are_pinned_and_reserved():
    result = plan(
        [model("e1", engine="tei"), model("e2", engine="tei"), model("s", engine="sglang"), model("v", port=9000)],
        device="cpu",
    )
    ports = {engine["name"]: engine["ports"] for engine in result["engines"]}
    pinned = {engine["name"]: engine["args"] for engine in result["engines"]}
    # Port 9000, TEI's own choice, went to a person's choice first.
    assert pinned["e1"] == {"prometheus-port": 9001} and ports["e1"] == [30000, 9001]
    assert pinned["e2"] == {"prometheus-port": 9002} and ports["e2"] == [30001, 9002]
    assert pinned["s"] == {"nccl-port": 31000} and ports["s"] == [30002, 31000]
    assert set(sum(ports.values(), [])) <= set(result["reserved_ports"])


def test_a_hidden_port_that_a_person_set_stays():
    engine = plan([model(engine="tei", args={"prometheus-port": "9100"})], device="cpu")["engines"][0]
    assert engine["args"] == {"prometheus-port": "9100"}
    assert engine["ports"] == [30000, 9100]


def test_engines_start_big_first_and_tei_last():
    result = plan(
        [
            model("embed", engine="tei", gpu_memory_mib=60000),
            model("small", gpu_memory_mib=10000),
            model("big", gpu_memory_mib=50000),
        ],
        facts(gpu()),
    )
    assert [e["name"] for e in sorted(result["engines"], key=lambda e: e["order"])] == ["big", "small", "embed"]


NAMED = {"wanted:", "change:", "found:"}


@pytest.mark.parametrize(
    ("models", "options", "found", "change"),
    [
        ([], {}, "inference_models is empty", "inference_models"),
        (None, {}, "inference_models is empty", "inference_models"),
        ("demo", {}, "inference_models is 'demo'", "inference_models"),
        (["demo"], {}, "inference_models[0] is 'demo'", "inference_models[0]"),
        ([{"engine": "vllm", "source": "/m"}], {}, "inference_models[0] has no name", "inference_models[0].name"),
        ([model(name="a b")], {}, "inference_models[0].name is 'a b'", "inference_models[0].name"),
        ([model(name="gateway")], {}, "inference-gateway", "inference_models[0].name"),
        ([model(name="x" * 100)], {}, "100 characters", "inference_models[0].name"),
        ([model("a"), model("a")], {}, "both have the name 'a'", "inference_models[1].name"),
        ([model("a"), model("b", aliases=["a"])], {}, "both have the name 'a'", "inference_models[1].aliases"),
        ([model("A/b"), model("a-b")], {}, "both be the container inference-a-b", "inference_models[1].name"),
        ([model("a", port=30005), model("b", port=30005)], {}, "wants port 30005", "inference_models[1].port"),
        ([model(port=80)], {}, "port 80", "inference_models[0].port"),
        ([model(port=70000)], {}, "port 70000", "inference_models[0].port"),
        ([model(port="http")], {}, "port 'http'", "inference_models[0].port"),
        ([model(port=True)], {}, "port True", "inference_models[0].port"),
        ([model(port=8443)], {"frontend_ports": [80, 8443]}, "the public entrance", "inference_models[0].port"),
        ([model(engine="tgi")], {}, "unknown engine 'tgi'", "inference_models[0].engine"),
        ([model(engine=None)], {}, "has no engine", "inference_models[0].engine"),
        ([model(source=None)], {}, "has no source", "inference_models[0].source"),
        ([model(source="models/x")], {}, "reads as a hub repository", "inference_models[0].source"),
        ([model(source="./x/y/z")], {}, "has the source './x/y/z'", "inference_models[0].source"),
        ([model(source="/")], {}, "has the source '/'", "inference_models[0].source"),
        ([model(context_length=0)], {}, "context_length 0", "inference_models[0].context_length"),
        ([model(context_length=True)], {}, "context_length True", "inference_models[0].context_length"),
        ([model(context_length="32k")], {}, "context_length '32k'", "inference_models[0].context_length"),
        ([model(gpu_memory_mib=1.5)], {}, "gpu_memory_mib 1.5", "inference_models[0].gpu_memory_mib"),
        ([model(args=["--x"])], {}, "args ['--x']", "inference_models[0].args"),
        ([model(args={"--port": 1})], {}, "the flag '--port'", "inference_models[0].args.--port"),
        ([model(args={"api-key": "s"})], {}, "sets 'api-key'", "inference_models[0].args.api-key"),
        ([model(args={"served_model_name": "s"})], {}, "sets 'served_model_name'", "args.served_model_name"),
        ([model(env={"A-B": "1"})], {}, "env 'A-B'", "inference_models[0].env.A-B"),
        ([model(env={"A": ["1"]})], {}, "env 'A'", "inference_models[0].env.A"),
        ([model(aliases="x")], {}, "aliases 'x'", "inference_models[0].aliases"),
        ([model(revision=7)], {}, "revision 7", "inference_models[0].revision"),
        ([model(image_archive="x.tar")], {}, "image_archive 'x.tar'", "inference_models[0].image_archive"),
        (
            [model(image_archive="/a/x.tar")], {"missing_archives": ["/a/x.tar"]},
            "no such file", "inference_models[0].image_archive",
        ),
        ([model(prot=1)], {}, "unknown key 'prot'", "inference_models[0].prot"),
        ([model()], {"device": "tpu"}, "inference_device is 'tpu'", "inference_device"),
        ([model()], {"address": "localhost"}, "inference_address is 'localhost'", "inference_address"),
        ([model()], {"first_port": 1}, "inference_first_port is 1", "inference_first_port"),
        ([model("a"), model("b")], {"first_port": 65535}, "no free port for b", "inference_first_port"),
        ([model()], {"host_reserve_mib": -1}, "inference_host_reserve_mib is -1", "inference_host_reserve_mib"),
        ([model()], {"frontend_ports": ["x"]}, "serving_plan_frontend_ports is 'x'", "serving_plan_frontend_ports"),
        ([model()], {"replaces": {}} | {"replaces": {"a": 1}}, "inference_replaces is", "inference_replaces"),
        ([model()], {"replaces": [{"url": "http://x:1"}]}, "inference_replaces[0]", "inference_replaces[0]"),
        ([model()], {"replaces": [{"container": "a"}]}, "inference_replaces[0]", "inference_replaces[0]"),
        (
            [model()], {"replaces": [{"container": "a", "url": "http://x:1", "api": "grpc"}]},
            "inference_replaces[0]", "inference_replaces[0]",
        ),
        ([model()], {"unknown_variables": [{"name": "inference_modles", "nearest": "inference_models"}]},
         "unknown variable inference_modles", "rename it to inference_models"),
        (
            [model()],
            {"platform": {"name": "Debian", "version": "11", "supported": {"Debian": ["12", "13"]}}},
            "the host runs Debian 11", "serving_plan_unsupported_os_ok",
        ),
        ([model(engine="tei", args={"prometheus-port": 80})], {}, "prometheus-port to 80", "args.prometheus-port"),
    ],
)
def test_one_fault_is_one_problem_that_names_the_variable(models, options, found, change):
    error = refused(models, **dict({"device": "cpu"}, **options))
    assert len(error.problems) == 1, str(error)
    assert found in error.problems[0].found
    assert change in error.problems[0].change
    assert all(word in str(error) for word in NAMED)
    assert "nothing was changed" in str(error)


def test_all_faults_come_at_once():
    error = refused(
        [model(name=""), model("a", engine="tgi", port=1), model("b", source="x")], first_port=99, device="cpu"
    )
    text = str(error)
    for word in ("has no name", "unknown engine 'tgi'", "port 1", "source 'x'", "inference_first_port"):
        assert word in text
    assert "5 problems" in text


def test_an_unknown_engine_lists_the_known_ones():
    assert "one of: sglang, tei, vllm" in str(refused([model(engine="tgi")], device="cpu"))


@pytest.mark.parametrize(
    ("name", "version", "good"),
    [("Ubuntu", "22.04", True), ("Ubuntu", "24.04", True), ("Ubuntu", "20.04", False), ("Debian", 13, True), ("Rocky", "9", False)],
)
def test_supported_systems(name, version, good):
    platform = {"name": name, "version": version, "supported": {"Debian": ["12", "13"], "Ubuntu": ["22.04", "24.04"]}}
    if good:
        assert plan([model()], device="cpu", platform=platform)
    else:
        message = str(refused([model()], device="cpu", platform=platform))
        assert "Debian 12, 13; Ubuntu 22.04, 24.04" in message
        assert plan([model()], device="cpu", platform=dict(platform, unsupported_ok=True))


def test_the_table_shows_engines_gpus_and_replacements():
    result = plan(
        [model("a", gpu_memory_mib=1000), model("b")],
        facts(gpu(), gpu(1, state="lost")),
        replaces=[{"container": "old", "url": "http://127.0.0.1:8000", "model": "m"}],
    )
    lines = table(result)
    assert lines[1].split()[:5] == ["b", "vllm", "30001", "GPU-00000000", "139699"]
    assert "GPU-00000000: 143771 MiB = 140699 planned + 0 held by others + 3072 reserve + 0 free" in lines
    assert any("replaces old" in line and "measured only" in line for line in lines)
    assert any(line.startswith("note: GPU 1") and "lost" in line for line in lines)


def test_the_example_of_the_contract_is_what_the_plan_computes():
    example = json.loads((CONTRACTS / "examples" / "plan.json").read_text())
    known = json.loads((CONTRACTS / "examples" / "gpu_facts.json").read_text())
    models = [
        model("chat", revision="main", context_length=32768, max_running_requests=48, aliases=["default"]),
        model("Drafts/Small", gpu_memory_mib=24000, args={"enforce-eager": True}, env={"VLLM_LOGGING_LEVEL": "WARNING"}),
    ]
    assert plan(models, known, server_name="llm.example.in") == example
