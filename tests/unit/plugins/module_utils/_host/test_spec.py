# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The engine specification: what is accepted, what is refused and with which words."""

from __future__ import annotations

import json
import os

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import spec
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import specs


def test_defaults_complete_a_specification():
    found = specs.complete()
    assert found["address"] == "127.0.0.1"
    assert found["readiness"]["health_path"] == "/health"
    assert found["drain"]["metrics_path"] == "/metrics"
    assert found["mounts"] == [] and found["entrypoint"] is None


def test_defaults_are_not_shared_between_specifications():
    specs.complete()["mounts"].append("x")
    assert specs.complete()["mounts"] == []


@pytest.mark.parametrize("change,words", [
    ({"port": "30000"}, "key 'port': found \"30000\", wanted whole number"),
    ({"port": 0}, "key 'port': found 0, wanted a port, 1 to 65535"),
    ({"port": True}, "key 'port': found true, wanted whole number"),
    ({"slug": "De mo"}, "key 'slug': found \"De mo\", wanted lower-case"),
    ({"devices": []}, "key 'devices': found [], wanted a list of at least one device"),
    ({"environment": {"A": 1}}, "key 'environment'"),
    ({"mounts": [{"source": "x", "target": "/x"}]}, "key 'mounts'"),
    ({"schema_version": 2}, "key 'schema_version': found 2, wanted 1"),
    ({"comand": []}, "unknown key 'comand'"),
    ({"image": None}, "key 'image': found null, wanted text"),
    ({"readiness": {"load_seconds": 0}}, "key 'readiness.load_seconds': found 0, wanted a number above 0"),
    ({"readiness": {"request": {"path": "v1"}}}, "key 'readiness.request.body' is missing"),
    ({"drain": {"running_metric": 3}}, "key 'drain.running_metric'"),
    ({"extra_host_config": {"Privileged": True}}, "wanted no Privileged: inferctl sets it itself"),
])
def test_an_error_names_the_file_the_key_and_what_is_wanted(change, words):
    with pytest.raises(spec.SpecError) as error:
        specs.complete(**change)
    assert str(error.value).startswith("demo.json: ")
    assert words in str(error.value)


def test_all_problems_are_told_at_once():
    data = specs.raw(port=0, wrong=1)
    del data["image"]
    with pytest.raises(spec.SpecError) as error:
        spec.validate(data, "x.json")
    assert all(words in str(error.value) for words in ("'port'", "'wrong'", "'image' is missing"))


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(spec.SpecError, match="gone.json does not exist"):
        spec.load(str(tmp_path / "gone.json"))
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(spec.SpecError, match="bad.json is not valid JSON"):
        spec.load(str(tmp_path / "bad.json"))
    (tmp_path / "list.json").write_text("[]")
    with pytest.raises(spec.SpecError, match="wanted an object"):
        spec.load(str(tmp_path / "list.json"))


def test_the_hash_covers_the_container_and_nothing_else():
    base = spec.config_hash(specs.complete())
    assert base == spec.config_hash(specs.complete())
    assert base == spec.config_hash(specs.complete(liveness={"hang_seconds": 99}, key_file="/x", name="Other"))
    for change in ({"image": "b"}, {"command": []}, {"environment": {"A": "1"}}, {"devices": ["GPU-1"]}, {"image_id": "sha256:1"}):
        assert spec.config_hash(specs.complete(**change)) != base


def test_the_example_satisfies_the_schema_and_the_program():
    jsonschema = pytest.importorskip("jsonschema")
    folder = os.path.realpath(__file__)
    while not os.path.isdir(os.path.join(folder, "docs", "contracts")):
        folder = os.path.dirname(folder)
        if folder == "/":
            pytest.skip("the contracts are not part of this copy")
    with open(os.path.join(folder, "docs/contracts/engine.schema.json"), encoding="utf-8") as handle:
        schema = json.load(handle)
    with open(os.path.join(folder, "docs/contracts/examples/engine.json"), encoding="utf-8") as handle:
        example = json.load(handle)
    jsonschema.Draft202012Validator(schema).validate(example)
    jsonschema.Draft202012Validator(schema).validate(specs.raw())
    jsonschema.Draft202012Validator(schema).validate(spec.validate(example, "engine.json"))
    assert set(schema["properties"]) == set(spec.validate(example, "engine.json")), "schema and program know the same keys"
