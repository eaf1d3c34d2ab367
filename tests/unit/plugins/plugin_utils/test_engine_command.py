# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The specification of an engine: flags the way engines take them, nothing secret, and refusals that name the variable."""

from __future__ import annotations

import copy
import json
import pathlib

import pytest
import yaml

from ansible.errors import AnsibleFilterError
from ansible_collections.indiaai.inference.plugins.filter.engine_command import engine_command
from ansible_collections.indiaai.inference.plugins.module_utils._host import spec as specification
from ansible_collections.indiaai.inference.plugins.plugin_utils import _engine_command as ec

ROOT = pathlib.Path(ec.__file__).resolve().parents[2]
PROFILES = yaml.safe_load((ROOT / "roles/inference_engine/vars/profiles/vllm.yml").read_text(encoding="utf-8"))
PLAN = json.loads((ROOT / "docs/contracts/examples/plan.json").read_text(encoding="utf-8"))
OPTIONS = {
    "engines_dir": PLAN["paths"]["engines"],
    "image": "",
    "image_refs": {},
    "image_ids": {},
    "memory": PLAN["memory"],
    "ready_seconds": 1800,
    "drain_seconds": 60,
    "stop_seconds": 20,
    "cpus": 0.0,
    "memory_limit_mib": 0,
}


def engine(**changes):
    return dict(copy.deepcopy(PLAN["engines"][0]), **changes)


def on_cpu(**changes):
    return engine(devices=["cpu"], memory_mib=None, **changes)


def build(entry, **options):
    return ec.build_spec(entry, PROFILES, dict(OPTIONS, **options))


def value_of(spec, flag):
    return spec["command"][spec["command"].index("--" + flag) + 1]


def test_the_engine_of_the_plan_on_an_h200():
    spec = build(engine())
    assert spec["entrypoint"] + spec["command"] == [
        "python3", "-m", "vllm.entrypoints.openai.api_server",
        "--model", "/model",
        "--served-model-name", "chat", "default",
        "--host", "127.0.0.1",
        "--port", "30000",
        "--config", "/run/secrets/engine.yaml",
        "--max-model-len", "32768",
        "--max-num-seqs", "48",
        "--gpu-memory-utilization", "0.81",
        "--shutdown-timeout", "15",
    ]  # fmt: skip
    assert spec["image"] == "vllm/vllm-openai:v0.18.0"
    assert spec["device_requests"] == [
        {"Driver": "nvidia", "DeviceIDs": engine()["devices"], "Capabilities": [["gpu", "utility", "compute"]], "Options": {}}
    ]
    assert spec["mounts"][0] == {"source": "/srv/models/chat", "target": "/model", "read_only": True}
    assert spec["shm_size_bytes"] == 16384 * 1024 * 1024


@pytest.mark.parametrize("entry", PLAN["engines"] + [on_cpu(image="engine:1")], ids=lambda entry: entry["slug"])
def test_the_host_program_takes_every_specification(entry):
    specification.validate(build(entry), "test")


def test_the_host_program_takes_every_profile_on_every_device():
    for name, profile in PROFILES.items():
        for variant in profile["variants"]:
            entry = engine(profile=name, image="engine:1") if variant == "gpu" else on_cpu(profile=name, image="engine:1")
            specification.validate(build(entry), name)


def test_no_key_and_no_way_to_one_but_its_file():
    spec = build(engine())
    assert spec["key_file"] == "/etc/indiaai-inference/engines/chat.key"
    assert spec["mounts"][1]["source"] == "/etc/indiaai-inference/engines/chat.secret.yaml"
    assert not any("key" in word for word in spec["command"])
    assert not any("KEY" in name or "TOKEN" in name for name in spec["environment"])


def test_on_the_cpu_no_gpu_is_asked_for():
    spec = build(on_cpu(image="engine:1"))
    assert spec["device_requests"] == []
    assert "--gpu-memory-utilization" not in spec["command"]
    assert "--enforce-eager" in spec["command"]
    assert spec["devices"] == ["cpu"]


def test_on_the_cpu_an_image_must_be_named():
    with pytest.raises(ec.EngineCommandError, match=r"no image of its own for cpu.*inference_models\[\]\.image or inference_engine_image"):
        build(on_cpu(image=None))
    assert build(on_cpu(image=None), image="mine:2")["image"] == "mine:2"


def test_whose_image_counts():
    assert build(engine(image="own:1"), image="all:1")["image"] == "own:1"
    assert build(engine(), image="all:1")["image"] == "all:1"
    assert build(engine(), image_refs={"chat": "archive:1"})["image"] == "archive:1"
    assert build(engine(), image_ids={"chat": "sha256:1"})["image_id"] == "sha256:1"


def test_another_way_to_start_the_engine():
    spec = build(engine(), entrypoint=["/opt/venv/bin/python", "-m", "x"])
    assert spec["entrypoint"] == ["/opt/venv/bin/python", "-m", "x"]
    assert build(engine(), entrypoint=[])["entrypoint"][0] == "python3"


