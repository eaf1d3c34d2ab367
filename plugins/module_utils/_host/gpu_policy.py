# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What to do with a GPU's clocks, power limit and persistence. Pure.

Settings (the file that the role writes and "inferctl gpu-init" reads at boot): see DEFAULTS.
found, what was read from one GPU; a value that the GPU does not have is None:
    {"sm_mhz", "memory_mhz", "event_reasons" (bits), "persistence" (bool), "power_limit_watts", "power_min_watts", "power_max_watts",
     "memory_clocks": [MHz, highest first], "sm_clocks": {memory MHz: [MHz, highest first]}}
target, what is wanted of one GPU; None leaves alone:
    {"persistence": True|None, "power_limit_watts": int|None, "sm_clock": [low, high]|None, "memory_clock": [low, high]|None}
applied, what we did to one GPU since this boot, since NVML does not tell whether a clock is locked:
    {setting: {"value": ..., "before": ..., "verified": bool, "unsupported": bool}}
"""

from __future__ import annotations

SCHEMA_VERSION = 1
POLICIES = ("none", "lock_max", "range")
LOCKS = ("sm_clock", "memory_clock")
SETTINGS = ("persistence", "power_limit") + LOCKS

DEFAULTS = {
    "schema_version": SCHEMA_VERSION,
    "policy": "none",
    "sm_min_mhz": None,
    "sm_max_mhz": None,
    "memory_lock": False,
    "memory_mhz": None,
    "power_limit_watts": None,
    "persistence": True,
    "gpus": ["all"],
    "expected_gpus": 0,
    "wait_seconds": 300,
}

# Bits of the clocks event reasons.
IDLE, SW_POWER_CAP, SW_THERMAL = 0x1, 0x4, 0x20
HW_SLOWDOWN, HW_THERMAL, HW_POWER_BRAKE = 0x8, 0x40, 0x80
REASONS = {
    IDLE: "idle", 0x2: "application clocks", SW_POWER_CAP: "software power cap", HW_SLOWDOWN: "hardware slowdown", 0x10: "sync boost",
    SW_THERMAL: "software thermal slowdown", HW_THERMAL: "hardware thermal slowdown", HW_POWER_BRAKE: "hardware power brake",
    0x100: "display clocks",
}
LIMITED = SW_POWER_CAP | SW_THERMAL
ALARMING = HW_SLOWDOWN | HW_THERMAL | HW_POWER_BRAKE

MEMORY_TOLERANCE = 2  # MHz: an H200 whose memory is at 3201 reads 3199 or 3201
_STEP = 15  # MHz between two SM clocks, where the list does not tell


def variable(name):
    """The role's variable behind a setting, for messages."""
    return "gpu_clocks_" + name


def check(settings):
    """Problems of the settings alone, before any GPU is looked at -> [text]."""
    problems = []
    for name in ("sm_min_mhz", "sm_max_mhz", "memory_mhz", "power_limit_watts"):
        value = settings[name]
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
            problems.append("%s: found %s, wanted a whole number above 0" % (variable(name), _shown(value)))
    if settings["policy"] not in POLICIES:
        problems.append("%s: found %s, wanted one of %s" % (variable("policy"), _shown(settings["policy"]), ", ".join(POLICIES)))
    if problems:
        return problems
    low, high = settings["sm_min_mhz"], settings["sm_max_mhz"]
    if settings["policy"] == "range" and low is None and high is None:
        problems.append("%s is range, and neither %s nor %s is given" % (
            variable("policy"), variable("sm_min_mhz"), variable("sm_max_mhz")))
    if settings["policy"] == "range" and None not in (low, high) and low > high:
        problems.append("%s: found %d, wanted at most %s, which is %d" % (variable("sm_min_mhz"), low, variable("sm_max_mhz"), high))
    return problems


def unused(settings):
    """What is given and has no effect -> [text]."""
    notes = []
    if settings["policy"] != "range":
        notes += ["%s has no effect: %s is %s" % (variable(name), variable("policy"), settings["policy"])
                  for name in ("sm_min_mhz", "sm_max_mhz") if settings[name] is not None]
    if settings["memory_mhz"] is not None and not settings["memory_lock"]:
        notes.append("%s has no effect: %s is false" % (variable("memory_mhz"), variable("memory_lock")))
    return notes


