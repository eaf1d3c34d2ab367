# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Charts as inline SVG, coloured by the page's own style so that they follow light, dark and print.

PRIVATE to the collection. Pure. Series are told apart by shape and label too, never by
colour alone. Values of None leave a gap.
"""

from __future__ import annotations

import math
import re

from ansible_collections.indiaai.inference.plugins.plugin_utils._report.markup import Markup, element, join, void

WIDTH, HEIGHT = 560, 300
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 40, 46


def bar_chart(title: str, groups: list, series: list, x_label: str = "", unit: str = "", show=str) -> Markup:
    """Grouped bars. ``series``: ``[{"name", "tone", "values": [one for each group]}, ...]``.

    ``tone`` picks the colour (``before``, ``after``, or ``other``); ``show`` turns a value into its label;
    ``unit`` follows the value where a pointer rests on it.
    """
    highest = max([value for item in series for value in item["values"] if value is not None] or [0])
    scale = _Linear(highest, HEIGHT - BOTTOM, TOP)
    parts = _axes(scale, show)
    slot = float(WIDTH - LEFT - RIGHT) / max(len(groups), 1)
    width = min(54.0, slot * 0.76 / max(len(series), 1))
    for number, group in enumerate(groups):
        middle = LEFT + slot * (number + 0.5)
        for place, item in enumerate(series):
            value = item["values"][number]
            if value is None:
                continue
            x = middle + (place - len(series) / 2.0) * width
            top = scale.at(value)
            height = max(HEIGHT - BOTTOM - top, 0.75)
            parts.append(element(
                "g", element("title", "%s, %s: %s" % (item["name"], group, _with_unit(show(value), unit))),
                void("rect", x=_n(x + 1.5), y=_n(HEIGHT - BOTTOM - height), width=_n(width - 3), height=_n(height), rx=2,
                     class_="bar " + item["tone"]),
                element("text", show(value), x=_n(x + width / 2), y=_n(top - 6), class_="value")))
        parts.append(element("text", group, x=_n(middle), y=HEIGHT - BOTTOM + 18, class_="tick middle"))
    return _svg(title, parts, series, x_label)


def line_chart(title: str, xs: list, series: list, x_label: str = "", unit: str = "", show=str, log: bool = False) -> Markup:
    """Lines over evenly spaced points ``xs``. As bar_chart; a series may have ``"dashed": True``.

    ``log`` draws the values on a logarithmic axis, for figures that differ by powers of ten.
    """
    values = [value for item in series for value in item["values"] if value is not None and (value > 0 or not log)]
    if log and values:
        scale = _Logarithmic(min(values), max(values), HEIGHT - BOTTOM, TOP)
    else:
        scale = _Linear(max(values or [0]), HEIGHT - BOTTOM, TOP)
    parts = _axes(scale, show)
    step = float(WIDTH - LEFT - RIGHT) / max(len(xs), 1)
    places = [LEFT + step * (number + 0.5) for number in range(len(xs))]
    for number, text in enumerate(xs):
        parts.append(element("text", text, x=_n(places[number]), y=HEIGHT - BOTTOM + 18, class_="tick middle"))
    labels = {}
    for item in series:
        points = [(places[number], scale.at(value), value, xs[number]) for number, value in enumerate(item["values"])
                  if value is not None and (value > 0 or not log)]
        css = item["tone"] + (" dashed" if item.get("dashed") else "")
        if len(points) > 1:
            parts.append(void("polyline", points=" ".join("%s,%s" % (_n(x), _n(y)) for x, y, dummy, dummy2 in points),
                              class_="line " + css))
        for x, y, value, text in points:
            label = element("title", "%s, %s: %s" % (item["name"], text, _with_unit(show(value), unit)))
            parts.append(element("g", label, _marker(x, y, item["tone"], css)))
            if not item.get("dashed"):
                labels.setdefault(x, []).append((y, show(value)))
    parts += _point_labels(labels)
    return _svg(title, parts, series, x_label)


class _Linear:
    """A scale from zero with four to seven round steps."""

    def __init__(self, highest: float, bottom: float, top: float) -> None:
        step = _round_step(highest / 5.0) if highest > 0 else 1
        count = max(1, int(math.ceil(highest * 1.06 / step - 1e-9)))
        self.ticks = [step * number for number in range(count + 1)]
        self._bottom, self._height, self._highest = bottom, bottom - top, step * count

    def at(self, value: float) -> float:
        return self._bottom - self._height * value / self._highest


class _Logarithmic:
    """A scale of whole powers of ten around the values."""

    def __init__(self, lowest: float, highest: float, bottom: float, top: float) -> None:
        self._low = math.floor(math.log10(lowest))
        self._high = max(math.ceil(math.log10(highest * 1.3)), self._low + 1)
        self.ticks = [10.0 ** power for power in range(int(self._low), int(self._high) + 1)]
        self._bottom, self._height = bottom, bottom - top

    def at(self, value: float) -> float:
        return self._bottom - self._height * (math.log10(value) - self._low) / (self._high - self._low)


def _round_step(wanted: float) -> float:
    power = 10.0 ** math.floor(math.log10(wanted))
    for factor in (1, 2, 2.5, 5, 10):
        if factor * power >= wanted:
            step = factor * power
            return int(step) if step >= 1 and step == int(step) else step
    return 10 * power


def _axes(scale, show) -> list:
    parts = []
    for value in scale.ticks:
        y = _n(scale.at(value))
        parts.append(void("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid" if value != scale.ticks[0] else "axis"))
        parts.append(element("text", show(value), x=LEFT - 8, y=y, dy="0.32em", class_="tick end"))
    return parts


def _point_labels(labels: dict) -> list:
    """Labels above their points, or below where the one above has no room. ``{x: [(y, text)]}``."""
    parts = []
    for x, points in labels.items():
        lowest = None
        for y, text in sorted(points):
            place = y - 10
            if lowest is not None and place - lowest < 13:
                place = max(y + 18, lowest + 13)
            parts.append(element("text", text, x=_n(x), y=_n(place), class_="value"))
            lowest = place
    return parts


def _marker(x: float, y: float, tone: str, css: str) -> Markup:
    if tone == "before":
        return void("rect", x=_n(x - 4), y=_n(y - 4), width=8, height=8, class_="marker " + css)
    return void("circle", cx=_n(x), cy=_n(y), r=4.5, class_="marker " + css)


def _svg(title: str, parts: list, series: list, x_label: str) -> Markup:
    name = "chart-" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    described = "; ".join("%s: %s" % (item["name"], ", ".join("-" if value is None else "%g" % value for value in item["values"]))
                          for item in series)
    legend = []
    x = LEFT
    for item in series:
        css = item["tone"] + (" dashed" if item.get("dashed") else "")
        if item.get("dashed"):
            legend.append(void("line", x1=x, x2=x + 16, y1=12, y2=12, class_="line " + css))
        else:
            legend.append(_marker(x + 8, 12, item["tone"], "solid " + item["tone"]))
        legend.append(element("text", item["name"], x=x + 22, y=12, dy="0.32em", class_="legend"))
        x += 44 + 6.8 * len(item["name"])
    if x_label:
        legend.append(element("text", x_label, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 8, class_="tick middle"))
    return element(
        "svg", element("title", title, id=name + "-title"), element("desc", described, id=name + "-desc"),
        join(parts), join(legend),
        viewBox="0 0 %d %d" % (WIDTH, HEIGHT), role="img", aria_labelledby="%s-title %s-desc" % (name, name),
        xmlns="http://www.w3.org/2000/svg")


def _with_unit(text: str, unit: str) -> str:
    return "%s %s" % (text, unit) if unit else text


def _n(value: float) -> str:
    return ("%.2f" % value).rstrip("0").rstrip(".")
