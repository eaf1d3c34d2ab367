# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every schema is a schema, its example obeys it, and broken documents do not."""

from __future__ import annotations

import copy
import json
import pathlib

import jsonschema
import pytest

CONTRACTS = pathlib.Path(__file__).resolve().parents[3] / "docs" / "contracts"
NAMES = sorted(path.name[: -len(".schema.json")] for path in CONTRACTS.glob("*.schema.json"))


def schema(name):
    return json.loads((CONTRACTS / (name + ".schema.json")).read_text())


def example(name):
    return json.loads((CONTRACTS / "examples" / (name + ".json")).read_text())


def accepts(name, document):
    return jsonschema.Draft202012Validator(schema(name)).is_valid(document)


def test_the_contracts_of_this_folder_are_there():
    assert {"plan", "gpu_facts", "benchmark_record", "lock"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_schema_and_example(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
    jsonschema.Draft202012Validator(schema(name)).validate(example(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_newer_version_is_not_mistaken_for_this_one(name):
    document = example(name)
    document["schema_version"] += 1
    assert not accepts(name, document)


@pytest.mark.parametrize("name", ["plan", "gpu_facts", "benchmark_record", "lock"])
def test_every_top_level_key_is_known_and_needed(name):
    document = example(name)
    assert not accepts(name, dict(document, surprise=1))
    for key in schema(name)["required"]:
        missing = {other: document[other] for other in document if other != key}
        assert not accepts(name, missing), key


def changed(document, path, value):
    result = copy.deepcopy(document)
    target = result
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return result


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("plan", ["engines"], []),
        ("plan", ["engines", 0, "port"], 80),
        ("plan", ["engines", 0, "slug"], "Not A Slug"),
        ("plan", ["engines", 0, "memory_mib"], "24000"),
        ("plan", ["engines", 0, "devices"], ["0"]),
        ("plan", ["engines", 0, "source"], "models/chat"),
        ("plan", ["device"], "auto"),
        ("plan", ["paths", "extra"], "/x"),
        ("plan", ["replaces"], [{"url": "http://127.0.0.1:8000", "api": "openai"}]),
        ("plan", ["replaces"], [{"container": "a", "unit": "b", "url": "http://127.0.0.1:8000", "api": "openai"}]),
        ("gpu_facts", ["state"], "no_gpu"),
        ("gpu_facts", ["gpus"], []),
        ("gpu_facts", ["gpus", 0, "state"], "fine"),
        ("gpu_facts", ["gpus", 0, "memory_total_mib"], "143771 MiB"),
        ("gpu_facts", ["gpus", 0, "processes", 0, "managed"], None),
        ("benchmark_record", ["levels"], []),
        ("benchmark_record", ["created_at"], "yesterday"),
        ("benchmark_record", ["endpoint", "api"], "grpc"),
        ("benchmark_record", ["levels", 0, "ttft_ms"], {"p50": 1}),
        ("benchmark_record", ["levels", 0, "errors"], {"timeout": 0}),
        ("lock", ["images", "chat", "image_id"], "latest"),
        ("lock", ["images", "chat", "repo_digest"], "vllm:1"),
    ],
)
def test_broken_documents_are_rejected(name, path, value):
    assert accepts(name, example(name))
    assert not accepts(name, changed(example(name), path, value))


@pytest.mark.parametrize("value", [None, 2048])
def test_a_plan_for_cpu_is_accepted(value):
    document = changed(example("plan"), ["engines", 0, "devices"], ["cpu"])
    document = changed(document, ["engines", 0, "memory_mib"], value)
    assert accepts("plan", dict(document, device="cpu", memory={"devices": []}))


def test_an_accepted_replacement():
    entry = {"container": "old", "url": "http://127.0.0.1:8000", "api": "openai", "model": "chat"}
    assert accepts("plan", dict(example("plan"), replaces=[entry]))
