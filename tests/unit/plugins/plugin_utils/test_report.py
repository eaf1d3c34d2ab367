# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report kit and the benchmark report made of it."""

from __future__ import annotations

import html.parser
import re
from xml.etree import ElementTree

import pytest

from ansible_collections.indiaai.inference.plugins.plugin_utils._report import charts, components
from ansible_collections.indiaai.inference.plugins.plugin_utils._report.benchmark import benchmark_page
from ansible_collections.indiaai.inference.plugins.plugin_utils._report.markup import Markup, element, escape, join, void
from ansible_collections.indiaai.inference.tests.unit.plugins.plugin_utils.test_bench_samples import after, before, level

EVIL = "<script>alert('x')</script>\"&"
VOID = {"meta", "rect", "line", "polyline", "circle"}


class Checker(html.parser.HTMLParser):
    """Knows whether elements nest, and collects what a page would fetch or run."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.found, self.ids, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.found.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name in ("src", "href", "srcset", "action") or name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def check(page):
    checker = Checker()
    checker.feed(page)
    assert checker.open == []
    assert not {"script", "link", "iframe", "object", "img"} & set(checker.found)
    assert checker.links == []
    assert "url(" not in page and "@import" not in page
    assert len(checker.ids) == len(set(checker.ids))
    return checker


def test_text_is_escaped_everywhere():
    page = components.page(EVIL, [
        components.section(EVIL, components.table([EVIL], [[EVIL]], caption=EVIL, groups=[(EVIL, 1)]), intro=EVIL, anchor=EVIL),
        components.notice(EVIL, "bad", EVIL), components.cards([components.card(EVIL, EVIL, EVIL, EVIL, EVIL, EVIL)]),
        components.definitions([(EVIL, EVIL)]), components.bullets([EVIL]), components.details(EVIL, components.data({EVIL: EVIL})),
        components.figure(charts.bar_chart(EVIL, [EVIL], [{"name": EVIL, "tone": "after", "values": [1]}], EVIL, EVIL), "", EVIL),
        components.paragraph(EVIL), components.plain(EVIL), components.plain({EVIL: EVIL}),
    ], eyebrow=EVIL, subtitle=EVIL, badges=[components.badge(EVIL, EVIL)], footer=EVIL)
    check(page)
    assert "<script" not in page


def test_markup():
    assert escape(None) == "" and escape("<") == "&lt;" and escape(Markup("<b>")) == "<b>"
    assert element("p", "a", Markup("<b>"), class_="x", aria_label='"', hidden=True, lang=None) == (
        '<p class="x" aria-label="&quot;" hidden>a<b></p>')
    assert void("meta", charset="utf-8") == '<meta charset="utf-8"/>'
    assert join(["<", Markup("<br/>")]) == "&lt;<br/>"


SERIES = [{"name": "before", "tone": "before", "values": [1.0, None, 100.0]},
          {"name": "after", "tone": "after", "values": [2.0, 5.0, 20000.0], "dashed": True}]


@pytest.mark.parametrize("chart", [
    charts.bar_chart("Bars", ["1", "4", "16"], SERIES, "users", "tok/s"),
    charts.line_chart("Lines", ["1", "4", "16"], SERIES, "users", "ms"),
    charts.line_chart("Lines", ["1", "4", "16"], SERIES, "users", "ms", log=True),
    charts.bar_chart("Nothing", [], []),
    charts.line_chart("Nothing", ["1"], [{"name": "a", "tone": "after", "values": [None]}], log=True),
    charts.bar_chart("Zero", ["1"], [{"name": "a", "tone": "after", "values": [0]}]),
])
def test_a_chart_is_well_formed_and_stays_inside_its_frame(chart):
    root = ElementTree.fromstring(chart)
    name = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img" and root.find(name + "title").text
    for rect in root.iter(name + "rect"):
        assert 0 <= float(rect.get("x")) and float(rect.get("x")) + float(rect.get("width")) <= charts.WIDTH
        assert 0 <= float(rect.get("y")) <= charts.HEIGHT and float(rect.get("height")) >= 0
    for circle in root.iter(name + "circle"):
        assert 0 <= float(circle.get("cy")) <= charts.HEIGHT - charts.BOTTOM


def test_bars_are_as_high_as_their_values():
    root = ElementTree.fromstring(charts.bar_chart("Bars", ["1"], [
        {"name": "a", "tone": "before", "values": [50]}, {"name": "b", "tone": "after", "values": [100]}]))
    heights = [float(rect.get("height")) for rect in root.iter("{http://www.w3.org/2000/svg}rect")
               if "bar" in rect.get("class")]
    assert heights[1] == pytest.approx(2 * heights[0], abs=0.02)


def test_labels_of_near_points_do_not_cover_each_other():
    root = ElementTree.fromstring(charts.line_chart("Lines", ["1"], [
        {"name": "a", "tone": "before", "values": [100]}, {"name": "b", "tone": "after", "values": [101]}]))
    places = [float(text.get("y")) for text in root.iter("{http://www.w3.org/2000/svg}text") if text.get("class") == "value"]
    assert abs(places[0] - places[1]) >= 13


@pytest.mark.parametrize("one, other", [
    (before(), after()), (before(), None), (None, after()),
    (before(stub=True), after(stub=True)), (before(), after(workload={"seed": 9})),
    (before(levels=[level(1, 0.0, None, 1000.0, errors={"http_500": 3}, completed=0, output_tokens_per_second_per_user_p50=None)]),
     after()),
])
def test_the_benchmark_report_is_one_sound_document(one, other):
    page = benchmark_page(one, other, "Department of Tests")
    checker = check(page)
    assert checker.found.count("h1") == 1 and "Department of Tests" in page
    # A table stands beside every chart, and every record is inside.
    assert checker.found.count("figure") == checker.found.count("svg") == 2
    assert checker.found.count("pre") == len([record for record in (one, other) if record])


def test_the_benchmark_report_says_what_matters():
    page = benchmark_page(before(caption="CPU, small random model"), after())
    text = re.sub(r"<[^>]+>", " ", page)
    for wanted in ("8.00 times the tokens per second at 16 users", "1.20 times the tokens per second at 1 user",
                   "CPU, small random model", "Same workload", "kv-cache-dtype", "Gateway overhead", "2.00 ms",
                   "Concurrent users", "Free memory"):
        assert wanted in text
    assert "STUB" not in text
    assert "STUB" in re.search("<h1>(.*)</h1>", benchmark_page(before(stub=True), after(stub=True))).group(1)


def test_the_report_is_reproducible():
    assert benchmark_page(before(), after()) == benchmark_page(before(), after())


def test_text_from_a_server_cannot_run():
    page = benchmark_page(before(endpoint={"model": EVIL}, notes=[EVIL]), after(engine={"flags": {EVIL: EVIL}, "image": EVIL}))
    check(page)
    assert "<script" not in page
