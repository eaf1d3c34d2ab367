# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Huge pages and governor: what is written, what is skipped with which reason, what a boot writes again."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _sysfs_profile
from ansible_collections.indiaai.inference.plugins.module_utils._host import sysfs
from ansible_collections.indiaai.inference.plugins.modules import sysfs_profile

OPTIONS = {"transparent_hugepage": "madvise", "transparent_hugepage_defrag": "madvise", "governor": "performance"}


@pytest.fixture
def rows(tmp_path):
    """The rows, on a folder that stands for /sys: two CPUs with governors, huge pages always on."""
    for name, text in (
        ("kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
        ("kernel/mm/transparent_hugepage/defrag", "always defer defer+madvise [madvise] never\n"),
        ("devices/system/cpu/cpufreq/policy0/scaling_governor", "schedutil\n"),
        ("devices/system/cpu/cpufreq/policy0/scaling_available_governors", "performance schedutil\n"),
        ("devices/system/cpu/cpufreq/policy1/scaling_governor", "performance\n"),
        ("devices/system/cpu/cpufreq/policy1/scaling_available_governors", "performance schedutil\n"),
    ):
        path = tmp_path / "sys" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    return [row._replace(pattern=str(tmp_path) + row.pattern) for row in _sysfs_profile.wanted(OPTIONS)]


def run(rows, theirs=None, check=False):
    items = sysfs_profile.judge(rows, theirs or {})
    (sysfs_profile.predict if check else sysfs_profile.apply)(items)
    return {item["row"].name: item for item in items}


def test_what_differs_is_written_and_read_back(rows):
    found = run(rows)
    assert {name: item["state"] for name, item in found.items()} == {
        "transparent_hugepage": "applied", "transparent_hugepage_defrag": "ok", "governor": "applied"}
    assert found["governor"]["before"] == "performance schedutil" and found["governor"]["value"] == "performance"
    assert {item["state"] for item in run(rows).values()} == {"ok"}


def test_a_preview_promises_the_same_and_touches_nothing(rows):
    promised = run(rows, check=True)
    assert sysfs.read(rows[0].pattern) == "always"
    done = run(rows)
    assert {name: (item["state"], item["value"]) for name, item in promised.items()} == {
        name: (item["state"], item["value"]) for name, item in done.items()}


def test_a_machine_without_cpufreq_is_skipped_with_the_reason(tmp_path):
    items = run([row._replace(pattern=str(tmp_path) + row.pattern) for row in _sysfs_profile.wanted(OPTIONS)])
    assert items["governor"]["state"] == "missing" and "no cpufreq" in items["governor"]["message"]
    assert "no transparent huge pages" in items["transparent_hugepage"]["message"]


def test_a_governor_that_the_driver_has_not_is_named_with_those_it_has(rows):
    item = run([row._replace(value="turbo") for row in rows if row.name == "governor"])["governor"]
    assert item["state"] == "missing" and "performance, schedutil" in item["message"]


def test_what_tuned_sets_is_left_to_it(rows):
    found = run(rows, {"transparent_hugepage": "never", "governor": "performance"})
    assert found["transparent_hugepage"]["state"] == "shadowed" and sysfs.read(rows[0].pattern) == "always"
    assert found["governor"]["state"] == "applied"


def test_a_boot_writes_the_same_again():
    found = _sysfs_profile.files(_sysfs_profile.wanted(OPTIONS))
    assert found[_sysfs_profile.PATH].splitlines()[1:] == [
        "w /sys/kernel/mm/transparent_hugepage/enabled - - - - madvise",
        "w /sys/kernel/mm/transparent_hugepage/defrag - - - - madvise",
        "w /sys/devices/system/cpu/cpufreq/policy*/scaling_governor - - - - performance"]
    assert _sysfs_profile.PATH in [text for path, text in found.items() if path.endswith(".service")][0]
    assert set(_sysfs_profile.files([]).values()) == {None}
    kept = _sysfs_profile.wanted(dict(OPTIONS, governor="keep"))
    assert [path for path, text in _sysfs_profile.files(kept).items() if text] == [_sysfs_profile.PATH]


def test_values_and_choices_of_the_kernel():
    assert sysfs.chosen("always [madvise] never\n") == "madvise" and sysfs.choices("always [madvise] never\n") == ["always", "madvise", "never"]
    assert sysfs.chosen("0000ffff,ffffffff\n") == "0000ffff,ffffffff" and sysfs.choices("12\n") == []
