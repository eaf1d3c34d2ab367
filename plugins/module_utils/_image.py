# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which image an engine runs: what the lock file says against what the host has. Pure."""

from __future__ import annotations

import json

SCHEMA_VERSION = 1


class ImageRefused(Exception):
    """The image is not the recorded one, or cannot be had; the text says what to change."""


def split_reference(reference):
    """An image reference as (repository, tag, digest); tag is latest where the reference has neither.

    >>> split_reference("localhost:5000/a/b:1")
    ('localhost:5000/a/b', '1', None)
    """
    name, at, digest = reference.partition("@")
    if at:
        # repo:tag@digest: the digest decides, and the tag is only for people.
        repository = name.rsplit(":", 1)[0] if ":" in name.rsplit("/", 1)[-1] else name
        return repository, None, digest
    if ":" in reference.rsplit("/", 1)[-1]:
        repository, tag = reference.rsplit(":", 1)
        return repository, tag, None
    return reference, "latest", None


def read_lock(text):
    """The lock document from its file's text, None for an absent file. ValueError when it is not one."""
    document = json.loads(text) if text else {}
    if not isinstance(document, dict):
        raise ValueError("the lock file is not a JSON object")
    if document.get("schema_version", SCHEMA_VERSION) != SCHEMA_VERSION:
        raise ValueError("the lock file has version %s, this collection writes %s" % (document["schema_version"], SCHEMA_VERSION))
    document["schema_version"] = SCHEMA_VERSION
    # Other parts keep their own sections in this file.
    document.setdefault("images", {})
    return document


def lock_text(document):
    """The lock document as its file holds it."""
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def entry(image, inspected, archive_sha256=None):
    """What the lock records about one engine's image.

    :param image: the reference the inventory names.
    :param inspected: what Docker says about the image.
    :param archive_sha256: checksum of the archive's file when it came from one.
    """
    repository = split_reference(image)[0]
    digests = [digest for digest in inspected.get("RepoDigests") or [] if digest.split("@", 1)[0] == repository]
    return {
        "image": image,
        "image_id": inspected["Id"],
        "repo_digest": digests[0] if digests else None,
        "archive_sha256": archive_sha256,
    }


def locked_entry(document, slug, image):
    """The lock's entry for this engine with this reference; another reference is a new choice and starts anew."""
    found = document["images"].get(slug)
    return found if found and found.get("image") == image else None


def decide(wanted, locked, present, accept_new):
    """What to do about one engine's image: ("use", image id), ("pull", reference) or ("load", image id).

    :param wanted: slug, image, archive_image_id (None without an archive).
    :param locked: the lock's entry for this engine and reference, or None.
    :param present: function from a reference or an id to the image's id on this host, None when it is not there.
    :param accept_new: take another image than the recorded one.
    :raises ImageRefused: when the image is another than the recorded one.
    """
    recorded = locked["image_id"] if locked and not accept_new else None
    if wanted.get("archive_image_id"):
        if recorded and recorded != wanted["archive_image_id"]:
            raise ImageRefused(_other(wanted, recorded, wanted["archive_image_id"], "the archive holds"))
        return ("use" if present(wanted["archive_image_id"]) else "load"), wanted["archive_image_id"]
    found = present(wanted["image"])
    if recorded is None:
        return ("use", found) if found else ("pull", wanted["image"])
    if found and found != recorded:
        raise ImageRefused(_other(wanted, recorded, found, "the host has"))
    if found or present(recorded):
        return "use", recorded
    # The tag may name another image by now; the digest cannot.
    return "pull", locked.get("repo_digest") or wanted["image"]


def check_pulled(wanted, locked, image_id, accept_new):
    """Refuse a pulled image that is not the recorded one."""
    if locked and not accept_new and locked["image_id"] != image_id:
        raise ImageRefused(_other(wanted, locked["image_id"], image_id, "the registry gave"))


def _other(wanted, recorded, found, where):
    return (
        "engine '%s': image %s was recorded as %s, but %s %s. Use the recorded image, name another one in inference_models[].image, "
        "or accept this one with inference_engine_accept_new_image: true" % (wanted["slug"], wanted["image"], recorded, where, found)
    )


def pull_error(text):
    """The error in Docker's progress stream of a pull or a load (one JSON object a line), None when it went well."""
    for line in text.splitlines():
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and (message.get("error") or message.get("errorDetail")):
            return message.get("error") or str(message["errorDetail"])
    return None
