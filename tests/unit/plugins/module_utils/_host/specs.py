# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A small valid specification for the tests beside."""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils._host import spec as spec_module


def raw(**changes):
    """The specification as a role writes it."""
    data = {
        "schema_version": 1,
        "name": "Demo",
        "slug": "demo",
        "container": "inference-demo",
        "image": "example/engine:1",
        "command": ["--port", "30000"],
        "port": 30000,
        "served_model": "demo",
        "devices": ["cpu"],
        "readiness": {
            "request": {"path": "/v1/chat/completions", "body": {"model": "demo", "max_tokens": 1}},
            "load_seconds": 100,
            "request_seconds": 10,
        },
        "liveness": {"hang_seconds": 12},
        "drain": {"running_metric": "running", "drain_seconds": 20, "stop_seconds": 5},
        "backoff": {"base_seconds": 2, "max_seconds": 60, "window_seconds": 600},
    }
    data.update(changes)
    return data


def complete(**changes):
    """The same, checked and completed."""
    return spec_module.validate(raw(**changes), "demo.json")
