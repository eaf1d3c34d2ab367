# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Docker and which NVIDIA container toolkit a host has, and what stands in the way of another package source.

Pure. This file is private to the collection.
"""

from __future__ import annotations

import re

# Packages of each family, those that run something first. The two do not mix: installing one removes the other.
FAMILIES = {
    "distribution": ("docker.io", "containerd", "runc", "docker-cli"),
    "vendor": ("docker-ce", "docker-ce-cli", "containerd.io"),
}
TOOLKIT = ("nvidia-container-toolkit", "nvidia-container-toolkit-base", "libnvidia-container-tools", "libnvidia-container1")
NAMES = FAMILIES["distribution"] + FAMILIES["vendor"] + TOOLKIT + ("podman-docker", "docker-engine")

# Lists that earlier toolkits told people to make. Beside the present one apt stops with "Conflicting values set for option Signed-By".
_STALE_NAMES = ("nvidia-docker", "libnvidia-container", "nvidia-container-runtime")
_TOOLKIT_HOST = re.compile(r"//nvidia\.github\.io/(?:libnvidia-container|nvidia-docker|nvidia-container-runtime)\b")

# Docker injects devices by CDI when asked from 25 on, by itself from 28.2 on.
_CDI_FEATURE = (25, 0)
_CDI_DEFAULT = (28, 2)


def installed(text):
    """Output of dpkg-query with format "${Package} ${db:Status-Status} ${Version}\\n" -> {package: version} of those installed."""
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] == "installed":
            found[words[0]] = words[2]
    return found


def family(packages):
    """"distribution", "vendor", or None when Docker came to this host without packages, or not at all."""
    if "docker.io" in packages:
        return "distribution"
    return "vendor" if "docker-ce" in packages else None


def obstacles(packages, wanted):
    """Packages of the other family that installing the wanted one would remove -> sorted names."""
    other = FAMILIES["vendor" if wanted == "distribution" else "distribution"]
    # The vendor's packages conflict with these two as well.
    return sorted(name for name in packages if name in other + ("podman-docker", "docker-engine"))


def toolkit(packages):
    """{"packages": {name: version}, "version": str or None, "mixed": bool}; the four belong together."""
    found = {name: packages[name] for name in TOOLKIT if name in packages}
    versions = set(found.values())
    return {
        "packages": found,
        "version": found.get("nvidia-container-toolkit"),
        "mixed": len(versions) > 1,
    }


def stale_sources(sources, ours):
    """Lists in the way of the toolkit's repository -> [{"path", "reason"}].

    sources: {path below /etc/apt: text}. ours: the path that this collection writes.
    """
    result = []
    for path in sorted(sources):
        if path == ours:
            continue
        stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
        active = "\n".join(line for line in sources[path].splitlines() if not line.lstrip().startswith("#"))
        if stem in _STALE_NAMES and active.strip():
            result.append({"path": path, "reason": "a list of an earlier toolkit"})
        elif _TOOLKIT_HOST.search(active):
            result.append({"path": path, "reason": "names the toolkit's repository too"})
    return result


def numbers(version):
    """First two numbers of a version, (0, 0) when it is none.

    >>> numbers("5:28.2.2-1~debian.12~bookworm"), numbers("20.10.24+dfsg1"), numbers(None)
    ((28, 2), (20, 10), (0, 0))
    """
    match = re.match(r"(?:\d+:)?v?(\d+)(?:\.(\d+))?", version or "")
    return (int(match.group(1)), int(match.group(2) or 0)) if match else (0, 0)


def gpu_mode(docker_version):
    """How this Docker gives a GPU to a container: "cdi", "cdi-feature" (CDI once features.cdi is set) or "legacy"."""
    found = numbers(docker_version)
    if found >= _CDI_DEFAULT:
        return "cdi"
    return "cdi-feature" if found >= _CDI_FEATURE else "legacy"


def gpu_settings(mode, runtime):
    """What daemon.json needs for GPUs, made only where nobody spoke of it. runtime: whether nvidia-container-runtime is there."""
    if mode == "cdi-feature":
        return {"features": {"cdi": True}}
    if mode == "legacy" and runtime:
        return {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "args": []}}}
    return {}
