# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""S1-S8 on the relay alone: every split of a stream gives the same bytes and the same record."""

from __future__ import annotations

import json

import pytest
from fake_engine import DONE, FINISH, OPENING, WORDS, delta, event, usage_event
from hypothesis import given, settings
from hypothesis import strategies as st
from indiaai_gateway.sse import Rename, SseRelay

CAP = 2000


def run(pieces, hide=False, rename=None, cap=CAP):
    relay = SseRelay(cap, hide, rename)
    out = b"".join([*(relay.feed(piece) for piece in pieces), relay.finish()])
    return out, (relay.usage, relay.done, relay.error, relay.error_first)


def split(data, cuts):
    edges = [0, *sorted(cuts), len(data)]
    return [data[low:high] for low, high in zip(edges, edges[1:]) if low < high]


BIG = delta("अ" * 2000)  # larger than the cap
STREAMS = {
    "plain": OPENING + b"".join(delta(word) for word in WORDS) + FINISH + usage_event(7, 6) + DONE,
    "crlf": (OPENING + delta("नमस्ते") + usage_event(3, 1) + DONE).replace(b"\n", b"\r\n"),
    "no space, comments": b": ping\n\n" + OPENING.replace(b"data: ", b"data:") + b": ping\n\n" + delta("🙂") + usage_event(2, 2) + DONE,
    "named events": b"event: delta\n" + delta("a") + b"event: end\nid: 4\n" + usage_event(2, 1) + DONE,
    "oversize": OPENING + BIG + delta("x") + usage_event(9, 9) + DONE,
    "no blank line at the end": OPENING + delta("x") + usage_event(5, 4) + b"data: [DONE]",
    "in-band error": OPENING + event(error={"message": "boom", "code": 500}) + DONE,
    "error first": event(error={"message": "boom", "code": 400}) + DONE,
    "usage null, usage in text": OPENING + event(choices=[{"delta": {"content": 'x "usage":{"prompt_tokens":99} [DONE] "error"'}}], usage=None)
    + usage_event(1, 2) + DONE,
}


COUNTS = {"plain": (7, 6), "crlf": (3, 1), "no space, comments": (2, 2), "named events": (2, 1), "oversize": (9, 9),
          "no blank line at the end": (5, 4), "usage null, usage in text": (1, 2)}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("hide", [False, True])
def test_S1_every_split_offset(name, hide):
    data = STREAMS[name]
    whole = run([data], hide)
    for cut in range(1, len(data)):
        assert run([data[:cut], data[cut:]], hide) == whole, cut
    assert run([data[at:at + 1] for at in range(len(data))], hide) == whole
    if not hide:
        assert whole[0] == data
    usage, done, error, error_first = whole[1]
    assert (usage and (usage["prompt_tokens"], usage["completion_tokens"])) == COUNTS.get(name)
    assert done and bool(error) == ("error" in name) and error_first == (name == "error first")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_S1_any_split_property(data):
    pieces = st.one_of(
        st.text(max_size=20).map(delta),
        st.sampled_from([OPENING, FINISH, BIG, b": ping\n\n", b"event: x\n" + delta("y"), DONE,
                         usage_event(3, 4), usage_event(5, 6, choices=[{"delta": {}}]),
                         event(choices=[], usage=None), b"data: not json\n\n", b"\n\n", b"data:\n\n"]),
    )
    stream = b"".join(data.draw(st.lists(pieces, max_size=12)))
    if data.draw(st.booleans()):
        stream = stream.replace(b"\n", b"\r\n")
    hide = data.draw(st.booleans())
    cuts = data.draw(st.lists(st.integers(0, len(stream)), max_size=10))
    assert run(split(stream, cuts), hide) == run([stream], hide)
    if not hide:
        assert run(split(stream, cuts), hide)[0] == stream


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400), st.lists(st.integers(0, 400), max_size=6))
def test_S1_arbitrary_bytes_pass_unchanged(stream, cuts):
    assert run(split(stream, [cut for cut in cuts if cut <= len(stream)]))[0] == stream


def test_S2_multibyte_character_split():
    data = delta("न🙂த")
    for cut in range(1, len(data)):
        assert run([data[:cut], data[cut:]])[0] == data


def test_S3_no_space_after_colon_and_crlf():
    for stream in (STREAMS["crlf"], STREAMS["no space, comments"]):
        assert run([stream])[1][0]["prompt_tokens"] in (2, 3)
        assert run([stream])[1][1] is True


def test_S3_comment_is_not_the_first_token():
    relay = SseRelay(CAP)
    assert relay.feed(b": ping\n\n") == b": ping\n\n"
    assert not relay.first_data and relay.events == 0
    relay.feed(OPENING)
    assert relay.first_data


def test_S4_event_and_data_stay_together():
    stream = b"event: message\n" + delta("a") + b"event: message\n" + delta("b")
    relay = SseRelay(CAP)
    assert b"".join(relay.feed(stream[at:at + 7]) for at in range(0, len(stream), 7)) == stream


def test_S5_event_over_the_cap_is_forwarded_as_it_comes():
    relay = SseRelay(CAP)
    big = delta("y" * 5_000_000)
    out = []
    for at in range(0, len(big), 65536):
        out.append(relay.feed(big[at:at + 65536]))
        assert relay._held <= CAP
    out += [relay.feed(usage_event(1, 2)), relay.feed(DONE)]
    assert b"".join(out) == big + usage_event(1, 2) + DONE
    assert relay.usage["completion_tokens"] == 2 and relay.done


def test_S6_usage_is_the_last_seen_not_a_sum():
    stream = b"".join(usage_event(10, count, choices=[{"delta": {"content": "x"}}]) for count in (1, 2, 3))
    assert run([stream + DONE], hide=True) == (stream + DONE, ({"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13}, True, None, False))


def test_S7_text_that_looks_like_usage_changes_nothing():
    text = delta('{"usage": {"prompt_tokens": 1}, "choices": []}')
    null = event(choices=[], usage=None)
    for hide in (False, True):
        out, (usage, done, error, _first) = run([text + null + DONE], hide)
        assert (out, usage, done, error) == (text + null + DONE, None, True, None)


def test_S8_only_the_extra_usage_event_is_removed():
    kept = OPENING + delta("a") + FINISH
    assert run([kept + usage_event(1, 1) + DONE], hide=True)[0] == kept + DONE


def test_S14_model_renamed_in_every_event_and_nowhere_else():
    stream = OPENING + delta('"model":"demo"', tool='{"model":"demo"}') + DONE
    for cut in range(1, len(stream)):
        out, _rest = run([stream[:cut], stream[cut:]], rename=Rename("demo", "nick"))
        assert out == stream.replace(b'"model":"demo"', b'"model":"nick"')
    assert json.loads(out.split(b"\n\n")[1][6:])["choices"][0]["delta"]["content"] == '"model":"demo"'
