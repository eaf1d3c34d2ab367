# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which GPU serves which model, and with how much of its memory. Pure.

The starting point is the GPU's total memory minus what others hold minus a reserve.
Our own engines (label `indiaai.inference.managed=true`) are left out of the sum, and
so is `memory_used_mib`: the answer must be the same whether our engines run or not.
All sizes are MiB and absolute.
"""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_models import as_int
from ansible_collections.indiaai.inference.plugins.plugin_utils._plan_problems import Problem

# Less than this is not a share but an accident: an engine's CUDA context, graphs and the
# smallest embedding model already need about as much.
SMALLEST_SHARE_MIB = 2048

# Flags by which an engine is spread over several GPUs. Each GPU then holds an equal part.
_PARALLEL_FLAGS = ("tensor-parallel-size", "tp-size", "pipeline-parallel-size", "pp-size")


def gpu_count(model):
    """How many GPUs this model's flags ask for."""
    count = 1
    for flag in _PARALLEL_FLAGS:
        value = as_int(model["args"].get(flag, model["args"].get(flag.replace("-", "_"))))
        if value is not None and value > 0:
            count *= value
    return count


def usable(gpus):
    """(GPUs that can serve, [(gpu, why not)]), both ordered by index."""
    good, bad = [], []
    for gpu in sorted(gpus, key=lambda item: (item.get("index", 0), item.get("uuid") or "")):
        if gpu.get("state") != "ok":
            bad.append((gpu, "its state is {0}".format(gpu.get("state"))))
        elif not gpu.get("uuid") or gpu.get("memory_total_mib") is None:
            bad.append((gpu, "its uuid or memory could not be read"))
        elif gpu.get("mig_mode") == "enabled":
            bad.append((gpu, "MIG is enabled, and the plan hands out whole GPUs"))
        else:
            good.append(gpu)
    return good, bad


def assign(models, gpus, reserve_mib, is_replaced):
    """models: [{"name", "position", "gpu_memory_mib", "args"}]; gpus: usable ones.

    is_replaced(process) says whether a process's memory will be free by the time the
    engines start. Returns ([{"devices", "memory_mib"}] in model order, device table,
    [(Problem, processes in the way)]).
    """
    cards = [_card(gpu, reserve_mib, is_replaced) for gpu in gpus]
    placed = [None] * len(models)
    problems = []
    # The big fixed ones first: whatever is left is then shared by those without a wish.
    for number in sorted(
        range(len(models)), key=lambda i: (models[i]["gpu_memory_mib"] is None, -(models[i]["gpu_memory_mib"] or 0), i)
    ):
        count = gpu_count(models[number])
        if count > len(cards):
            problems.append((_too_few(models[number], count, cards), []))
            continue
        chosen = sorted(cards, key=lambda card: (-_room(card, models[number]), card["index"]))[:count]
        for card in chosen:
            card["models"].append(number)
            card["fixed_mib"] += models[number]["gpu_memory_mib"] or 0
            card["sharers"] += models[number]["gpu_memory_mib"] is None
        placed[number] = chosen
    for card in cards:
        problems.extend(_fit(card, models))
    result = []
    for number, chosen in enumerate(placed):
        if chosen is None:
            result.append({"devices": [], "memory_mib": None})
            continue
        wish = models[number]["gpu_memory_mib"]
        memory = wish if wish is not None else min(_share(card) for card in chosen)
        for card in chosen:
            card["planned_mib"] += max(memory, 0)
        result.append({"devices": [card["uuid"] for card in sorted(chosen, key=lambda c: c["index"])], "memory_mib": memory})
    return result, [_row(card) for card in cards], problems


def _card(gpu, reserve_mib, is_replaced):
    foreign = [p for p in gpu.get("processes", []) if not p.get("managed") and not is_replaced(p)]
    known = sum(p.get("memory_mib") or 0 for p in foreign)
    orphaned = _orphaned(gpu, reserve_mib)
    return {
        "index": gpu["index"],
        "uuid": gpu["uuid"],
        "name": gpu.get("name"),
        "total_mib": gpu["memory_total_mib"],
        "foreign": foreign,
        "foreign_mib": known + orphaned,
        "orphaned_mib": orphaned,
        "unknown": [p for p in foreign if p.get("memory_mib") is None],
        "reserve_mib": reserve_mib,
        "open_mib": gpu["memory_total_mib"] - known - orphaned - reserve_mib,
        "fixed_mib": 0,
        "sharers": 0,
        "planned_mib": 0,
        "models": [],
    }


