# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files of a directory of .deb packages apt has to be given, so that a host without a network gets what is wanted.

Pure: the packages' fields in, names out. This file is private to the collection.
"""

from __future__ import annotations

import re

FIELDS = ("Package", "Version", "Architecture", "Depends", "Pre-Depends", "Provides")

_DEPENDENCY = re.compile(r"\s*([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9-]+)?\s*(?:\(\s*(<<|<=|=|>=|>>)\s*([^)\s]+)\s*\))?")
_WORDS = {"<<": "lt", "<=": "le", "=": "eq", ">=": "ge", ">>": "gt"}


class DirectoryError(ValueError):
    """What is wanted is not in the directory; the message names it."""


def fields(text):
    """Output of `dpkg-deb --field FILE Package Version ...` -> {field: value}."""
    found, last = {}, None
    for line in text.splitlines():
        if line[:1] in (" ", "\t") and last:
            found[last] += " " + line.strip()
        elif ":" in line:
            last, value = line.split(":", 1)
            found[last] = value.strip()
    return found


def dependencies(text):
    """A Depends line -> [[(name, relation or None, version or None), ... alternatives], ...].

    >>> dependencies("a (>= 1), b | c:any")
    [[('a', '>=', '1')], [('b', None, None), ('c', None, None)]]
    """
    result = []
    for part in (text or "").split(","):
        group = [_DEPENDENCY.match(item).groups() for item in part.split("|") if _DEPENDENCY.match(item)]
        if group:
            result.append(group)
    return result


def split_wanted(name):
    """"name" or "name=version" -> (name, version or None)."""
    stem, equals, version = name.partition("=")
    return stem, version if equals else None


class Directory:
    """The packages of one directory beside those of the host.

    files: {path: fields(...)}. installed: {package: {"version", "provides": Provides line}}. compare(a, word, b): what
    `dpkg --compare-versions` says. architecture: the host's.
    """

    def __init__(self, files, installed, compare, architecture):
        self.installed = installed
        self.compare = compare
        self.available = {}
        for path in sorted(files):
            if files[path].get("Architecture") in ("all", architecture):
                self.available.setdefault(files[path].get("Package"), []).append(dict(files[path], path=path))

    def choose(self, names):
        """["docker-ce", "x=1.2", ...] -> (packages to install as fields with "path", names that neither has).

        What is installed already is left out, with a version only when it is that one. DirectoryError when a wanted package
        is not in the directory.
        """
        chosen, missing, todo = {}, set(), []
        for name, version in (split_wanted(item) for item in names):
            found = self.installed.get(name)
            if found and version in (None, found["version"]):
                continue
            best = self._best(name, "=" if version else None, version)
            if best is None:
                have = ", ".join(sorted(item["Version"] for item in self.available.get(name, []))) or "none of that name"
                raise DirectoryError("wanted is %s%s, the directory has %s" % (name, " " + version if version else "", have))
            todo.append(best)
        while todo:
            package = todo.pop(0)
            if package["Package"] in chosen:
                continue
            chosen[package["Package"]] = package
            for group in dependencies(package.get("Pre-Depends")) + dependencies(package.get("Depends")):
                if self._there(group, chosen):
                    continue
                best = next((item for item in (self._best(*wanted) for wanted in group) if item), None)
                if best is None:
                    missing.add(" | ".join(item[0] for item in group))
                else:
                    todo.append(best)
        return [chosen[name] for name in sorted(chosen)], sorted(missing)

    def _there(self, group, chosen):
        """Whether one of the alternatives is installed or chosen already."""
        for name, relation, version in group:
            if name in chosen and self._fits(chosen[name]["Version"], relation, version):
                return True
            if name in self.installed and name not in chosen and self._fits(self.installed[name]["version"], relation, version):
                return True
            provided = [item["provides"] for item in self.installed.values()] + [item.get("Provides") for item in chosen.values()]
            if any(self._provides(text, name, relation, version) for text in provided):
                return True
        return False

    def _best(self, name, relation=None, version=None):
        """The newest package of the directory that fits, else one that provides it; None when there is none."""
        best = None
        for item in self.available.get(name, []):
            if self._fits(item["Version"], relation, version) and (best is None or self.compare(item["Version"], "gt", best["Version"])):
                best = item
        if best is not None:
            return best
        for items in self.available.values():
            for item in items:
                if self._provides(item.get("Provides"), name, relation, version):
                    return item
        return None

    def _fits(self, found, relation, version):
        return relation is None or self.compare(found, _WORDS[relation], version)

    def _provides(self, text, name, relation, version):
        for group in dependencies(text):
            for provided, ignored, provided_version in group:
                # A package that is provided without a version does not satisfy a dependency that wants one.
                if provided == name and (relation is None or (provided_version and self._fits(provided_version, relation, version))):
                    return True
        return False
