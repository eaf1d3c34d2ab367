# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Containers whose GPUs systemd does not know lose them with its next reload: they are listed, and those that lost them named."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_containers as gc

HOOK = {"DeviceRequests": [{"Driver": "nvidia", "DeviceIDs": ["GPU-1"], "Capabilities": [["gpu", "utility"]]}]}
GPUS_ALL = {"DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]}
CDI = {"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["nvidia.com/gpu=0"]}]}
NODES = {"Devices": [{"PathOnHost": "/dev/" + name} for name in ("nvidia0", "nvidiactl", "nvidia-uvm")]}
SOME_NODES = {"Devices": [{"PathOnHost": "/dev/nvidia0"}]}
INFO = {"CgroupDriver": "systemd", "ServerVersion": "26.1.5", "DefaultRuntime": "runc"}


def container(host, name="a", env=()):
    return {"Id": "id-" + name, "Name": "/" + name, "HostConfig": host, "Config": {"Env": list(env)}}


@pytest.mark.parametrize("host, env, default, way", [
    (HOOK, [], "runc", "hook"), (GPUS_ALL, [], "runc", "hook"), (CDI, [], "runc", "cdi"), (NODES, [], "runc", "devices"),
    (SOME_NODES, [], "runc", None), (dict(SOME_NODES, **HOOK), [], "runc", "hook"),
    ({"Runtime": "nvidia"}, ["NVIDIA_VISIBLE_DEVICES=all"], "runc", "runtime"),
    ({}, ["NVIDIA_VISIBLE_DEVICES=0"], "nvidia", "runtime"), ({}, ["NVIDIA_VISIBLE_DEVICES=void"], "nvidia", None),
    ({"Runtime": "nvidia"}, [], "runc", None), ({"Runtime": "runc"}, ["NVIDIA_VISIBLE_DEVICES=all"], "nvidia", None),
    ({}, [], "runc", None), ({"DeviceRequests": [{"Driver": "cdi", "DeviceIDs": ["vendor.com/nic=0"]}]}, [], "runc", None),
])
def test_how_a_container_got_its_gpus(host, env, default, way):
    assert gc.how(container(host, env=env), default) == way


@pytest.mark.parametrize("way, driver, docker, toolkit, cdi_hook, at_risk", [
    ("hook", "systemd", "20.10.24", "1.13.5-1", False, True),
    ("hook", "systemd", "28.5.2", "1.18.2-1", True, True),
    ("hook", "systemd", "29.0.1", "1.18.2-1", True, False),
    ("hook", "systemd", "29.0.1", "1.17.8-1", False, True),
    ("hook", "cgroupfs", "20.10.24", "1.13.5-1", False, False),
    ("runtime", "systemd", "28.5.2", "1.17.8-1", True, True),
    ("runtime", "systemd", "28.5.2", "1.18.2-1", True, False),
    ("runtime", "systemd", "28.5.2", None, False, True),
    ("cdi", "systemd", "28.5.2", None, False, False),
    ("devices", "systemd", "20.10.24", None, False, False),
    (None, "systemd", "20.10.24", None, False, False),
])
def test_report_16_who_loses_gpus_with_a_reload_of_systemd(way, driver, docker, toolkit, cdi_hook, at_risk):
    assert bool(gc.risk(way, driver, docker, toolkit, cdi_hook)) is at_risk


def test_report_16_containers_that_lost_their_gpus_are_listed_for_recreation():
    containers = [container(HOOK, "lost"), container(HOOK, "sees"), container(CDI, "safe"), container({}, "none"), container(HOOK, "plain")]
    answers = {"lost": (255, "Failed to initialize NVML: Unknown Error\n"), "sees": (0, "GPU 0: NVIDIA H200 (UUID: GPU-1)\n"),
               "safe": (0, "GPU 0: NVIDIA H200 (UUID: GPU-1)\n"), "plain": (127, "nvidia-smi: not found")}
    asked = []

    def probe(item):
        asked.append(item["Name"].lstrip("/"))
        return answers[asked[-1]]

    found = {item["name"]: item for item in gc.listing(containers, INFO, "1.17.8-1", False, probe)}
    assert "none" not in asked and list(found) == ["lost", "plain", "safe", "sees"]
    assert [name for name, item in found.items() if item["recreate"]] == ["lost"]
    assert [name for name, item in found.items() if item["at_risk"]] == ["plain", "sees"]
    assert found["lost"]["sees_gpu"] is False and found["sees"]["sees_gpu"] is True and found["plain"]["sees_gpu"] is None


def test_without_a_probe_nobody_is_called_broken():
    found = gc.listing([container(HOOK)], INFO, None, False)
    assert found[0]["at_risk"] and not found[0]["recreate"] and found[0]["sees_gpu"] is None
