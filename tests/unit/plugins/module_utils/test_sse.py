# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two stream framings, cut at every place where a network may cut them."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils._sse import JsonLines, SseParser

STREAM = (
    ': ping\n\n'
    'data: {"a": 1}\n\n'
    'event: token\ndata:{"text": "नमस्ते 🙂"}\nid: 7\n\n'
    'data: first\ndata: second\n\n'
    '\n\n'
    'data: [DONE]'
).encode()
EVENTS = [b'{"a": 1}', '{"text": "नमस्ते 🙂"}'.encode(), b"first\nsecond", b"[DONE]"]


def events_of(parser, pieces):
    found = []
    for piece in pieces:
        found += parser.feed(piece)
    return found + parser.close()


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
def test_every_split_gives_the_same_events(line_end):
    stream = STREAM.replace(b"\n", line_end)
    for cut in range(len(stream) + 1):
        assert events_of(SseParser(), [stream[:cut], stream[cut:]]) == EVENTS
    assert events_of(SseParser(), [stream[i:i + 1] for i in range(len(stream))]) == EVENTS


def test_an_event_is_handed_out_when_its_blank_line_arrives():
    parser = SseParser()
    assert parser.feed(b"data: x\n") == []
    assert parser.feed(b"\n") == [b"x"]
    assert parser.close() == []


def test_only_one_space_after_the_colon_belongs_to_the_framing():
    assert SseParser().feed(b"data:  x\n\n") == [b" x"]


def test_an_event_of_five_megabytes_passes():
    payload = b"x" * 5_000_000
    stream = b"data: " + payload + b"\n\n"
    assert events_of(SseParser(), [stream[i:i + 65536] for i in range(0, len(stream), 65536)]) == [payload]


def test_json_lines_at_every_split():
    stream = '{"a": "क"}\r\n\n{"b": 2}'.encode()
    for cut in range(len(stream) + 1):
        assert events_of(JsonLines(), [stream[:cut], stream[cut:]]) == ['{"a": "क"}'.encode(), b'{"b": 2}']
