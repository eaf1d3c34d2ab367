# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The typo guard: known is what the roles declare."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.filter.unknown_variables import unknown_variables
from ansible_collections.indiaai.inference.plugins.plugin_utils import _known_variables

SPECS = [
    {"argument_specs": {"main": {"options": {"inference_models": {}, "inference_device": {}, "serving_plan_state": {}}}}},
    {"argument_specs": {"main": {"options": {"inference_engine_image": {}}}, "load": {"options": {"inference_extra": {}}}}},
    {"argument_specs": {"main": {}}},
    None,
]
KNOWN = _known_variables.known(SPECS)


def test_every_entry_point_of_every_role_counts():
    assert {"inference_models", "inference_engine_image", "inference_extra", "serving_plan_state"} <= KNOWN


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("inference_modles", "inference_models"),
        ("inference_model", "inference_models"),
        ("inference_devices", "inference_device"),
        ("inference_engine_imgae", "inference_engine_image"),
        ("inference_zzz", "inference_device"),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_one(name, nearest):
    found = _known_variables.unknown([name], KNOWN)
    assert [item["name"] for item in found] == [name]
    # However far off, some known name is offered.
    assert found[0]["nearest"] in KNOWN
    if name != "inference_zzz":
        assert found[0]["nearest"] == nearest


def test_known_names_and_other_prefixes_pass():
    assert _known_variables.unknown(["inference_models", "inference_engine_image", "ansible_host", "my_inference_x"], KNOWN) == []


def test_without_any_spec_there_is_no_hint():
    assert _known_variables.nearest("inference_x", []) == ""


def test_the_filter_reads_the_roles_of_the_collection():
    assert unknown_variables(["inference_models", "inference_cutover"]) == []
    assert unknown_variables(["inference_modles"]) == [{"name": "inference_modles", "nearest": "inference_models"}]