def _orphaned(gpu, reserve_mib):
    """Memory in use that no process admits to (a killed worker's child, another PID namespace).

    Small differences are the driver's bookkeeping and covered by the reserve.
    """
    used = gpu.get("memory_used_mib")
    processes = gpu.get("processes", [])
    if used is None or any(p.get("memory_mib") is None for p in processes):
        return 0
    rest = used - sum(p["memory_mib"] for p in processes)
    return rest if rest > reserve_mib else 0


def _share(card):
    return (card["open_mib"] - card["fixed_mib"]) // card["sharers"]


def _room(card, model):
    """What this model would find on this card: all that is left, or one more equal share of it."""
    left = card["open_mib"] - card["fixed_mib"]
    return left if model["gpu_memory_mib"] is not None else left // (1 + card["sharers"])


def _fit(card, models):
    wanted = card["fixed_mib"] + SMALLEST_SHARE_MIB * card["sharers"]
    if not card["models"]:
        return []
    names = ", ".join(models[n]["name"] for n in card["models"])
    change = " or ".join(
        ["inference_models[{0}].gpu_memory_mib".format(models[n]["position"]) for n in card["models"]]
        + ["inference_host_reserve_mib"]
    )
    if card["unknown"] and card["sharers"]:
        return [
            (
                Problem(
                    "{0}: the memory of {1} cannot be read".format(_title(card), _holders(card["unknown"])),
                    "a known size to share out, or a size for every model",
                    "stop the process, name it in inference_replaces, or set {0}".format(change),
                ),
                card["unknown"],
            )
        ]
    if wanted <= card["open_mib"]:
        return []
    return [
        (
            Problem(
                "{0}: {1} MiB are needed for {2}, but {3} MiB are left: {4} total - {5} held by others ({6}) "
                "- {7} reserve".format(
                    _title(card),
                    wanted,
                    names,
                    max(card["open_mib"], 0),
                    card["total_mib"],
                    card["foreign_mib"],
                    _holders(card["foreign"], card["orphaned_mib"]),
                    card["reserve_mib"],
                ),
                "models that fit into what is left ({0} MiB at least for a model without gpu_memory_mib)".format(
                    SMALLEST_SHARE_MIB
                ),
                change + (", or inference_replaces for what holds the memory" if card["foreign"] else ""),
            ),
            card["foreign"],
        )
    ]


def _too_few(model, count, cards):
    return Problem(
        "{0} asks for {1} GPUs by its flags, and {2} can serve here".format(model["name"], count, len(cards)),
        "no more GPUs than the host has",
        "inference_models[{0}].args ({1})".format(model["position"], ", ".join(_PARALLEL_FLAGS)),
    )


def _title(card):
    return "GPU {0} ({1}, {2})".format(card["index"], card["name"], card["uuid"])


def _holders(processes, orphaned_mib=0):
    """Processes as a person looks for them: container or unit, name, pid, size."""
    parts = []
    for process in sorted(processes, key=lambda p: (-(p.get("memory_mib") or 0), p.get("pid") or 0)):
        owner = ""
        if process.get("container"):
            owner = "container {0}, ".format(process["container"])
        elif process.get("unit"):
            owner = "unit {0}, ".format(process["unit"])
        size = process.get("memory_mib")
        parts.append(
            "{0}{1}, pid {2}: {3}".format(
                owner,
                process.get("name") or "process",
                process.get("pid"),
                "unknown size" if size is None else "{0} MiB".format(size),
            )
        )
    if orphaned_mib:
        parts.append("no visible process: {0} MiB".format(orphaned_mib))
    return "; ".join(parts) or "nobody"


def _row(card):
    return {
        "device": card["uuid"],
        "total_mib": card["total_mib"],
        "foreign_mib": card["foreign_mib"],
        "reserve_mib": card["reserve_mib"],
        "planned_mib": card["planned_mib"],
        "free_mib": card["open_mib"] - card["planned_mib"],
    }
