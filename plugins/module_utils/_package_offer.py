# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages of those that a source offers are to be installed. Pure.

An offer is {"name", "version": of the package, "upstream": without epoch and revision, "install": what apt-get install takes}.
"""

from __future__ import annotations

import functools
import re

# The order of dpkg: digits as numbers, "~" before everything, letters before other signs.
_PARTS = re.compile(r"(\d+)|(\D)")

# A driver's versions begin with its branch; tools of the vendor count from 1.
_DRIVER_VERSION = re.compile(r"\d{3,}\.")


def upstream(version):
    """Version of a package without epoch and revision."""
    return version.partition(":")[2].partition("-")[0] if ":" in version else version.partition("-")[0]


def belongs(version, wanted):
    """Whether an upstream version is the wanted one or of the wanted branch."""
    parts = wanted.split(".")
    return version.split(".")[:len(parts)] == parts


def madison(text, kept=lambda source: True):
    """Output of apt-cache madison -> offers. kept: says by the third column whether a line counts."""
    offers = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 3 and "Sources" not in fields[2].split() and kept(fields[2]):
            offers.append(offer(fields[0], fields[1]))
    return offers


def offer(name, version, install=None):
    """One offer."""
    return {"name": name, "version": version, "upstream": upstream(version), "install": install or "%s=%s" % (name, version)}


def candidates(packages):
    """All names in a list of packages with alternatives ("a|b")."""
    return [name for package in packages for name in package.split("|")]


def from_repository(packages, offers, wanted):
    """-> (offers to install, problems). Of alternatives the first with a fitting version is taken."""
    chosen, problems = [], []
    for package in packages:
        names = package.split("|")
        listed = [entry for name in names for entry in offers if entry["name"] == name]
        fitting = [entry for entry in listed if belongs(entry["upstream"], wanted)]
        if fitting:
            first = [entry for entry in fitting if entry["name"] == fitting[0]["name"]]
            chosen.append(newest(first))
        elif listed:
            problems.append("%s is offered as %s" % (" or ".join(names), versions(listed)))
        else:
            problems.append("%s is not offered" % " or ".join(names))
    return chosen, problems


def from_directory(offers, wanted, driver):
    """Packages of a folder -> (offers to install, problems).

    driver(name): whether a package is part of the driver by its name. Such packages are taken in the wanted version only, and one
    version for all of them as far as they have it; the others, and tools that have versions of their own, in their newest.
    """
    ours = [entry for entry in offers if driver(entry["name"]) and _DRIVER_VERSION.match(entry["upstream"])]
    if not ours:
        return [], ["none of the packages is part of the driver: %s" % ", ".join(sorted({entry["name"] for entry in offers}))]
    fitting = [entry for entry in ours if belongs(entry["upstream"], wanted)]
    if not fitting:
        return [], ["the driver is there as %s" % versions(ours)]
    best = newest(fitting)["upstream"]
    taken = fitting + [entry for entry in offers if entry not in ours]
    chosen = []
    for name in sorted({entry["name"] for entry in taken}):
        listed = [entry for entry in taken if entry["name"] == name]
        chosen.append(newest([entry for entry in listed if entry["upstream"] == best] or listed))
    return chosen, []


def versions(offers):
    """The upstream versions for people, newest first."""
    ordered = sorted(offers, key=functools.cmp_to_key(lambda a, b: compare(a["version"], b["version"])), reverse=True)
    return ", ".join(dict.fromkeys(entry["upstream"] for entry in ordered))


def newest(offers):
    """The offer with the highest version."""
    return max(offers, key=functools.cmp_to_key(lambda a, b: compare(a["version"], b["version"])))


def compare(left, right):
    """Below, equal or above 0, as dpkg orders versions."""
    for a, b in zip(_split(left), _split(right)):
        result = _compare_part(a, b)
        if result:
            return result
    return 0


def _split(version):
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    main, dash, revision = rest.rpartition("-")
    return (epoch, main, revision) if dash else (epoch, rest, "")


def _compare_part(left, right):
    a, b = _key(left), _key(right)
    return (a > b) - (a < b)


def _key(text):
    """Alternating signs and numbers; the end of a text comes after "~" and before all else."""
    key, signs = [], []
    for number, sign in _PARTS.findall(text):
        if sign:
            signs.append(_order(sign))
            continue
        key += [tuple(signs + [(0, "")]), int(number)]
        signs = []
    return key + [tuple(signs + [(0, "")]), 0]


def _order(sign):
    if sign == "~":
        return (-1, "")
    return (1, sign) if sign.isalpha() else (2, sign)
