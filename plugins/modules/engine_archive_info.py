#!/usr/bin/python
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: engine_archive_info
short_description: Which images the engines' image archives hold
version_added: 1.0.0
author:
  - IndiaAI Inference contributors (@indiaai)
description:
  - Reads image archives as C(docker save) writes them, without loading them. Run it where the archives lie, which is the control
    node.
  - The image ID is computed from the archive's content, so a host that has this ID needs no copy of the archive.
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details:
      - Reads only.
  diff_mode:
    description: Will return details on what has changed when in diff mode.
    support: none
  platform:
    description: Target OS/families that can be operated against.
    support: full
    platforms: posix
options:
  engines:
    description: Engines of the serving plan; those without C(image_archive) are passed over.
    type: list
    elements: dict
    required: true
  default_image:
    description: Reference to look for where an engine names no C(image).
    type: str
"""

EXAMPLES = r"""
- name: See what the archives hold
  indiaai.inference.engine_archive_info:
    engines: "{{ serving_plan_result.engines }}"
  delegate_to: localhost
  become: false
"""

RETURN = r"""
archives:
  description: By engine slug, what the engine's archive holds.
  returned: always
  type: dict
  sample:
    demo:
      path: /srv/images/engine.tar
      bytes: 4163072000
      image: registry.example/engine:1
      image_id: sha256:8a7c...
"""

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.indiaai.inference.plugins.module_utils import _image_archive


def main():
    module = AnsibleModule(
        argument_spec={
            "engines": {"type": "list", "elements": "dict", "required": True},
            "default_image": {"type": "str"},
        },
        supports_check_mode=True,
    )
    archives, known, problems = {}, {}, []
    for engine in module.params["engines"]:
        path = engine.get("image_archive")
        if not path:
            continue
        try:
            known[path] = known.get(path) or _image_archive.describe(path)
            image_id, image = _image_archive.choose(known[path], engine.get("image") or module.params["default_image"])
        except _image_archive.ArchiveError as exc:
            problems.append(
                "model '%s': image archive %s on the control node: %s; change inference_models[].image_archive" % (engine["name"], path, exc)
            )
            continue
        archives[engine["slug"]] = {"path": path, "bytes": known[path]["bytes"], "image": image, "image_id": image_id}
    if problems:
        module.fail_json(msg="\n".join(problems), archives=archives)
    module.exit_json(changed=False, archives=archives)


if __name__ == "__main__":
    main()
