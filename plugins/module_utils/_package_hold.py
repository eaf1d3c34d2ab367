# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which installed packages a list of patterns means, and which of them change. Pure.

A package is {"name": as dpkg calls it ("libx:amd64" where several architectures may be installed), "version", "held": bool}.
"""

from __future__ import annotations

import fnmatch
import re

SHOW_FORMAT = "${binary:Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n"
_PATTERN = re.compile(r"[a-z0-9*?\[][a-z0-9+.:*?\[\]!-]*\Z")


def problems(patterns):
    """What is wrong with the patterns, one text each."""
    return ["%r is no name or pattern of a package" % text for text in patterns if not _PATTERN.match(text)]


def installed(shown):
    """Output of dpkg-query with SHOW_FORMAT -> the packages that are installed, by name."""
    packages = []
    for line in shown.splitlines():
        fields = line.split("\t")
        if len(fields) == 4 and fields[3] == "installed":
            packages.append({"name": fields[0], "version": fields[1], "held": fields[2] == "hold"})
    return sorted(packages, key=lambda package: package["name"])


def matches(package, pattern):
    """Whether the pattern means this package, with or without its architecture."""
    name = package["name"]
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(name.partition(":")[0], pattern)


def chosen(packages, patterns):
    """-> (packages that a pattern means, patterns that mean none)."""
    found = [package for package in packages if any(matches(package, pattern) for pattern in patterns)]
    return found, [pattern for pattern in patterns if not any(matches(package, pattern) for package in packages)]


def selections(names, held):
    """Input of dpkg --set-selections."""
    return "".join("%s %s\n" % (name, "hold" if held else "install") for name in names)
