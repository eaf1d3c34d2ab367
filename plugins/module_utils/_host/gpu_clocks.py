# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads the GPUs, sets what gpu_policy decides, and reads back. Used by the module gpu_clocks and by "inferctl gpu-init"."""

from __future__ import annotations

import copy
import json
import os

from . import gpu_policy
from . import nvml
from . import paths

_SETTLE = 3.0  # seconds until a new lock shows in the clock
_DAEMON = 15.0  # seconds that nvidia-persistenced gets to reach every GPU
_DAEMON_PID = "/run/nvidia-persistenced/nvidia-persistenced.pid"


class Refused(Exception):
    """The settings cannot be had from these GPUs; nothing was set. problems: [text]."""

    def __init__(self, problems):
        self.problems = problems
        super().__init__("; ".join(problems))


def load_settings(path=paths.GPU_SETTINGS):
    """The settings that the role wrote, None when there are none. Refused when they cannot be understood."""
    try:
        with open(path, encoding="utf-8") as handle:
            found = json.load(handle)
    except FileNotFoundError:
        return None
    except ValueError as exc:
        raise Refused(["%s is not JSON: %s" % (path, exc)]) from None
    if not isinstance(found, dict) or found.get("schema_version") != gpu_policy.SCHEMA_VERSION:
        raise Refused(["%s: wanted an object with schema_version %d" % (path, gpu_policy.SCHEMA_VERSION)])
    strange = sorted(set(found) - set(gpu_policy.DEFAULTS))
    if strange:
        raise Refused(["%s: unknown key %s" % (path, name) for name in strange])
    settings = dict(gpu_policy.DEFAULTS, **found)
    problems = gpu_policy.check(settings)
    if problems:
        raise Refused(problems)
    return settings


def settings_text(settings):
    """Content of the settings file."""
    return json.dumps(settings, indent=1, sort_keys=True) + "\n"


def survey(library):
    """Every GPU -> [row]: {"index", "uuid", "name", "gpu": Gpu|None, "found": see gpu_policy|None, "error": text|None}."""
    rows = []
    for index in range(library.count()):
        row = {"index": index, "uuid": None, "name": None, "gpu": None, "found": None, "error": None, "actions": [], "failed": [], "acted": []}
        rows.append(row)
        try:
            row["gpu"] = library.gpu(index)
            row["uuid"] = row["gpu"].uuid()
            row["name"] = row["gpu"].name()
            row["found"] = look(row["gpu"])
        except nvml.NvmlError as exc:
            row["error"] = str(exc)
            row["code"] = exc.code
    return rows


def look(gpu):
    """What one GPU says of itself -> found. NvmlError when it is lost; what it does not have is None."""
    memory_clocks = _known(gpu.supported_memory_clocks) or []
    limits = _known(gpu.power_limit_range) or (None, None)
    return dict(
        glance(gpu),
        memory_clocks=memory_clocks,
        sm_clocks={clock: _known(gpu.supported_sm_clocks, clock) or [] for clock in memory_clocks},
        power_min_watts=_watts(limits[0]),
        power_max_watts=_watts(limits[1]),
    )


def glance(gpu):
    """The part of found that changes by itself or by us."""
    return {
        "sm_mhz": _known(gpu.sm_clock),
        "memory_mhz": _known(gpu.memory_clock),
        "event_reasons": _known(gpu.event_reasons),
        "persistence": _known(gpu.persistence),
        "power_limit_watts": _watts(_known(gpu.power_limit)),
    }


def _known(ask, *arguments):
    try:
        return ask(*arguments)
    except nvml.NvmlError as exc:
        if exc.code in nvml.ABSENT:
            return None
        raise


def _watts(milliwatts):
    return None if milliwatts is None else int(round(milliwatts / 1000.0))


def prepare(settings, rows, record):
    """Give each chosen row its target and its actions -> (chosen rows, notes). Refused, with every problem of every GPU."""
    problems = gpu_policy.check(settings)
    if problems:
        raise Refused(problems)
    chosen, problems = gpu_policy.select(rows, settings["gpus"])
    wrong = {}  # one line for all GPUs that have the same problem
    for row in chosen:
        if row["found"] is None:
            continue
        row["target"], texts = gpu_policy.aim(settings, row["found"])
        row["before"] = dict(row["found"])
        row["prior"] = copy.deepcopy(record.gpus.get(row["uuid"], {}))
        row["actions"] = gpu_policy.decide(row["target"], row["found"], row["prior"])
        for text in texts:
            wrong.setdefault((row["name"], text), []).append("%d" % row["index"])
    problems += ["GPU %s (%s): %s" % (", ".join(indexes), name, text) for (name, text), indexes in wrong.items()]
    if problems:
        raise Refused(problems)
    return chosen, gpu_policy.unused(settings)


def journal_items(rows):
    """What the undo journal must know before apply()."""
    return [{"kind": "gpu", "name": "%s %s" % (row["uuid"], action["setting"])} for row in rows for action in row["actions"]]


