# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host without a network gets what is wanted, with all it depends on, and nothing else of the directory."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _deb_directory as dd


def compare(one, word, other):
    one, other = ([int(part) for part in text.split(".")] for text in (one, other))
    return {"lt": one < other, "le": one <= other, "eq": one == other, "ge": one >= other, "gt": one > other}[word]


def package(name, version="1.0", architecture="amd64", **more):
    return dict({"Package": name, "Version": version, "Architecture": architecture}, **{key.replace("_", "-"): text for key, text in more.items()})


def choose(files, names, installed=None):
    found = {name: {"version": version, "provides": provides} for name, (version, provides) in (installed or {}).items()}
    directory = dd.Directory({"/d/%d.deb" % number: item for number, item in enumerate(files)}, found, compare, "amd64")
    chosen, missing = directory.choose(names)
    return [(item["Package"], item["Version"]) for item in chosen], missing


def test_fields_of_a_package():
    text = "Package: a\nVersion: 1\nDepends: b (>= 1),\n c\nProvides: d\n"
    assert dd.fields(text) == {"Package": "a", "Version": "1", "Depends": "b (>= 1), c", "Provides": "d"}


def test_dependencies_come_along_and_the_rest_stays():
    files = [package("docker-ce", Depends="containerd.io (>= 1.6), iptables, libc6 (>= 2.34)", Pre_Depends="init-system-helpers"),
             package("containerd.io", "1.7"), package("iptables", Depends="libxtables12"), package("libxtables12"), package("games")]
    assert choose(files, ["docker-ce"], {"libc6": ("2.36", ""), "init-system-helpers": ("1.0", "")}) == (
        [("containerd.io", "1.7"), ("docker-ce", "1.0"), ("iptables", "1.0"), ("libxtables12", "1.0")], [])


def test_an_installed_package_is_kept_unless_another_version_is_asked_for():
    files = [package("a", "2.0")]
    assert choose(files, ["a"], {"a": ("1.0", "")}) == ([], [])
    assert choose(files, ["a=1.0"], {"a": ("1.0", "")}) == ([], [])
    assert choose(files, ["a=2.0"], {"a": ("1.0", "")}) == ([("a", "2.0")], [])


def test_the_newest_that_fits_is_taken():
    files = [package("a", "1.9"), package("a", "1.10"), package("a", "2.0", "arm64"), package("b", "2.0"), package("b", "1.0"),
             package("c", Depends="b (<< 2.0)")]
    assert choose(files, ["a", "c"]) == ([("a", "1.10"), ("b", "1.0"), ("c", "1.0")], [])
    assert choose(files, ["a=1.9"]) == ([("a", "1.9")], [])


def test_an_installed_dependency_that_is_too_old_is_replaced():
    files = [package("a", Depends="b (>= 2.0)"), package("b", "2.0")]
    assert choose(files, ["a"], {"b": ("1.0", "")}) == ([("a", "1.0"), ("b", "2.0")], [])


@pytest.mark.parametrize("depends, installed, chosen, missing", [
    ("mail | post", {"post": ("1.0", "")}, [], []),
    ("mail", {"exim": ("1.0", "mail")}, [], []),
    ("mail (>= 2.0)", {"exim": ("1.0", "mail")}, [("post", "1.0")], []),
    ("mail (>= 2.0)", {"exim": ("1.0", "mail (= 3.0)")}, [], []),
    ("nobody | unheard", {}, [], ["nobody | unheard"]),
    ("post:any", {}, [("post", "1.0")], []),
])
def test_alternatives_and_what_other_packages_provide(depends, installed, chosen, missing):
    files = [package("a", Depends=depends), package("post", Provides="mail (= 2.5)")]
    assert choose(files, ["a"], installed) == ([("a", "1.0")] + chosen, missing)


def test_circles_end():
    assert choose([package("a", Depends="b"), package("b", Depends="a")], ["a"])[0] == [("a", "1.0"), ("b", "1.0")]


@pytest.mark.parametrize("name, words", [("b", "none of that name"), ("a=3.0", "wanted is a 3.0, the directory has 1.0, 2.0")])
def test_what_the_directory_does_not_have_is_named(name, words):
    with pytest.raises(dd.DirectoryError, match=words):
        choose([package("a", "1.0"), package("a", "2.0")], [name])
