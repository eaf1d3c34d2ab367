# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A source is asked without the host noticing, and whatever is wrong with it is said."""

from __future__ import annotations

import os

import pytest

from ansible_collections.indiaai.inference.plugins.modules import package_offer_info

KEY = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAA\n-----END PGP PUBLIC KEY BLOCK-----"
REPOSITORY = {"url": "https://mirror.example/cuda", "suite": "/", "components": [], "key": KEY}


class Stop(Exception):
    """The module ended."""


class Apt:
    """dpkg and apt; files: {name of a file: fields}."""

    def __init__(self):
        self.files, self.argv, self.seen = {}, [], None
        self.update, self.simulate, self.offered = (0, "", ""), (0, "", ""), ""

    def run_command(self, argv, check_rc=False, environ_update=None):
        self.argv.append(argv)
        if argv[0] == "dpkg":
            return 0, "amd64\n", ""
        if argv[0] == "dpkg-deb":
            fields = self.files[os.path.basename(argv[-1])]
            return (0, fields, "") if fields else (2, "", "dpkg-deb: error: not a Debian format archive")
        if "madison" in argv:
            return 0, self.offered, ""
        if argv[-1] == "update":
            sources = [part for part in argv if part.startswith("Dir::Etc::SourceList=")][0].partition("=")[2]
            with open(sources, encoding="utf-8") as stream:
                self.seen = stream.read()
            return self.update
        assert "--simulate" in argv
        return self.simulate


@pytest.fixture(name="apt")
def apt_fixture():
    return Apt()


@pytest.fixture(name="ask")
def ask_fixture(apt, monkeypatch, tmp_path):
    monkeypatch.setattr(package_offer_info.tempfile, "tempdir", str(tmp_path))

    def ask(**params):
        results = []

        class Module:
            run_command = staticmethod(apt.run_command)

            def __init__(self, argument_spec, **dummy):
                self.params = {name: params.get(name, option.get("default")) for name, option in argument_spec.items()}

            def get_bin_path(self, name):
                return name

            def exit_json(self, **result):
                results.append(result)
                raise Stop

        monkeypatch.setattr(package_offer_info, "AnsibleModule", Module)
        with pytest.raises(Stop):
            package_offer_info.main()
        return results[0]

    return ask


def folder(tmp_path, apt, **files):
    for name, fields in files.items():
        (tmp_path / (name + ".deb")).write_bytes(b"")
        apt.files[name + ".deb"] = fields
    return str(tmp_path)


def test_a_folder_that_is_not_there_or_empty(ask, tmp_path):
    assert ask(version="580", directory=str(tmp_path / "no"))["problems"] == ["there is no folder %s on the host" % (tmp_path / "no")]
    assert ask(version="580", directory=str(tmp_path))["problems"] == ["there is no package (*.deb) in %s" % tmp_path]


def test_packages_for_other_machines_are_left_out(ask, apt, tmp_path):
    found = folder(tmp_path, apt, a="nvidia-utils 580.95.05-1 amd64", b="nvidia-utils 580.95.05-1 arm64", c="nvidia-doc 580.95.05-1 all")
    result = ask(version="580", directory=found)
    assert [entry["install"] for entry in result["chosen"]] == [found + "/c.deb", found + "/a.deb"] and result["problems"] == []
    apt.files.update({"a.deb": "nvidia-utils 580.95.05-1 arm64", "c.deb": "nvidia-doc 580.95.05-1 arm64"})
    assert ask(version="580", directory=found)["problems"] == ["none of the 3 packages in %s is for amd64" % found]


def test_a_file_that_is_no_package_is_named(ask, apt, tmp_path):
    found = folder(tmp_path, apt, a="nvidia-utils 580.95.05-1 amd64", cut="")
    assert ask(version="580", directory=found)["problems"] == ["%s/cut.deb is no package: dpkg-deb: error: not a Debian format archive" % found]


def test_a_missing_dependency_shows_before_the_installation(ask, apt, tmp_path):
    found = folder(tmp_path, apt, a="nvidia-utils 580.95.05-1 amd64")
    apt.simulate = (100, "The following packages have unmet dependencies:\n nvidia-utils : Depends: dkms but it is not installable\n", "E: held broken\n")
    (problem,) = ask(version="580", directory=found)["problems"]
    assert "Depends: dkms but it is not installable" in problem


def test_a_repository_is_read_with_settings_of_its_own_that_go_again(ask, apt, tmp_path):
    apt.offered = "cuda-drivers | 580.95.05-1 | https://mirror.example/cuda  Packages\n"
    result = ask(version="580", packages=["cuda-drivers-580|cuda-drivers"], repository=REPOSITORY)
    assert [entry["install"] for entry in result["chosen"]] == ["cuda-drivers=580.95.05-1"]
    assert apt.seen.startswith("deb [signed-by=%s" % tmp_path) and apt.seen.endswith("] https://mirror.example/cuda /\n")
    for argv in apt.argv:
        assert any(part.startswith("Dir::State::Lists=%s" % tmp_path) for part in argv)
    assert os.listdir(tmp_path) == []


def test_a_repository_that_cannot_be_read_is_refused(ask, apt, tmp_path):
    apt.update = (100, "", "E: The repository is not signed.\n")
    (problem,) = ask(version="580", packages=["cuda-drivers"], repository=REPOSITORY)["problems"]
    assert problem == "https://mirror.example/cuda / cannot be read: E: The repository is not signed."
    apt.update = (0, "", "W: GPG error: https://mirror.example NO_PUBKEY 1\n")
    assert "NO_PUBKEY" in ask(version="580", packages=["cuda-drivers"], repository=REPOSITORY)["problems"][0]
    assert os.listdir(tmp_path) == []


def test_a_key_that_is_none_never_reaches_apt(ask, apt):
    (problem,) = ask(version="580", packages=["x"], repository=dict(REPOSITORY, key="\x99\x01"))["problems"]
    assert "BEGIN PGP PUBLIC KEY BLOCK" in problem and apt.argv == []
