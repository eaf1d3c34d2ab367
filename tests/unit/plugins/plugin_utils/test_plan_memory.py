# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPU memory: who gets how much, what is refused, and what the plan must not depend on."""

from __future__ import annotations

import copy
import random

from hypothesis import given, settings, strategies as st

from ansible_collections.indiaai.inference.plugins.module_utils._host import paths
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan import build
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import PlanError

TOTAL = 143771
RESERVE = 3072
GIB_40 = 40960


def model(name, **more):
    return dict({"name": name, "engine": "vllm", "source": "/srv/models/" + name}, **more)


def uuid(index):
    return "GPU-0000000{0}-aaaa-4bbb-8ccc-dddddddddddd".format(index)


def gpu(index=0, processes=(), total=TOTAL, **more):
    used = sum(p["memory_mib"] or 0 for p in processes)
    return dict(
        {
            "index": index, "uuid": uuid(index), "name": "NVIDIA H200", "state": "ok", "memory_total_mib": total,
            "memory_used_mib": used, "memory_free_mib": total - used, "processes": list(processes),
        },
        **more
    )


def process(memory_mib, pid=4242, container=None, managed=False, unit=None):
    return {"pid": pid, "name": "python3", "memory_mib": memory_mib, "container": container, "unit": unit, "managed": managed}


def facts(*gpus):
    return {"state": "ok", "reason": "", "gpus": list(gpus)}


def outcome(models, known, **options):
    """The plan, or the text of its refusal: both are an answer."""
    try:
        return build(models, known, dict({"engines": ["vllm"], "paths": paths.as_dict()}, **options))
    except PlanError as exc:
        return str(exc)


def sizes(models, known, **options):
    result = outcome(models, known, **options)
    assert isinstance(result, dict), result
    return [(engine["devices"], engine["memory_mib"]) for engine in result["engines"]]


def test_one_model_gets_what_is_left_of_gpu_0():
    assert sizes([model("a")], facts(gpu())) == [([uuid(0)], TOTAL - RESERVE)]


def test_a_wish_is_met_and_the_others_share_the_rest_equally():
    result = sizes([model("a"), model("b", gpu_memory_mib=40000), model("c")], facts(gpu()))
    rest = (TOTAL - RESERVE - 40000) // 2
    assert [size for devices, size in result] == [rest, 40000, rest]


def test_the_most_free_gpu_comes_first():
    known = facts(gpu(0, [process(50000)]), gpu(1), gpu(2, [process(10000)]))
    assert sizes([model("a")], known)[0] == ([uuid(1)], TOTAL - RESERVE)


def test_equal_gpus_are_filled_in_order_one_model_each():
    result = sizes([model("a"), model("b"), model("c")], facts(gpu(0), gpu(1), gpu(2)))
    assert [devices for devices, size in result] == [[uuid(0)], [uuid(1)], [uuid(2)]]


def test_an_engine_over_two_gpus_gets_an_equal_part_of_both():
    result = sizes([model("a", args={"tensor-parallel-size": 2})], facts(gpu(0), gpu(1, [process(5000)])))
    assert result == [([uuid(0), uuid(1)], TOTAL - RESERVE - 5000)]


def test_more_gpus_asked_for_than_there_are():
    text = outcome([model("a", args={"tensor_parallel_size": "4"})], facts(gpu(0), gpu(1)))
    assert "asks for 4 GPUs" in text and "2 can serve" in text


def test_a_gpu_that_is_lost_is_named_where_the_others_are_too_small():
    text = outcome([model("a", gpu_memory_mib=90000), model("b", gpu_memory_mib=90000)], facts(gpu(0), gpu(1, state="lost")))
    assert "180000 MiB are needed for a, b" in text and "GPU 1 ({0}) is left out: its state is lost".format(uuid(1)) in text


def test_what_does_not_fit_is_refused_with_numbers_and_holders():
    known = facts(gpu(0, [process(GIB_40, 777, container="old-llm"), process(100, 12)]))
    text = outcome([model("a", gpu_memory_mib=120000)], known)
    assert "120000 MiB are needed for a, but 99639 MiB are left: 143771 total - 41060 held by others" in text
    assert "(container old-llm, python3, pid 777: 40960 MiB; python3, pid 12: 100 MiB) - 3072 reserve" in text
    assert "inference_models[0].gpu_memory_mib" in text


def test_too_many_models_for_one_gpu():
    models = [model("m{0}".format(n)) for n in range(5)]
    assert "10240 MiB are needed" in outcome(models, facts(gpu(total=12000)))


def test_the_reserve_is_the_users_choice():
    assert sizes([model("a")], facts(gpu()), host_reserve_mib=0)[0][1] == TOTAL


def test_a_foreign_process_of_unknown_size_is_not_taken_for_nothing():
    known = facts(gpu(0, [process(None, 99)]))
    assert "cannot be read" in outcome([model("a")], known)
    # Who gives sizes has decided.
    assert sizes([model("a", gpu_memory_mib=9000)], known)[0][1] == 9000


def test_memory_that_no_process_admits_to_counts_once_it_exceeds_the_reserve():
    assert sizes([model("a")], facts(gpu(memory_used_mib=3000)))[0][1] == TOTAL - RESERVE
    assert sizes([model("a")], facts(gpu(memory_used_mib=9000)))[0][1] == TOTAL - RESERVE - 9000
    assert "no visible process: 140000 MiB" in outcome([model("a")], facts(gpu(memory_used_mib=140000)))


