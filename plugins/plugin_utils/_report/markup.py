# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Text that may go into a page as it is, and the way there.

PRIVATE to the collection. Every function of the kit takes plain text and escapes it, unless
it is ``Markup``, which only the kit itself makes.
"""

from __future__ import annotations

import html


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value) -> Markup:
    """``value`` as HTML text; ``Markup`` passes, None is empty."""
    if isinstance(value, Markup):
        return value
    return Markup("" if value is None else html.escape(str(value), quote=True))


def element(tag: str, *content, **attributes) -> Markup:
    """``<name attributes>content</name>``.

    ``class_`` stands for class, an underscore in a name for a dash. Attributes that are None or
    False are left out, True is written as the bare name.
    """
    return Markup("<%s>%s</%s>" % (_open(tag, attributes), join(content), tag))


def void(tag: str, **attributes) -> Markup:
    """An element without content, closed so that it is valid in SVG too."""
    return Markup("<%s/>" % _open(tag, attributes))


def join(parts, separator: str = "") -> Markup:
    """All parts, escaped where needed, one after the other."""
    return Markup(separator.join(escape(part) for part in parts))


def _open(tag: str, attributes: dict) -> str:
    words = [tag]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        key = key.rstrip("_").replace("_", "-")
        words.append(key if value is True else '%s="%s"' % (key, escape(value)))
    return " ".join(words)
