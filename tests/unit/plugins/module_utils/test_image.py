# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images: the lock is obeyed, another image is refused with the way to accept it, and nothing is fetched twice."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _image

OLD, NEW = "sha256:" + "a" * 64, "sha256:" + "b" * 64
DIGEST = "registry.example/engine@sha256:" + "c" * 64
LOCKED = {"image": "registry.example/engine:1", "image_id": OLD, "repo_digest": DIGEST, "archive_sha256": None}


def wanted(**changes):
    return dict({"slug": "demo", "image": "registry.example/engine:1", "archive_image_id": None}, **changes)


def host(**images):
    """A host that has these images: tag=id; every image is also there by its id."""
    known = {"registry.example/engine:1": images.get("tag")}
    known.update({image_id: image_id for image_id in images.get("ids", [])})
    return known.get


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("vllm/vllm-openai:v0.18.0", ("vllm/vllm-openai", "v0.18.0", None)),
        ("localhost:5000/a/b:1", ("localhost:5000/a/b", "1", None)),
        ("localhost:5000/a/b", ("localhost:5000/a/b", "latest", None)),
        ("a@sha256:12", ("a", None, "sha256:12")),
        ("r:5000/a:1@sha256:12", ("r:5000/a", None, "sha256:12")),
    ],
)
def test_split_reference(reference, parts):
    assert _image.split_reference(reference) == parts


def test_first_use():
    assert _image.decide(wanted(), None, host(tag=OLD), False) == ("use", OLD)
    assert _image.decide(wanted(), None, host(), False) == ("pull", "registry.example/engine:1")


def test_the_recorded_image_is_used():
    assert _image.decide(wanted(), LOCKED, host(tag=OLD), False) == ("use", OLD)
    # its name is gone, the image is not
    assert _image.decide(wanted(), LOCKED, host(ids=[OLD]), False) == ("use", OLD)


def test_a_recorded_image_that_is_gone_is_pulled_by_its_digest():
    assert _image.decide(wanted(), LOCKED, host(), False) == ("pull", DIGEST)
    assert _image.decide(wanted(), dict(LOCKED, repo_digest=None), host(), False) == ("pull", "registry.example/engine:1")


def test_another_image_of_the_same_name_is_refused_and_can_be_accepted():
    with pytest.raises(_image.ImageRefused, match="inference_engine_accept_new_image: true"):
        _image.decide(wanted(), LOCKED, host(tag=NEW, ids=[OLD]), False)
    assert _image.decide(wanted(), LOCKED, host(tag=NEW, ids=[OLD]), True) == ("use", NEW)


def test_an_archive_is_loaded_once():
    entry = wanted(archive_image_id=NEW)
    assert _image.decide(entry, None, host(), False) == ("load", NEW)
    assert _image.decide(entry, None, host(ids=[NEW]), False) == ("use", NEW)
    # the tag on the host may name what it likes: the archive decides
    assert _image.decide(entry, None, host(tag=OLD, ids=[OLD]), False) == ("load", NEW)


def test_an_archive_with_another_image_is_refused_and_can_be_accepted():
    entry = wanted(archive_image_id=NEW)
    with pytest.raises(_image.ImageRefused, match="the archive holds"):
        _image.decide(entry, LOCKED, host(ids=[OLD, NEW]), False)
    assert _image.decide(entry, LOCKED, host(ids=[NEW]), True) == ("use", NEW)


def test_a_pulled_image_must_be_the_recorded_one():
    _image.check_pulled(wanted(), LOCKED, OLD, False)
    _image.check_pulled(wanted(), None, NEW, False)
    _image.check_pulled(wanted(), LOCKED, NEW, True)
    with pytest.raises(_image.ImageRefused, match="the registry gave"):
        _image.check_pulled(wanted(), LOCKED, NEW, False)


def test_another_reference_is_a_new_choice():
    document = {"schema_version": 1, "images": {"demo": LOCKED}}
    assert _image.locked_entry(document, "demo", LOCKED["image"]) == LOCKED
    assert _image.locked_entry(document, "demo", "registry.example/engine:2") is None
    assert _image.locked_entry(document, "other", LOCKED["image"]) is None


def test_entry():
    inspected = {"Id": OLD, "RepoDigests": ["mirror.example/engine@sha256:" + "d" * 64, DIGEST]}
    assert _image.entry("registry.example/engine:1", inspected) == LOCKED
    assert _image.entry("engine:1", {"Id": OLD, "RepoDigests": None}, "e" * 64) == {
        "image": "engine:1",
        "image_id": OLD,
        "repo_digest": None,
        "archive_sha256": "e" * 64,
    }


def test_the_lock_file():
    assert _image.read_lock(None) == {"schema_version": 1, "images": {}}
    kept = _image.read_lock(json.dumps({"schema_version": 1, "models": {"chat": {"source": "/x", "revision": None}}}))
    assert kept["models"] == {"chat": {"source": "/x", "revision": None}}
    assert _image.read_lock(_image.lock_text(kept)) == kept
    for bad in ("[]", "{", '{"schema_version": 2}'):
        with pytest.raises(ValueError):
            _image.read_lock(bad)


def test_errors_in_dockers_progress():
    fine = '{"status":"Pulling from a"}\r\n{"status":"Download complete","id":"x"}\r\n'
    assert _image.pull_error(fine) is None
    assert _image.pull_error("") is None
    assert _image.pull_error(fine + '{"errorDetail":{"message":"manifest unknown"},"error":"manifest unknown"}\r\n') == "manifest unknown"