def select(rows, wanted):
    """Rows (dicts with index and uuid) that a list of UUIDs, indexes or "all" means -> (rows, problems)."""
    if "all" in wanted:
        return list(rows), []
    names = {}
    for row in rows:
        names[str(row["index"])] = row
        if row["uuid"]:
            names[row["uuid"]] = row
    problems = ["%s: found no GPU %s, there is %s" % (
        variable("gpus"), name, ", ".join("%s (%s)" % (row["index"], row["uuid"]) for row in rows) or "none")
        for name in wanted if name not in names]
    chosen = [names[name] for name in wanted if name in names]
    return [row for row in rows if any(row is item for item in chosen)], problems


def aim(settings, found):
    """What the settings want of one GPU -> (target, problems). With a problem nothing may be set on any GPU."""
    problems = []
    memory = _memory_target(settings, found, problems)
    return {
        "persistence": True if settings["persistence"] else None,
        "power_limit_watts": _power_target(settings, found, problems),
        "sm_clock": _sm_target(settings, found, memory, problems),
        "memory_clock": memory,
    }, problems


def _memory_target(settings, found, problems):
    if not settings["memory_lock"]:
        return None
    clocks = found["memory_clocks"]
    if not clocks:
        return None  # noted and skipped: see judge()
    wanted = settings["memory_mhz"]
    if wanted is None:
        return [clocks[0], clocks[0]]
    if wanted not in clocks:
        problems.append(_not_supported("memory_mhz", wanted, clocks))
    return [wanted, wanted]


def _sm_target(settings, found, memory, problems):
    policy = settings["policy"]
    if policy == "none":
        return None
    clocks = sm_clocks(found, memory)
    if not clocks:
        problems.append("%s: found %s, and this GPU tells no clocks that it supports; wanted none" % (variable("policy"), policy))
        return None
    if policy == "lock_max":
        return [clocks[0], clocks[0]]
    low, high = settings["sm_min_mhz"], settings["sm_max_mhz"]
    for name, value in (("sm_min_mhz", low), ("sm_max_mhz", high)):
        if value is not None and value not in clocks:
            problems.append(_not_supported(name, value, clocks))
    return [clocks[-1] if low is None else low, clocks[0] if high is None else high]


def sm_clocks(found, memory=None):
    """SM clocks that go with the memory clock that will hold, highest first."""
    table = found["sm_clocks"] or {}
    highest = table.get((found["memory_clocks"] or [None])[0]) or []
    return table.get(memory[0]) or highest if memory else highest


def _power_target(settings, found, problems):
    watts = settings["power_limit_watts"]
    if watts is None:
        return None
    low, high = found["power_min_watts"], found["power_max_watts"]
    if found["power_limit_watts"] is None or low is None:
        problems.append("%s: found %d, and the power limit of this GPU cannot be set; leave it out" % (variable("power_limit_watts"), watts))
    elif not low <= watts <= high:
        problems.append("%s: found %d, wanted %d to %d" % (variable("power_limit_watts"), watts, low, high))
    return watts


def _not_supported(name, value, clocks):
    return "%s: found %d, which this GPU does not support; the nearest it supports: %s" % (
        variable(name), value, " and ".join("%d" % clock for clock in nearest(value, clocks)))


def nearest(value, clocks):
    """The supported clocks next to a value, one below and one above where there are both."""
    below = [clock for clock in clocks if clock < value]
    above = [clock for clock in clocks if clock > value]
    return ([max(below)] if below else []) + ([min(above)] if above else [])


def tolerance(setting, found, target):
    """MHz by which a reading may differ from a lock."""
    if setting == "memory_clock":
        return MEMORY_TOLERANCE
    clocks = sm_clocks(found, target["memory_clock"])
    steps = [higher - lower for higher, lower in zip(clocks, clocks[1:]) if higher > lower]
    return min(steps) if steps else _STEP


def reading(setting, found, target):
    """What a reading says about a lock -> in_range, limited, alarm, drift or unknown. Only drift means that the lock is gone."""
    clock = found["sm_mhz" if setting == "sm_clock" else "memory_mhz"]
    if clock is None:
        return "unknown"
    low, high = target[setting]
    slack = tolerance(setting, found, target)
    if low - slack <= clock <= high + slack:
        return "in_range"
    if clock > high:
        return "drift"
    if found["event_reasons"] is None:
        return "unknown"
    if found["event_reasons"] & ALARMING:
        return "alarm"
    return "limited" if found["event_reasons"] & LIMITED else "drift"


