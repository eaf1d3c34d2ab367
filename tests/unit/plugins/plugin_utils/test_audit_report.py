# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report reads well, and what it says to paste is valid YAML that means the same."""

from __future__ import annotations

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.indiaai.inference.plugins.filter.audit_report import audit_report
from ansible_collections.indiaai.inference.plugins.plugin_utils import _audit_report


def engine(**changes):
    item = {"container": "chat-llm", "unit": None, "url": "http://127.0.0.1:8000", "api": "openai", "models": ["chat: 1"],
            "key_required": False, "pid": 900, "process": "python3", "managed": False, "exposed": True, "memory_mib": 2048}
    item.update(changes)
    return item


def audit(**changes):
    base = {
        "schema_version": 1, "os": {"id": "debian", "version": "12", "name": "Debian 12"}, "kernel": "6.1",
        "cpu": {"count": 2, "model": None}, "memory": {"total_mib": 2048, "available_mib": 1024},
        "disks": [{"path": "/", "device": "/dev/vda", "type": "ext4", "total_mib": 10240, "free_mib": 5120},
                  {"path": "/nas", "device": "nas:/x", "type": "nfs4", "total_mib": None, "free_mib": None}],
        "docker": {"running": False, "reason": "no socket", "containers": []},
        "listeners": [], "engines": [], "tuning": [], "tls": [], "findings": [], "not_seen": ["something"], "failed_units": [],
    }
    base.update(changes)
    return base


def test_foreign_engines_become_entries_to_paste():
    engines = [engine(), engine(container=None, unit="ollama.service", api="ollama", models=[]),
               engine(container="inference-demo", managed=True), engine(container=None, pid=5)]
    found = audit(engines=engines)
    entries = _audit_report.replaces(found)
    assert entries == [
        {"container": "chat-llm", "url": "http://127.0.0.1:8000", "api": "openai", "model": "chat: 1"},
        {"unit": "ollama.service", "url": "http://127.0.0.1:8000", "api": "ollama"}]
    assert yaml.safe_load(_audit_report.replaces_yaml(found)) == {"inference_replaces": entries}
    text = _audit_report.text(found, "node1")
    assert "Audit of node1" in text and "pid 5" in text and "runs in no container and no unit" in text


def test_an_empty_host_gives_a_report_too():
    text = audit_report(audit())
    for part in ("NOT SEEN: something", "not running: no socket", "none found", "nothing stands out", "/nas (nas:/x, nfs4): not measured"):
        assert part in text
    assert yaml.safe_load(audit_report(audit(), "replaces_yaml")) == {"inference_replaces": []}


def test_gpus_and_their_users_are_shown():
    gpu = {"gpus": [{"index": 0, "name": "NVIDIA H200", "state": "ok", "memory_used_mib": 124000, "memory_total_mib": 143771,
                     "processes": [{"pid": 9, "name": "ollama", "container": "ollama-3", "memory_mib": 124000}]}]}
    text = _audit_report.text(audit(gpu=gpu))
    assert "NVIDIA H200" in text and "140.4 GiB" in text and "pid 9, ollama-3" in text


@pytest.mark.parametrize("value, kind", [("no audit", "text"), (audit(), "html")])
def test_wrong_use_is_said(value, kind):
    with pytest.raises(AnsibleFilterError, match="wanted is"):
        audit_report(value, kind)