def test_gpus_that_cannot_serve_are_left_out_and_named():
    known = facts(gpu(0, state="needs_reset"), gpu(1, mig_mode="enabled"), gpu(2))
    result = outcome([model("a")], known)
    assert result["engines"][0]["devices"] == [uuid(2)]
    assert len(result["notes"]) == 2 and "needs_reset" in result["notes"][0] and "MIG" in result["notes"][1]
    assert "no GPU can serve" in outcome([model("a")], facts(gpu(0, state="lost", memory_total_mib=None)))


REPLACES = [{"container": "old-llm", "url": "http://127.0.0.1:8000", "api": "openai", "model": "m"}]


def test_memory_of_what_is_replaced_is_free_once_the_cutover_is_allowed():
    known = facts(gpu(0, [process(GIB_40, container="old-llm")]))
    assert sizes([model("a")], known, replaces=REPLACES, cutover=True) == sizes([model("a")], facts(gpu()))
    assert sizes([model("a")], known, replaces=REPLACES)[0][1] == TOTAL - RESERVE - GIB_40


def test_a_replaced_unit_counts_the_same():
    known = facts(gpu(0, [process(GIB_40, unit="ollama.service")]))
    named = [{"unit": "ollama", "url": "http://127.0.0.1:11434", "api": "ollama"}]
    assert sizes([model("a")], known, replaces=named, cutover=True)[0][1] == TOTAL - RESERVE


# Properties ------------------------------------------------------------------------------------

MODELS = st.lists(
    st.tuples(st.one_of(st.none(), st.integers(1000, 160000)), st.sampled_from([1, 1, 1, 2])), min_size=1, max_size=4
).map(
    lambda wishes: [
        model("m{0}".format(n), gpu_memory_mib=wish, args={"tensor-parallel-size": gpus} if gpus > 1 else {})
        for n, (wish, gpus) in enumerate(wishes)
    ]
)
FOREIGN = st.lists(st.integers(0, 60000), max_size=3)
CARDS = st.lists(FOREIGN, min_size=1, max_size=4).map(
    lambda cards: [
        gpu(n, [process(size, 100 * n + k, container="c{0}".format(k)) for k, size in enumerate(held)], total=TOTAL)
        for n, held in enumerate(cards)
    ]
)
OURS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 140000)), max_size=5)


def with_ours(cards, ours):
    """The same host while engines of this collection run on it."""
    result = copy.deepcopy(cards)
    for number, (index, size) in enumerate(ours):
        card = result[index % len(result)]
        card["processes"].append(process(size, 9000 + number, container="inference-m{0}".format(number), managed=True))
        card["memory_used_mib"] += size
        card["memory_free_mib"] -= size
    return result


@settings(max_examples=150, deadline=None)
@given(MODELS, CARDS, OURS)
def test_the_plan_does_not_depend_on_our_own_engines(models, cards, ours):
    assert outcome(models, facts(*cards)) == outcome(models, facts(*with_ours(cards, ours)))


@settings(max_examples=100, deadline=None)
@given(MODELS, CARDS, st.integers(0, 3))
def test_a_foreign_process_of_40_gib_changes_the_plan_or_is_refused(models, cards, index):
    before = outcome(models, facts(*cards))
    more = copy.deepcopy(cards)
    card = more[index % len(more)]
    card["processes"].append(process(GIB_40, 31337, container="intruder"))
    card["memory_used_mib"] += GIB_40
    after = outcome(models, facts(*more))
    assert isinstance(after, str) or after != before


@settings(max_examples=100, deadline=None)
@given(MODELS, CARDS, st.randoms(use_true_random=False))
def test_the_order_of_facts_does_not_matter(models, cards, rnd: random.Random):
    shuffled = copy.deepcopy(cards)
    rnd.shuffle(shuffled)
    for card in shuffled:
        rnd.shuffle(card["processes"])
    assert outcome(models, facts(*cards)) == outcome(models, facts(*shuffled))


@settings(max_examples=100, deadline=None)
@given(MODELS, CARDS)
def test_a_plan_never_promises_more_than_there_is(models, cards):
    untouched = copy.deepcopy((models, cards))
    first = outcome(models, facts(*cards))
    assert (models, cards) == untouched, "the plan changed its input"
    assert first == outcome(models, facts(*cards))
    if isinstance(first, str):
        return
    planned = {card["uuid"]: 0 for card in cards}
    for engine, wish in zip(first["engines"], models):
        assert engine["memory_mib"] >= 1000
        assert len(set(engine["devices"])) == wish["args"].get("tensor-parallel-size", 1)
        if wish["gpu_memory_mib"]:
            assert engine["memory_mib"] == wish["gpu_memory_mib"]
        for device in engine["devices"]:
            planned[device] += engine["memory_mib"]
    for row in first["memory"]["devices"]:
        assert row["planned_mib"] == planned[row["device"]]
        assert row["free_mib"] == row["total_mib"] - row["foreign_mib"] - row["reserve_mib"] - row["planned_mib"]
        assert row["free_mib"] >= 0 or not planned[row["device"]]