def test_values_the_plan_does_not_have_leave_their_flags_out():
    spec = build(engine(context_length=None, max_running_requests=None, memory_mib=None, aliases=[]))
    for flag in ("--max-model-len", "--max-num-seqs", "--gpu-memory-utilization"):
        assert flag not in spec["command"]


def test_the_memory_fraction_is_rounded_down():
    assert ec.memory_fraction(engine(memory_mib=24000), PLAN["memory"]) == (0.16, None)
    assert ec.memory_fraction(engine(memory_mib=143771), PLAN["memory"]) == (1.0, None)


def test_a_memory_fraction_that_cannot_be():
    assert "gpu_memory_mib" in ec.memory_fraction(engine(memory_mib=200000), PLAN["memory"])[1]
    assert "gpu_memory_mib" in ec.memory_fraction(engine(memory_mib=10), PLAN["memory"])[1]
    assert "no memory size" in ec.memory_fraction(engine(devices=["GPU-other"]), PLAN["memory"])[1]


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"enable-prefix-caching": True}, ["--enable-prefix-caching"]),
        ({"enable-prefix-caching": False}, []),
        ({"tool-call-parser": None}, []),
        ({"kv_cache_dtype": "fp8"}, ["--kv-cache-dtype", "fp8"]),
        ({"cudagraph-capture-sizes": [1, 2, 4]}, ["--cudagraph-capture-sizes", "1", "2", "4"]),
        ({"middleware": ["a.b", "c.d"]}, ["--middleware", "a.b", "--middleware", "c.d"]),
        ({"logits-processors": []}, []),
        ({"speculative-config": {"num_speculative_tokens": 3, "method": "mtp"}}, ["--speculative-config", '{"method":"mtp","num_speculative_tokens":3}']),
        ({"tensor-parallel-size": 2, "seed": 0}, ["--seed", "0", "--tensor-parallel-size", "2"]),
    ],
)
def test_how_values_become_words(args, words):
    command = build(engine(args=args))["command"]
    assert command[command.index("--shutdown-timeout") + 2:] == words


def test_a_users_flag_overrides_the_profiles():
    assert "--enforce-eager" not in build(on_cpu(image="engine:1", args={"enforce-eager": False}))["command"]
    assert "--enforce-eager" not in build(on_cpu(image="engine:1", args={"enforce_eager": False}))["command"]


def test_the_order_of_the_inventory_makes_no_difference():
    one = build(engine(args={"a": 1, "b": {"x": 1, "y": 2}}, env={"A": "1", "B": "2"}))
    two = build(engine(args={"b": {"y": 2, "x": 1}, "a": 1}, env={"B": "2", "A": "1"}))
    assert json.dumps(one) == json.dumps(two)


@pytest.mark.parametrize("flag", ["host", "port", "api-key", "api_key", "served-model-name", "model", "config", "max_model_len", "gpu-memory-utilization"])
def test_flags_that_belong_to_the_plan_are_refused_by_name(flag):
    with pytest.raises(ec.EngineCommandError, match="model 'chat': args has '%s', which is set by" % flag):
        build(engine(args={flag: "x"}))


def test_a_part_of_a_reserved_flag_is_refused_too():
    with pytest.raises(ec.EngineCommandError, match="config.api-key"):
        build(engine(args={"config.api-key": "x"}))


def test_all_problems_come_at_once():
    with pytest.raises(ec.EngineCommandError) as caught:
        build(engine(args={"--seed": 1, "port": 1, "Seed": 2, "max-logprobs": 1, "max_logprobs": 2}, env={"VLLM_API_KEY": "x"}))
    text = str(caught.value)
    for part in ("without dashes in front: 'seed'", "'port', which is set by inference_models[].port", "'Seed', which is not", "are one flag", "VLLM_API_KEY"):
        assert part in text


def test_an_engine_without_a_profile():
    with pytest.raises(ec.EngineCommandError, match="has no profile; known are: vllm"):
        build(engine(profile="other"))


def test_environment_is_text_and_a_users_value_wins():
    environment = build(engine(env={"HF_HUB_OFFLINE": "0", "A": "x"}))["environment"]
    assert environment["HF_HUB_OFFLINE"] == "0"
    assert environment["A"] == "x"
    assert all(isinstance(value, str) for value in environment.values())


def test_limits():
    spec = build(engine(), cpus=1.5, memory_limit_mib=2048)
    assert (spec["nano_cpus"], spec["memory_bytes"]) == (1500000000, 2048 * 1024 * 1024)
    spec = build(engine())
    assert (spec["nano_cpus"], spec["memory_bytes"]) == (None, None)


def test_the_engine_leaves_before_docker_kills_it():
    spec = build(engine(), stop_seconds=90)
    assert int(value_of(spec, "shutdown-timeout")) < spec["drain"]["stop_seconds"]


def test_an_address_of_ipv6():
    assert value_of(build(engine(url="http://[fd00::1]:30000")), "host") == "fd00::1"


def test_the_filter_raises_for_ansible():
    with pytest.raises(AnsibleFilterError, match="has no profile"):
        engine_command(engine(profile="other"), PROFILES, OPTIONS)
    assert engine_command(engine(), PROFILES, OPTIONS) == build(engine())
