# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts that a report is put together from.

PRIVATE to the collection. Pure: plain data in, ``Markup`` out; plain text is escaped.
"""

from __future__ import annotations

import json

from ansible_collections.indiaai.inference.plugins.plugin_utils._report.markup import Markup, element, escape, join, void
from ansible_collections.indiaai.inference.plugins.plugin_utils._report.style import STYLE

TONES = ("neutral", "good", "bad", "warn", "info")


def page(title: str, sections: list, eyebrow: str = "", subtitle: str = "", badges: list | None = None,
         footer: str = "") -> str:
    """A whole document as text; ``sections`` are Markup, shown one after the other."""
    head = join((
        void("meta", charset="utf-8"),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        # A report has no business on the network, whatever text it was given.
        void("meta", http_equiv="Content-Security-Policy", content="default-src 'none'; style-src 'unsafe-inline'; img-src data:"),
        element("title", title),
        element("style", Markup(STYLE)),
    ))
    header = element(
        "header",
        element("p", eyebrow, class_="eyebrow") if eyebrow else "",
        element("h1", title),
        element("p", subtitle, class_="subtitle") if subtitle else "",
        element("p", *(badges or []), class_="badges") if badges else "",
        class_="masthead")
    body = element("main", header, *sections)
    foot = element("footer", footer) if footer else ""
    return "<!DOCTYPE html>\n" + element("html", element("head", head), element("body", body, foot), lang="en") + "\n"


def section(title: str, *content, intro: str = "", anchor: str | None = None) -> Markup:
    """A titled part of a page."""
    return element("section", element("h2", title), element("p", intro, class_="intro") if intro else "", *content, id=anchor)


def badge(text: str, tone: str = "neutral") -> Markup:
    """A short label; ``tone`` is one of TONES."""
    return element("span", text, class_="badge " + _tone(tone))


def notice(text: str, tone: str = "info", title: str = "") -> Markup:
    """A sentence that must not be overlooked."""
    return element("div", element("strong", title + " ") if title else "", text, class_="notice " + _tone(tone), role="note")


def table(headers: list, rows: list, numeric: tuple = (), caption: str = "", groups: list | None = None,
          dense: bool = False) -> Markup:
    """A table. The first cell of a row is its heading; ``numeric`` names the columns to align right.

    ``groups``: optional upper row of headings as ``[(text, columns), ...]``; ``dense`` is for many columns.
    """
    def css(column):
        return "num" if column in numeric else None

    head = []
    if groups:
        head.append(element("tr", *[
            element("th", text, colspan=span, scope="colgroup", class_="group" if text else None) if text
            else element("td", colspan=span) for text, span in groups]))
    head.append(element("tr", *[element("th", text, scope="col", class_=css(column)) for column, text in enumerate(headers)]))
    body = [
        element("tr", *[
            element("th", cell, scope="row") if column == 0 else element("td", cell, class_=css(column))
            for column, cell in enumerate(row)])
        for row in rows
    ]
    content = (element("caption", caption) if caption else "", element("thead", *head), element("tbody", *body))
    # The frame scrolls where the screen is narrower than the table.
    return element("div", element("table", *content), class_="table dense" if dense else "table", tabindex="0", role="region", aria_label=caption or "Table")


def card(label: str, value: str, before: str = "", note: str = "", ratio: str = "", tone: str = "neutral") -> Markup:
    """One headline number: what it is now, what it was, how many times better."""
    return element(
        "div",
        element("p", label, class_="label"),
        element("p", value, class_="value"),
        element("p", element("span", before, class_="was") if before else "",
                element("span", ratio, class_="ratio " + _tone(tone)) if ratio else "", class_="change") if before or ratio else "",
        element("p", note, class_="note") if note else "",
        class_="card")


def cards(items: list) -> Markup:
    """Cards side by side."""
    return element("div", *items, class_="cards")


def figure(chart: Markup, data: Markup, caption: str = "", unit: str = "") -> Markup:
    """A chart with the figures it was drawn from beside it; ``unit`` names its vertical axis."""
    return element("figure", element("figcaption", caption, element("span", unit, class_="unit") if unit else "") if caption else "",
                   element("div", element("div", chart, class_="chart"), data, class_="pair"))


def definitions(items: list) -> Markup:
    """Terms and what they mean: ``[(term, text), ...]``."""
    return element("dl", *[join((element("dt", term), element("dd", text))) for term, text in items])


def bullets(items: list) -> Markup:
    """A plain list."""
    return element("ul", *[element("li", item) for item in items])


def paragraph(text) -> Markup:
    """A paragraph."""
    return element("p", text)


def details(summary: str, *content) -> Markup:
    """Content that is folded away at first."""
    return element("details", element("summary", summary), *content)


def data(document) -> Markup:
    """A document as indented JSON."""
    return element("pre", json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False), tabindex="0")


def plain(value) -> Markup:
    """Any value in a table cell: a dash for nothing, code for what a machine wrote."""
    if value is None or value == "":
        return element("span", "none", class_="muted")
    if isinstance(value, (dict, list)):
        value = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return element("code", escape(value))


def _tone(tone: str) -> str:
    return tone if tone in TONES else "neutral"
