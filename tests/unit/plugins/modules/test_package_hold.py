# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages are held by patterns over what is installed, in one call, and undo releases only those."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._host import journal
from ansible_collections.indiaai.inference.plugins.modules import package_hold

DRIVER = ("nvidia-*", "libnvidia-*", "cuda-drivers*")


class Stop(Exception):
    """The module ended."""


class Dpkg:
    """dpkg and its database: name -> [version, want, status]."""

    def __init__(self):
        self.packages = {
            "bash": ["5.2-1", "install", "installed"],
            "libnvidia-compute-580:amd64": ["580.95.05-1", "install", "installed"],
            "nvidia-old": ["1", "deinstall", "config-files"],
            "nvidia-utils-580": ["580.95.05-1", "install", "installed"],
            "nvidia-kernel-580": ["580.95.05-1", "hold", "installed"],
        }
        self.writes = []
        self.locked = 0

    def run_command(self, argv, data=None, check_rc=False):
        if argv[0].endswith("dpkg-query"):
            assert argv[2] == r"--showformat=${binary:Package}\t${Version}\t${db:Status-Want}\t${db:Status-Status}\n"
            return 0, "".join("\t".join([name] + fields) + "\n" for name, fields in self.packages.items()), ""
        if self.locked:
            self.locked -= 1
            return 2, "", "dpkg: error: dpkg database is locked by another process with pid 7\n"
        self.writes.append(data)
        for line in data.splitlines():
            name, want = line.split()
            self.packages[name][1] = want
        return 0, "", ""

    # ---- what the journal asks ----

    def package_held(self, name):
        found = self.packages.get(name)
        return found[1] == "hold" if found and found[2] == "installed" else None

    def hold_package(self, name, held):
        self.packages[name][1] = "hold" if held else "install"


@pytest.fixture(name="dpkg")
def dpkg_fixture():
    return Dpkg()


@pytest.fixture(name="run")
def run_fixture(dpkg, tmp_path, monkeypatch):
    """Run the module -> its result; failures have the key "failed"."""
    book = journal.Journal(root=str(tmp_path), system=dpkg)
    monkeypatch.setattr(package_hold.journal, "Journal", lambda: book)
    monkeypatch.setattr(package_hold.time, "sleep", lambda seconds: None)

    def run(names=DRIVER, check=False, **params):
        results = []

        class Module:
            def __init__(self, argument_spec, supports_check_mode):
                given = dict(params, names=list(names))
                self.params = {name: given.get(name, option.get("default")) for name, option in argument_spec.items()}
                self.check_mode = check
                self.run_command = dpkg.run_command

            def get_bin_path(self, name, required=False):
                return "/usr/bin/" + name

            def exit_json(self, **result):
                results.append(result)
                raise Stop

            def fail_json(self, **result):
                self.exit_json(failed=True, **result)

        monkeypatch.setattr(package_hold, "AnsibleModule", Module)
        with pytest.raises(Stop):
            package_hold.main()
        return json.loads(json.dumps(results[0]))

    run.book = book
    return run


def test_installed_packages_that_match_are_held_in_one_call(run, dpkg):
    result = run()
    assert result["changed"] and result["changed_packages"] == ["libnvidia-compute-580:amd64", "nvidia-utils-580"]
    assert dpkg.writes == ["libnvidia-compute-580:amd64 hold\nnvidia-utils-580 hold\n"]
    assert [package["name"] for package in result["packages"] if package["held"]] == [
        "libnvidia-compute-580:amd64", "nvidia-kernel-580", "nvidia-utils-580"]
    assert result["unmatched"] == ["cuda-drivers*"]
    assert not dpkg.package_held("bash") and dpkg.packages["nvidia-old"][1] == "deinstall"


def test_the_second_run_calls_nobody(run, dpkg):
    run()
    dpkg.writes.clear()
    assert run()["changed"] is False and not dpkg.writes


def test_check_mode_promises_and_holds_nothing(run, dpkg):
    promised = run(check=True, undo_role="r")
    assert not dpkg.writes and not run.book.entries()
    assert run()["changed_packages"] == promised["changed_packages"]
    assert " held" in promised["diff"]["after"] and promised["diff"]["before"] != promised["diff"]["after"]


def test_undo_releases_only_what_was_held_here(run, dpkg):
    run(undo_role="r")
    run(undo_role="r")
    dpkg.packages["nvidia-utils-580"][2] = "config-files"  # removed by somebody meanwhile
    result = run.book.restore("r")
    assert not result["failed"] and not result["kept"]
    assert dpkg.packages["libnvidia-compute-580:amd64"][1] == "install"
    assert dpkg.packages["nvidia-kernel-580"][1] == "hold"  # the administrator's own
    assert dpkg.packages["nvidia-utils-580"][1] == "hold"  # gone: not touched


def test_what_was_not_installed_before_is_released_by_undo(run, dpkg):
    run.book.record("r", [{"kind": "hold", "name": "cuda-drivers"}, {"kind": "hold", "name": "never-came"}])
    dpkg.packages["cuda-drivers"] = ["580.95.05-1", "install", "installed"]
    run(undo_role="r")
    assert dpkg.package_held("cuda-drivers") is True
    assert not run.book.restore("r")["failed"]
    assert dpkg.package_held("cuda-drivers") is False


def test_undo_of_a_release_holds_again(run, dpkg):
    run(names=["nvidia-kernel-580"], state="released", undo_role="r")
    assert dpkg.packages["nvidia-kernel-580"][1] == "install"
    run.book.restore("r")
    assert dpkg.packages["nvidia-kernel-580"][1] == "hold"


def test_another_user_of_dpkg_is_waited_for_and_not_for_ever(run, dpkg):
    dpkg.locked = 2
    assert run()["changed"] is True
    dpkg.locked = 1
    result = run(state="released", lock_timeout=0)
    assert result["failed"] and "locked by another process" in result["msg"]


@pytest.mark.parametrize("name", ["", "nvidia *", "a\nb hold", "-x", "Nvidia"])
def test_what_is_no_name_is_refused_before_anything_is_touched(run, dpkg, name):
    result = run(names=["nvidia-*", name])
    assert result["failed"] and repr(name) in result["msg"] and not dpkg.writes
