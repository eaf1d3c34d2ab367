#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_image
short_description: Bring the engines' images to a host and keep to them
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Makes sure that the host has the image of every engine, pulls or loads only what is missing, and records what it found.
  - What the lock file records for an engine and its image reference is obeyed from then on. Another image under the same name is
    refused, with the way to accept it. An engine that names another reference starts with a new record.
  - Nothing is removed, so that there is a way back.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Without a Docker daemon check mode reports that every image is missing; a real run fails then.
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: full
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  engines:
    description: Engine specifications, as the filter P(indiaai.inference.engine_command#filter) makes them.
    type: list
    elements: dict
    required: true
  archives:
    description:
      - By engine slug, what M(indiaai.inference.engine_archive_info) found, with C(image_id) and C(bytes).
      - An engine that stands here gets its image from the archive and never from a registry.
    type: dict
    default: {}
  archive_files:
    description: By engine slug, where the archive lies on this host. Engines whose archive is needed and is not here are returned.
    type: dict
    default: {}
  pull:
    description: Whether a missing image may come from a registry.
    type: str
    choices: [not_present, never]
    default: not_present
  accept_new:
    description: Take an image other than the recorded one, and record it.
    type: bool
    default: false
  min_free_mib:
    description: Free space that a pull needs where Docker keeps its data. An archive needs twice its own size instead.
    type: int
    default: 20480
  lock_file:
    description: File that records images.
    type: path
    default: /etc/indiaai-inference/inference.lock.json
  docker_socket:
    description: Socket of the Docker daemon.
    type: path
    default: /run/docker.sock
"""

EXAMPLES = r"""
- name: Bring the engines' images to the host
  indiaai.inference.engine_image:
    engines: "{{ specs }}"
"""

RETURN = r"""
image_ids:
  description: Image ID by engine slug. An engine whose image is still to come has none.
  returned: always
  type: dict
  sample: {demo: "sha256:8a7c..."}
actions:
  description: What was done, by engine slug, one of V(used), V(pulled), V(loaded), V(wanted).
  returned: always
  type: dict
  sample: {demo: used}
needs_archive:
  description: Slugs of engines whose archive has to be copied to this host first.
  returned: always
  type: list
  elements: str
  sample: []
"""

import os
import shutil
import time

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _image, _image_transfer
from ansible_collections.indiaai.inference.plugins.module_utils._host import atomic, docker_api, journal, paths

ROLE = "inference_engine"
MIB = 1024 * 1024


class Images:
    """The images of this host's engines."""

    def __init__(self, module, lock):
        self.module = module
        self.params = module.params
        self.lock = lock
        self.api = docker_api.DockerApi(module.params["docker_socket"])
        self.image_ids, self.actions, self.needs_archive = {}, {}, []
        self.checksums = {}  # of archives loaded now, by image id: engines may share one

    def image_id(self, reference):
        """ID of an image on this host, None when it is not here."""
        found = self.api.image(reference)
        return found["Id"] if found else None

    def ensure(self, spec):
        """One engine: use, pull or load its image and record it."""
        slug, image = spec["slug"], spec["image"]
        archive = self.params["archives"].get(slug) or {}
        wanted = {"slug": slug, "image": image, "archive_image_id": archive.get("image_id")}
        locked = _image.locked_entry(self.lock, slug, image)
        action, what = _image.decide(wanted, locked, self.image_id, self.params["accept_new"])
        if action == "load" and slug not in self.params["archive_files"]:
            self.need_space(archive.get("bytes", 0) * 2 // MIB, "the image archive of engine '%s'" % slug)
            self.needs_archive.append(slug)
            self.actions[slug] = "wanted"
            return
        if action == "pull" and self.params["pull"] == "never":
            raise _image.ImageRefused(
                "engine '%s': image %s is not on the host and may not be pulled; load it, give inference_models[].image_archive, "
                "or set inference_engine_pull: not_present" % (slug, image)
            )
        self.actions[slug] = {"use": "used", "pull": "pulled", "load": "loaded"}[action]
        if self.module.check_mode and action != "use":
            self.actions[slug] = "wanted"
            return
        if action == "pull":
            self.need_space(self.params["min_free_mib"], "image %s" % image)
            _image_transfer.pull(self.api, what)
            image_id = self.image_id(what)
            _image.check_pulled(wanted, locked, image_id, self.params["accept_new"])
            what = image_id
        elif action == "load":
            self.checksums[what] = _image_transfer.load(self.params["docker_socket"], self.params["archive_files"][slug])
        if not self.module.check_mode and self.image_id(image) is None:
            _image_transfer.tag(self.api, what, image)
        self.record(slug, image, what, locked)

    def record(self, slug, image, image_id, locked):
        """Write one engine's image into the lock document, unless it stands there already."""
        inspected = self.api.image(image_id)
        if inspected is None:
            raise _image.ImageRefused("engine '%s': image %s is not on the host after it was brought there" % (slug, image_id))
        self.image_ids[slug] = image_id
        if locked and locked["image_id"] == image_id:
            return
        entry = _image.entry(image, inspected, self.checksums.get(image_id))
        entry["recorded_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.lock["images"][slug] = entry

    def need_space(self, mib, what):
        """Refuse before a disk runs full half way."""
        status, info = self.api.request("GET", "/info")
        folder = info.get("DockerRootDir") if status == 200 else None
        if not folder or not os.path.isdir(folder):
            return
        free = shutil.disk_usage(folder).free // MIB
        if free < mib:
            raise _image.ImageRefused(
                "%s needs %d MiB in %s, which has %d MiB free; make room there, or change inference_engine_min_free_mib" % (what, mib, folder, free)
            )


def read_text(path):
    """Content of a file, None when it is not there."""
    try:
        with open(path, encoding="utf-8") as handle:
            return handle.read()
    except FileNotFoundError:
        return None


def main():
    module = AnsibleModule(
        argument_spec={
            "engines": {"type": "list", "elements": "dict", "required": True},
            "archives": {"type": "dict", "default": {}},
            "archive_files": {"type": "dict", "default": {}},
            "pull": {"type": "str", "choices": ["not_present", "never"], "default": "not_present"},
            "accept_new": {"type": "bool", "default": False},
            "min_free_mib": {"type": "int", "default": 20480},
            "lock_file": {"type": "path", "default": paths.LOCK_FILE},
            "docker_socket": {"type": "path", "default": paths.DOCKER_SOCKET},
        },
        supports_check_mode=True,
    )
    params = module.params
    if module.check_mode and not os.path.exists(params["docker_socket"]):
        module.warn("Docker is not on this host yet: every image counts as missing")
        module.exit_json(changed=True, image_ids={}, actions={spec["slug"]: "wanted" for spec in params["engines"]}, needs_archive=[])
    before = read_text(params["lock_file"])
    try:
        images = Images(module, _image.read_lock(before))
    except ValueError as exc:
        module.fail_json(msg="%s: %s" % (params["lock_file"], exc))
    try:
        for spec in params["engines"]:
            images.ensure(spec)
    except (_image.ImageRefused, _image_transfer.TransferFailed, docker_api.DockerError) as exc:
        module.fail_json(msg=str(exc), image_ids=images.image_ids, actions=images.actions, needs_archive=[])
    except docker_api.DockerUnavailable as exc:
        module.fail_json(msg="%s; the role docker_engine installs and starts it" % exc, image_ids={}, actions={}, needs_archive=[])
    # By content, since others keep their sections in this file in their own layout.
    recorded = images.lock["images"] != _image.read_lock(before)["images"]
    after = _image.lock_text(images.lock) if recorded else before
    if recorded and not module.check_mode:
        try:
            journal.Journal().record(ROLE, [{"kind": "file", "path": params["lock_file"]}])
            os.makedirs(os.path.dirname(params["lock_file"]), mode=0o755, exist_ok=True)
            atomic.write(params["lock_file"], after, mode=0o644, uid=0, gid=0)
        except (journal.JournalError, OSError) as exc:
            module.fail_json(msg=str(exc), image_ids=images.image_ids, actions=images.actions, needs_archive=[])
    module.exit_json(
        changed=recorded or any(action != "used" for action in images.actions.values()),
        image_ids=images.image_ids,
        actions=images.actions,
        needs_archive=images.needs_archive,
        diff={"before": before or "", "after": after or "", "before_header": params["lock_file"], "after_header": params["lock_file"]},
    )


if __name__ == "__main__":
    main()
