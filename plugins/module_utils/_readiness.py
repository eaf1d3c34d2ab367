# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads what systemd and the host program say about engines and decides whether to go on waiting. Pure."""

from __future__ import annotations

PROPERTIES = (
    "Id",
    "LoadState",
    "ActiveState",
    "SubState",
    "Result",
    "StatusText",
    "NRestarts",
    "UnitFileState",
    "InvocationID",
    "Job",
    "InactiveExitTimestampMonotonic",
    "ActiveEnterTimestampMonotonic",
)

# What a log line or a reason contains (small letters) -> what to change. The first match counts.
_ADVICE = (
    (("address already in use", "port is already", "errno 98"), "another program holds the port: inference_models[].port or inference_first_port"),
    (("unrecognized arguments", "invalid choice", "ambiguous option", "expected one argument"), "the engine does not know a flag: inference_models[].args"),
    (("free memory on device", "no available memory for the cache blocks", "out of memory", "cannot allocate memory"),
     "memory: inference_models[].gpu_memory_mib, .context_length or .max_running_requests"),
    (("max seq len", "max_model_len", "max-model-len"), "the context does not fit: inference_models[].context_length"),
    (("no such image", "manifest unknown", "pull access denied"), "the image: inference_models[].image or .image_archive"),
    (("exec format error", "no module named", "executable file not found"), "the image does not hold this engine: inference_models[].image"),
    (("config.json", "does not appear to have a file", "repo id must", "safetensors"), "the weights: inference_models[].source"),
    (("error 803", "error 804", "driver version is insufficient"), "image and GPU driver do not fit: inference_models[].image"),
    (("could not select device driver", "nvidia-container"), "Docker cannot hand out the GPU: role nvidia_driver and docker_engine, or inference_device"),
)


def seconds_to_ready(unit):
    """Seconds between the unit's start and the moment it said it is ready, None when it is not ready."""
    if unit.get("ActiveState") != "active":
        return None
    started, ready = _number(unit.get("InactiveExitTimestampMonotonic")), _number(unit.get("ActiveEnterTimestampMonotonic"))
    if not started or not ready or ready < started:
        return None
    return round((ready - started) / 1e6, 1)


def judge(unit, failures_before, allowed_failures):
    """What one look at a unit means: ("active", None), ("waiting", what it waits for) or ("failed", reason).

    :param unit: properties as systemctl shows them; None or empty when systemd does not know the unit.
    :param failures_before: NRestarts when the waiting began.
    :param allowed_failures: failed starts that are waited out, since systemd and the host program try again.
    """
    if not unit or unit.get("LoadState") == "not-found":
        return "failed", "systemd does not know the unit; the role boot_recovery (host_program) installs it"
    if unit.get("LoadState") == "masked":
        return "failed", "the unit is masked"
    active = unit.get("ActiveState")
    failures = _number(unit.get("NRestarts")) - failures_before
    if active == "failed":
        return "failed", "the unit failed (%s)" % (unit.get("Result") or "no result")
    if failures > allowed_failures:
        return "failed", "it failed %d times since it was started" % failures
    if _number(unit.get("Job")):
        # A queued restart: what the unit shows may still be the instance that is about to stop.
        return "waiting", unit.get("StatusText") or "%s/%s" % (active, unit.get("SubState"))
    if active == "inactive":
        return "failed", "the unit was stopped while it was waited for"
    if active == "active":
        return "active", None
    return "waiting", unit.get("StatusText") or "%s/%s" % (active, unit.get("SubState"))


def restarts(unit):
    """How often systemd has restarted a unit by itself."""
    return _number((unit or {}).get("NRestarts"))


def advice(texts):
    """What to change, for a failure with this reason and these log lines; None when nothing known matches.

    :param texts: reason and log lines in any order.
    """
    # The last lines say most: they are looked at first.
    for line in reversed([text.lower() for text in texts if text]):
        for words, what in _ADVICE:
            if any(word in line for word in words):
                return what
    return None


def failure_text(engine, reason, log_lines, timed_out=False):
    """What the play prints for one engine: reason, the last log lines, the variable to change.

    :param engine: name, container and unit of the engine (dict).
    :param log_lines: the engine's last lines, oldest first.
    """
    if timed_out:
        change = advice(log_lines) or "a slow loader: inference_ready_timeout"
    else:
        change = advice(list(log_lines) + [reason]) or "see the lines above; settings of this model are in inference_models"
    lines = ["engine '%s' is not ready: %s" % (engine["name"], reason)]
    lines.append("container %s said last:" % engine["container"] if log_lines else "container %s wrote nothing" % engine["container"])
    lines += ["  | " + line for line in log_lines]
    lines.append("change: %s" % change)
    lines.append("more: journalctl -u %s" % engine["unit"])
    return "\n".join(lines)


def _number(text):
    try:
        return int(text)
    except (TypeError, ValueError):
        return 0
