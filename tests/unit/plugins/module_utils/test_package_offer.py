# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages of a folder or a repository are taken."""

from __future__ import annotations

import fnmatch
import shutil
import subprocess

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _package_offer

MADISON = """\
cuda-drivers | 590.48.01-1 | https://mirror.example/cuda  Packages
cuda-drivers | 580.95.05-1 | https://mirror.example/cuda  Packages
cuda-drivers-570 | 570.172.08-1 | https://mirror.example/cuda  Packages
cuda-drivers | 590.48.01-1 | https://mirror.example/cuda Sources
"""


def folder(*files):
    return [_package_offer.offer(name, version, "/srv/%s_%s.deb" % (name, version)) for name, version in files]


def driver(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in ("nvidia-*", "libnvidia-*"))


def taken(offers, wanted):
    chosen, problems = _package_offer.from_directory(offers, wanted, driver)
    assert not problems
    return {entry["name"]: entry["version"] for entry in chosen}


def test_of_alternatives_the_first_with_the_wanted_version_is_taken():
    offers = _package_offer.madison(MADISON)
    assert len(offers) == 3
    for wanted, install in (("580", "cuda-drivers=580.95.05-1"), ("590.48.01", "cuda-drivers=590.48.01-1"), ("570", "cuda-drivers-570=570.172.08-1")):
        chosen, problems = _package_offer.from_repository(["cuda-drivers-%s|cuda-drivers" % wanted.partition(".")[0]], offers, wanted)
        assert not problems and [entry["install"] for entry in chosen] == [install]


def test_a_version_that_is_not_offered_is_answered_by_those_that_are():
    chosen, problems = _package_offer.from_repository(["cuda-drivers", "nvidia-fabricmanager"], _package_offer.madison(MADISON), "575")
    assert not chosen
    assert problems == ["cuda-drivers is offered as 590.48.01, 580.95.05", "nvidia-fabricmanager is not offered"]


def test_a_folder_gives_one_version_of_the_driver_and_what_it_needs():
    offers = folder(("nvidia-utils-580", "580.82.07-1"), ("nvidia-utils-580", "580.95.05-1"), ("libnvidia-compute-580", "580.82.07-1"),
                    ("libnvidia-compute-580", "580.95.05-1"), ("nvidia-utils-570", "570.172.08-1"), ("dkms", "3.0-1"), ("dkms", "3.0.11-1"))
    assert taken(offers, "580") == {"nvidia-utils-580": "580.95.05-1", "libnvidia-compute-580": "580.95.05-1", "dkms": "3.0.11-1"}
    assert taken(offers, "580.82.07")["libnvidia-compute-580"] == "580.82.07-1"
    assert taken(offers, "570") == {"nvidia-utils-570": "570.172.08-1", "dkms": "3.0.11-1"}


def test_tools_of_the_vendor_have_versions_of_their_own():
    offers = folder(("nvidia-driver", "535.247.01-1"), ("nvidia-modprobe", "535.161.07-1"), ("nvidia-container-toolkit", "1.18.0-1"))
    assert taken(offers, "535") == {"nvidia-driver": "535.247.01-1", "nvidia-modprobe": "535.161.07-1", "nvidia-container-toolkit": "1.18.0-1"}


def test_a_folder_without_the_version_tells_what_it_has():
    offers = folder(("nvidia-utils-570", "570.172.08-1"), ("dkms", "3.0-1"))
    assert _package_offer.from_directory(offers, "580", driver) == ([], ["the driver is there as 570.172.08"])
    assert _package_offer.from_directory(folder(("dkms", "3.0-1")), "580", driver)[1] == ["none of the packages is part of the driver: dkms"]


def test_a_branch_is_no_beginning_of_a_number():
    assert not _package_offer.belongs("5800.1", "580") and _package_offer.belongs("580.1", "580")


PAIRS = [("1.0", "1.0"), ("1.9", "1.10"), ("1.0~rc1", "1.0"), ("1:0.9", "2.0"), ("1.0-1", "1.0-1.1"), ("1.0-9", "1.0-10"), ("1.0a", "1.0+"), ("1.0", "1.0a"),
         ("580.95.05-0ubuntu0.24.04.1", "580.95.05-0ubuntu1"), ("580.95.05-1", "580.126.09-1"), ("1.0~~", "1.0~")]


@pytest.mark.skipif(not shutil.which("dpkg"), reason="dpkg is the judge")
@pytest.mark.parametrize("left, right", PAIRS)
def test_versions_are_ordered_as_dpkg_does(left, right):
    for a, b in ((left, right), (right, left)):
        for sign, relation in ((-1, "lt"), (0, "eq"), (1, "gt")):
            said = subprocess.run(["dpkg", "--compare-versions", a, relation, b], check=False).returncode == 0
            assert (_package_offer.compare(a, b) == sign) == said, (a, relation, b)
