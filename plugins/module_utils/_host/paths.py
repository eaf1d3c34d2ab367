# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every path the collection uses on a managed host. No other file spells one of them."""

from __future__ import annotations

import os
import re

ETC = "/etc/indiaai-inference"
PLAN = ETC + "/plan.json"
ENGINES = ETC + "/engines"
GATEWAY_ETC = ETC + "/gateway"
LOCK_FILE = ETC + "/inference.lock.json"
GPU_SETTINGS = ETC + "/gpu-clocks.json"

STATE = "/var/lib/indiaai-inference"
BENCHMARKS = STATE + "/benchmarks"
UNDO = STATE + "/undo"
GATEWAY_STATE = STATE + "/gateway"

LIB = "/usr/local/lib/indiaai-inference"
CLI = "/usr/local/bin/inferctl"

RUN = "/run/indiaai-inference"
LOCKS = RUN + "/locks"
GATEWAY_RUN = RUN + "/gateway"
GATEWAY_SOCKET = GATEWAY_RUN + "/gateway.sock"
GPU_RECORD = RUN + "/gpu-clocks.json"  # what was set since this boot

DOCKER_SOCKET = "/run/docker.sock"

PACKAGE = "indiaai_host"  # name under LIB of the package this file belongs to
TARGET_UNIT = "ai-stack.target"
GPU_UNIT = "gpu-init.service"
ENGINE_UNIT = "inference-engine@.service"
SYSTEMD_UNITS = "/etc/systemd/system"
TMPFILES = "/etc/tmpfiles.d/indiaai-inference.conf"

_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\Z")


def as_dict():
    """The paths other parts may rely on, as the plan carries them: {"etc": "/etc/...", ...}."""
    return {
        "etc": ETC,
        "plan": PLAN,
        "engines": ENGINES,
        "gateway_etc": GATEWAY_ETC,
        "lock_file": LOCK_FILE,
        "state": STATE,
        "benchmarks": BENCHMARKS,
        "undo": UNDO,
        "gateway_state": GATEWAY_STATE,
        "lib": LIB,
        "cli": CLI,
        "run": RUN,
        "locks": LOCKS,
        "gateway_run": GATEWAY_RUN,
        "gateway_socket": GATEWAY_SOCKET,
    }


def is_slug(text):
    """True when text is safe as file name, container name and systemd instance at once."""
    return isinstance(text, str) and len(text) <= 63 and bool(_SLUG.match(text))


def engine_spec(slug, engines=ENGINES):
    """Engine specification that "inferctl run SLUG" reads."""
    return os.path.join(engines, slug + ".json")


def engine_unit(slug):
    """Name of the systemd unit of one engine."""
    return ENGINE_UNIT.replace("@.", "@%s." % slug)


def engine_state(slug, run=RUN):
    """What inferctl remembers about an engine until the next boot."""
    return os.path.join(run, slug + ".state.json")


def engine_failure(slug, run=RUN):
    """Why the engine is not ready: reason and last log lines, gone once it is ready or was stopped."""
    return os.path.join(run, slug + ".failure.json")


def device_lock(device, locks=LOCKS):
    """Lock file of one device ("cpu" or the UUID of a GPU)."""
    return os.path.join(locks, re.sub(r"[^A-Za-z0-9.-]", "_", device) + ".lock")
