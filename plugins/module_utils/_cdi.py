# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CDI specifications: which kind of device one describes, and whether the host still has what it names.

Pure, and without a YAML parser: only the two things that are asked are looked for, in YAML and in JSON. This file is private
to the collection.
"""

from __future__ import annotations

import re

GPU_KIND = "nvidia.com/gpu"
FOLDERS = ("/etc/cdi", "/var/run/cdi")

_KIND = re.compile(r"""^\s*["']?kind["']?\s*:\s*["']?([^\s"',]+)""", re.M)
_KIND_INLINE = re.compile(r'"kind"\s*:\s*"([^"]+)"')
_HOST_PATH = re.compile(r"""["']?hostPath["']?\s*:\s*["']?([^\s"',}]+)""")


def kind(text):
    """"nvidia.com/gpu" or another, None when the text is no specification."""
    match = _KIND.search(text) or _KIND_INLINE.search(text)
    return match.group(1) if match else None


def host_paths(text):
    """What the specification takes from the host, each once and sorted."""
    return sorted(set(_HOST_PATH.findall(text)))


def judge(specifications, exists):
    """{path: text}, function(path) -> bool: [{"path", "kind", "missing": [host paths that are gone]}].

    A driver upgrade leaves the file names of the old libraries in the specification: a container then does not start.
    """
    result = []
    for path in sorted(specifications):
        text = specifications[path]
        found = kind(text)
        if found:
            result.append({"path": path, "kind": found, "missing": [name for name in host_paths(text) if not exists(name)]})
    return result


def gpu_state(judged):
    """"absent", "stale" or "ok", for the GPUs. One sound specification is not spoilt by none, but by a stale one beside it."""
    mine = [item for item in judged if item["kind"] == GPU_KIND]
    if not mine:
        return "absent"
    return "stale" if any(item["missing"] for item in mine) else "ok"