def await_daemon(rows, clock, running=None):
    """Where nvidia-persistenced runs, give it the time to reach every GPU: only afterwards is the legacy mode needed."""
    running = os.path.exists(_DAEMON_PID) if running is None else running
    waiting = [row for row in rows if any(action["setting"] == "persistence" for action in row["actions"])]
    end = clock.now() + _DAEMON
    while running and waiting and clock.now() < end:
        for row in waiting:
            row["found"]["persistence"] = _safely(row, row["gpu"].persistence)
            if row["found"]["persistence"]:
                row["actions"] = [action for action in row["actions"] if action["setting"] != "persistence"]
        waiting = [row for row in waiting if row["found"]["persistence"] is False]
        if waiting:
            clock.sleep(0.5)


def _safely(row, ask):
    try:
        return _known(ask)
    except nvml.NvmlError as exc:
        row["failed"].append(str(exc))
        return None


def apply(rows, record, clock):
    """Carry the actions out and read back. What a GPU refuses is in its row's "failed"; the others are not kept from theirs."""
    for row in rows:
        for action in row["actions"]:
            try:
                _act(row, action, record.of(row["uuid"]))
            except nvml.NvmlError as exc:
                row["failed"].append(_refusal(action, exc))
        if row["actions"]:
            record.save()
    _settle(rows, record, clock)
    for row in rows:
        if row["actions"]:
            _remember_reading(row, record.of(row["uuid"]))
            record.save()


def _act(row, action, applied):
    gpu, setting, value = row["gpu"], action["setting"], action["value"]
    if setting == "persistence":
        gpu.set_persistence(value)
        applied[setting] = {"value": value, "before": row["before"]["persistence"]}
    elif setting == "power_limit":
        gpu.set_power_limit(value * 1000)
        before = applied[setting]["before"] if setting in applied else row["before"]["power_limit_watts"]
        applied[setting] = {"value": value, "before": before}
        if row["target"]["power_limit_watts"] is None:
            del applied[setting]
    elif action["do"] == "reset":
        (gpu.reset_sm if setting == "sm_clock" else gpu.reset_memory)()
        applied.pop(setting, None)
    else:
        try:
            (gpu.lock_sm if setting == "sm_clock" else gpu.lock_memory)(*value)
            applied[setting] = {"value": value, "verified": False}
        except nvml.NvmlError as exc:
            if setting == "sm_clock" or exc.code not in nvml.ABSENT:
                raise
            applied[setting] = {"value": value, "unsupported": True}
            return
    row["acted"].append(action)


def _refusal(action, exc):
    text = "cannot %s: %s" % (gpu_policy.told(action), exc)
    if exc.code == nvml.NO_PERMISSION:
        return text + "; this needs root"
    if exc.code in nvml.ABSENT and action["setting"] == "sm_clock":
        return text + "; this GPU cannot do it, set %s to none" % gpu_policy.variable("policy")
    return text


def _settle(rows, record, clock):
    """Wait until the clocks follow their new locks, or the time is up."""
    moved = [row for row in rows if row["acted"]]
    end = clock.now() + _SETTLE
    while moved:
        for row in moved:
            try:
                row["found"].update(glance(row["gpu"]))
            except nvml.NvmlError as exc:
                row["failed"].append(str(exc))
        moved = [row for row in moved if not row["failed"] and "drift" in _readings(row, record.of(row["uuid"])).values()]
        if clock.now() >= end:
            return
        if moved:
            clock.sleep(0.1)


def _readings(row, applied):
    return {setting: gpu_policy.reading(setting, row["found"], row["target"]) for setting in gpu_policy.LOCKS
            if row["target"][setting] and setting in applied and not applied[setting].get("unsupported")}


def _remember_reading(row, applied):
    """A clock that follows its lock now shows the loss of the lock later; one that does not cannot."""
    for setting, said in _readings(row, applied).items():
        if any(action["setting"] == setting for action in row["acted"]):
            applied[setting]["verified"] = said == "in_range"


def results(rows, settings, record, dry):
    """What each GPU came to -> [dict], as the module returns it."""
    return [_result(row, settings, record.gpus.get(row["uuid"], {}), dry) for row in rows]


def _result(row, settings, applied, dry):
    head = {"index": row["index"], "uuid": row["uuid"], "name": row["name"]}
    if row["found"] is None:
        return dict(head, wanted=None, found=None, actions=[], state="needs_reset" if row.get("code") == nvml.RESET_REQUIRED else "lost"
                    if row.get("code") == nvml.GPU_IS_LOST else "unknown", reason=row["error"])
    done = row["actions"] if dry else row["acted"]
    coming = [action["setting"] for action in row["actions"]] if dry else []
    state, reason = gpu_policy.judge(row["target"], row["found"], applied, settings, bool(done), coming)
    if row["failed"]:
        state, reason = "failed", "; ".join(row["failed"] + ([reason] if reason else []))
    found = {name: row["found"][name] for name in ("sm_mhz", "memory_mhz", "power_limit_watts", "persistence")}
    found["event_reasons"] = gpu_policy.reason_names(row["found"]["event_reasons"])
    return dict(head, wanted=row["target"], found=found, actions=[gpu_policy.told(action) for action in done], state=state, reason=reason)
