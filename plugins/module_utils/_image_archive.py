# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an image archive (docker save) holds, without loading it."""

from __future__ import annotations

import hashlib
import json
import os
import tarfile


class ArchiveError(Exception):
    """The file is missing or no image archive; the text says which."""


def describe(path):
    """Images in the archive -> {"bytes": size of the file, "images": [{"image_id", "tags"}]}.

    The image id is the checksum of the image's configuration, which names every layer by its content. It is computed here and
    not taken from a file name, so it holds for what the archive really contains.
    """
    if not os.path.isfile(path):
        raise ArchiveError("%s is not there" % path)
    try:
        with tarfile.open(path) as archive:
            manifest = json.loads(_read(archive, "manifest.json"))
            images = [
                {"image_id": "sha256:" + hashlib.sha256(_read(archive, item["Config"])).hexdigest(), "tags": sorted(item.get("RepoTags") or [])}
                for item in manifest
            ]
    except (tarfile.TarError, KeyError, TypeError, ValueError, EOFError) as exc:
        raise ArchiveError("%s is no image archive as 'docker save' writes it (%s)" % (path, exc)) from exc
    except OSError as exc:
        raise ArchiveError("%s cannot be read: %s" % (path, exc)) from exc
    if not images:
        raise ArchiveError("%s holds no image" % path)
    return {"bytes": os.path.getsize(path), "images": images}


def choose(description, image):
    """The image of the archive that an engine means: the one tagged so, or the only one there is.

    :returns: (image id, reference to call it by).
    :raises ArchiveError: when the archive holds several and none is tagged so.
    """
    images = description["images"]
    for found in images:
        if image and image in found["tags"]:
            return found["image_id"], image
    if len(images) == 1:
        return images[0]["image_id"], image or (images[0]["tags"] or [images[0]["image_id"]])[0]
    tags = sorted(tag for found in images for tag in found["tags"])
    raise ArchiveError("it holds %d images (%s), and none is %s; name one in inference_models[].image" % (len(images), ", ".join(tags), image))


def _read(archive, name):
    member = archive.extractfile(name)
    if member is None:
        raise ValueError("%s is not a file" % name)
    with member:
        return member.read()
