# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A specification that names files of an old driver is stale: a container would not start with it."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _cdi

YAML = """---
cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
- name: "0"
  containerEdits:
    deviceNodes:
    - path: /dev/nvidia0
      hostPath: /dev/nvidia0
containerEdits:
  mounts:
  - hostPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10
    containerPath: /usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10
  - {"hostPath": "/usr/bin/nvidia-smi", "containerPath": "/usr/bin/nvidia-smi"}
"""
JSON = json.dumps({"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu",
                   "containerEdits": {"mounts": [{"hostPath": "/usr/bin/nvidia-smi", "containerPath": "/x"}]}})


@pytest.mark.parametrize("text, kind", [(YAML, "nvidia.com/gpu"), (JSON, "nvidia.com/gpu"), ('"kind": "a.b/c"', "a.b/c"), ("", None)])
def test_kind(text, kind):
    assert _cdi.kind(text) == kind


def test_what_it_takes_from_the_host():
    assert _cdi.host_paths(YAML) == ["/dev/nvidia0", "/usr/bin/nvidia-smi", "/usr/lib/x86_64-linux-gnu/libcuda.so.570.86.10"]
    assert _cdi.host_paths(JSON) == ["/usr/bin/nvidia-smi"]


@pytest.mark.parametrize("specifications, there, state", [
    ({}, [], "absent"),
    ({"/etc/cdi/other.yaml": "kind: vendor.com/nic\n"}, [], "absent"),
    ({"/etc/cdi/broken.yaml": "nothing"}, [], "absent"),
    ({"/etc/cdi/nvidia.yaml": YAML}, _cdi.host_paths(YAML), "ok"),
    ({"/etc/cdi/nvidia.yaml": YAML}, ["/dev/nvidia0", "/usr/bin/nvidia-smi"], "stale"),
    ({"/etc/cdi/nvidia.yaml": YAML, "/var/run/cdi/nvidia.json": JSON}, ["/usr/bin/nvidia-smi"], "stale"),
])
def test_stale_after_a_driver_upgrade(specifications, there, state):
    assert _cdi.gpu_state(_cdi.judge(specifications, there.__contains__)) == state
