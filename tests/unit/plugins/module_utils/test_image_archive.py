# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Image archives: the id comes from the content, and what is no archive says so."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _image_archive


def save(path, images, mode="w"):
    """An archive as docker save writes it: images is [(config bytes, tags)]."""
    manifest = []
    with tarfile.open(path, mode) as archive:
        for config, tags in images:
            name = "%s.json" % hashlib.sha256(config).hexdigest()
            manifest.append({"Config": name, "RepoTags": tags, "Layers": []})
            _add(archive, name, config)
        _add(archive, "manifest.json", json.dumps(manifest).encode())
    return str(path)


def _add(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_describe(tmp_path, mode):
    path = save(tmp_path / "a.tar", [(b"{}", ["engine:1"]), (b"[]", None)], mode)
    found = _image_archive.describe(path)
    assert found["images"] == [
        {"image_id": "sha256:" + hashlib.sha256(b"{}").hexdigest(), "tags": ["engine:1"]},
        {"image_id": "sha256:" + hashlib.sha256(b"[]").hexdigest(), "tags": []},
    ]
    assert found["bytes"] == (tmp_path / "a.tar").stat().st_size


def test_the_id_is_that_of_the_content_and_not_of_the_name(tmp_path):
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        _add(archive, "%s.json" % ("0" * 64), b"{}")
        _add(archive, "manifest.json", json.dumps([{"Config": "%s.json" % ("0" * 64), "RepoTags": []}]).encode())
    found = _image_archive.describe(str(tmp_path / "a.tar"))
    assert found["images"][0]["image_id"] == "sha256:" + hashlib.sha256(b"{}").hexdigest()


def test_what_is_no_archive(tmp_path):
    (tmp_path / "text").write_text("no tar", encoding="utf-8")
    with tarfile.open(tmp_path / "other.tar", "w") as archive:
        _add(archive, "x", b"x")
    (tmp_path / "cut.tar").write_bytes((tmp_path / "other.tar").read_bytes()[:100])
    for name, words in (("absent", "is not there"), ("text", "no image archive"), ("other.tar", "no image archive"), ("cut.tar", "no image archive")):
        with pytest.raises(_image_archive.ArchiveError, match=words):
            _image_archive.describe(str(tmp_path / name))
    with pytest.raises(_image_archive.ArchiveError, match="holds no image"):
        _image_archive.describe(save(tmp_path / "none.tar", []))


def test_which_image_an_engine_means():
    one = {"images": [{"image_id": "sha256:1", "tags": ["a:1"]}]}
    two = {"images": [{"image_id": "sha256:1", "tags": ["a:1"]}, {"image_id": "sha256:2", "tags": ["b:1"]}]}
    assert _image_archive.choose(one, None) == ("sha256:1", "a:1")
    # the inventory's name wins: the image gets it when it is loaded
    assert _image_archive.choose(one, "mine:1") == ("sha256:1", "mine:1")
    assert _image_archive.choose(two, "b:1") == ("sha256:2", "b:1")
    assert _image_archive.choose({"images": [{"image_id": "sha256:1", "tags": []}]}, None) == ("sha256:1", "sha256:1")
    with pytest.raises(_image_archive.ArchiveError, match="a:1, b:1"):
        _image_archive.choose(two, "c:1")
