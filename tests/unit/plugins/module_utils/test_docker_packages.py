# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Docker that is there is kept whatever its vendor, and what stands in the way of another source is named."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _docker_packages as dp

DPKG = """docker.io installed 20.10.24+dfsg1-1+deb12u1+b3
containerd installed 1.6.20~ds1-1+deb12u1
docker-ce config-files 5:24.0.7-1~debian.12~bookworm
nvidia-container-toolkit installed 1.18.2-1
nvidia-container-toolkit-base installed 1.17.8-1
runc not-installed
"""
OURS = "/etc/apt/sources.list.d/indiaai-nvidia-container-toolkit.sources"


def test_removed_packages_do_not_count():
    assert sorted(dp.installed(DPKG)) == ["containerd", "docker.io", "nvidia-container-toolkit", "nvidia-container-toolkit-base"]


@pytest.mark.parametrize("packages, family", [
    ({"docker.io": "1"}, "distribution"), ({"docker-ce": "1"}, "vendor"), ({"containerd": "1"}, None), ({}, None)])
def test_family(packages, family):
    assert dp.family(packages) == family


def test_no_package_is_removed_for_another():
    assert dp.obstacles({"containerd": "1", "runc": "1"}, "vendor") == ["containerd", "runc"]
    assert dp.obstacles({"containerd": "1", "runc": "1"}, "distribution") == []
    assert dp.obstacles({"containerd.io": "1"}, "distribution") == ["containerd.io"]
    assert dp.obstacles({"podman-docker": "1"}, "vendor") == ["podman-docker"]
    assert dp.obstacles({"nvidia-container-toolkit": "1"}, "vendor") == []


def test_the_four_packages_of_the_toolkit_belong_together():
    found = dp.toolkit(dp.installed(DPKG))
    assert found["mixed"] is True and found["version"] == "1.18.2-1"
    assert dp.toolkit({name: "1.18.2-1" for name in dp.TOOLKIT})["mixed"] is False
    assert dp.toolkit({}) == {"packages": {}, "version": None, "mixed": False}


@pytest.mark.parametrize("name, text, stale", [
    ("nvidia-docker.list", "deb https://nvidia.github.io/libnvidia-container/stable/debian10/$(ARCH) /\n", True),
    ("libnvidia-container.list", "deb https://mirror.example/nvidia /\n", True),
    ("nvidia-docker.list", "# deb https://nvidia.github.io/nvidia-docker/debian10/$(ARCH) /\n", False),
    ("nvidia-docker.list", "", False),
    ("local.list", "deb [signed-by=/x] https://nvidia.github.io/libnvidia-container/stable/deb/$(ARCH) /\n", True),
    ("cuda.list", "deb https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64/ /\n", False),
])
def test_lists_of_an_earlier_toolkit_are_found_by_name_and_by_what_they_point_to(name, text, stale):
    path = "/etc/apt/sources.list.d/" + name
    found = dp.stale_sources({path: text, OURS: "URIs: https://nvidia.github.io/libnvidia-container/stable/deb/amd64\n"}, OURS)
    assert [item["path"] for item in found] == ([path] if stale else [])


@pytest.mark.parametrize("version, mode", [
    ("20.10.24+dfsg1", "legacy"), ("24.0.9", "legacy"), ("25.0.0", "cdi-feature"), ("26.1.5+dfsg1", "cdi-feature"),
    ("28.1.1", "cdi-feature"), ("28.2.0", "cdi"), ("5:28.5.2-1~debian.12~bookworm", "cdi"), ("29.0.1", "cdi"), (None, "legacy")])
def test_cdi_by_version(version, mode):
    assert dp.gpu_mode(version) == mode


def test_what_the_daemon_needs_for_gpus():
    assert dp.gpu_settings("cdi", True) == {}
    assert dp.gpu_settings("cdi-feature", True) == {"features": {"cdi": True}}
    assert dp.gpu_settings("legacy", True) == {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}
    assert dp.gpu_settings("legacy", False) == {}