def decide(target, found, applied):
    """What to do to one GPU -> [{"setting", "do": "set"|"lock"|"reset", "value"}], persistence first, since locks need it."""
    actions = []
    if target["persistence"] and found["persistence"] is False:
        actions.append({"setting": "persistence", "do": "set", "value": True})
    actions += _power_actions(target["power_limit_watts"], found["power_limit_watts"], applied.get("power_limit"))
    for setting in LOCKS:
        done = applied.get(setting)
        wanted = target[setting]
        if wanted is None:
            if done and not done.get("unsupported"):
                actions.append({"setting": setting, "do": "reset", "value": None})
        elif not done or done["value"] != wanted or _lost(setting, target, found, done):
            actions.append({"setting": setting, "do": "lock", "value": wanted})
    return actions


def _power_actions(wanted, present, done):
    if wanted is None and done and present is not None and abs(present - done["value"]) < 1:
        wanted = done["before"]  # we set it, and nobody wants it any more
    if wanted is None or present is None or abs(present - wanted) < 1:
        return []
    return [{"setting": "power_limit", "do": "set", "value": wanted}]


def _lost(setting, target, found, done):
    """Whether the lock that we made is gone. A GPU that read otherwise right after the lock cannot tell."""
    if done.get("unsupported"):
        return False
    if done.get("stale"):
        return True
    return bool(done.get("verified")) and reading(setting, found, target) == "drift"


def judge(target, found, applied, settings, acted, coming=()):
    """How one GPU stands -> (state, reason). acted: whether this run set something; coming: what check mode leaves to a real run.

    ok and applied: as wanted; power_limited: as wanted, and slower by its power or heat limit, which is no fault;
    drift: the driver took the lock and the clock is another; alarm: the hardware slows itself down.
    """
    state, notes = ("applied" if acted else "ok"), []
    readings = {}
    for setting in LOCKS:
        done = applied.get(setting) or {}
        if target[setting] and setting not in coming and not done.get("unsupported"):
            readings[setting] = reading(setting, found, target)
    reasons = found["event_reasons"] or 0
    if "limited" in readings.values():
        state = "power_limited"
        notes.append("ok, power limited: SM clock %s MHz, %s" % (found["sm_mhz"], explain(reasons & LIMITED)))
    for setting, said in readings.items():
        if said == "drift":
            state = "drift"
            notes.append("%s: locked to %s MHz, reads %s MHz, and nothing explains it" % (
                setting, span(target[setting]), found["sm_mhz" if setting == "sm_clock" else "memory_mhz"]))
    if reasons & ALARMING:
        state = "alarm"
        notes.append("the hardware slows the GPU down: %s; look at its power supply and cooling" % explain(reasons & ALARMING))
    if settings["memory_lock"] and (target["memory_clock"] is None or (applied.get("memory_clock") or {}).get("unsupported")):
        notes.append("the memory clock of this GPU cannot be locked, skipped")
    if target["persistence"] and found["persistence"] is None:
        notes.append("this GPU has no persistence mode")
    if (applied.get("persistence") or {}).get("value"):
        notes.append("persistence is on by the legacy mode, since nvidia-persistenced does not keep it on")
    return state, "; ".join(notes)


def explain(bits):
    """Event reason bits in words."""
    return ", ".join(text for bit, text in REASONS.items() if bits & bit) or ("none" if not bits else "0x%x" % bits)


def reason_names(bits):
    """Event reason bits -> [text], None when unknown."""
    if bits is None:
        return None
    known = [text for bit, text in REASONS.items() if bits & bit]
    rest = bits & ~sum(REASONS)
    return known + (["0x%x" % rest] if rest else [])


def span(lock):
    """[1980, 1980] -> "1980", [345, 1500] -> "345-1500"."""
    return "%d" % lock[0] if lock[0] == lock[1] else "%d-%d" % tuple(lock)


def told(action):
    """One action for people: "lock sm_clock 1980"."""
    value = action["value"]
    if action["do"] == "reset":
        return "reset %s" % action["setting"]
    if action["do"] == "lock":
        return "lock %s %s MHz" % (action["setting"], span(value))
    return "set %s %s" % (action["setting"], "on" if value is True else "%d W" % value)


def change(action, before, applied):
    """What an action changes, as (before, after) in words; a lock that we did not make cannot be known."""
    setting = action["setting"]
    if setting == "persistence":
        return "off", "on"
    if setting == "power_limit":
        return "%s W" % before["power_limit_watts"], "%d W" % action["value"]
    was = "not locked by us, %s MHz now" % before["sm_mhz" if setting == "sm_clock" else "memory_mhz"]
    if setting in applied:
        was = "locked to %s MHz" % span(applied[setting]["value"])
    return was, "not locked" if action["do"] == "reset" else "locked to %s MHz" % span(action["value"])


def _shown(value):
    return ("true" if value else "false") if isinstance(value, bool) else "%s" % (value,)
