# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Questions to a server before load is put on it: which models, which version, who is there.

PRIVATE to the collection. ``probe`` does the talking; what it makes of the answers is pure.
"""

from __future__ import annotations

import asyncio
import json
import ssl

from ansible_collections.indiaai.inference.plugins.module_utils._bench_http import ProtocolError, fetch

# Requests being worked on or waiting, under the names of the engines that tell.
RUNNING_METRICS = (
    "vllm:num_requests_running", "vllm:num_requests_waiting",
    "sglang:num_running_reqs", "sglang:num_queue_reqs",
    "te_queue_size",
)
_VERSION_PATHS = (("/version", "version"), ("/api/version", "version"), ("/get_server_info", "version"))
TRAFFIC_LOOKS = 3
TRAFFIC_PAUSE_SECONDS = 0.4
STUB_OWNER = "indiaai-stub"
STUB_HEADER = "x-stub"


class ProbeError(Exception):
    """The server cannot be measured; the text says what was found and what is wanted."""


def running_requests(text: str) -> int | None:
    """Requests in a server, from its metrics page; None when it has no such metric."""
    total = None
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name = line.split("{", 1)[0].split(" ", 1)[0]
        if name in RUNNING_METRICS:
            try:
                value = float(line.rsplit(" ", 1)[1])
            except (IndexError, ValueError):
                continue
            total = (total or 0.0) + value
    return None if total is None else int(total)


def is_stub(headers: dict, models: dict) -> bool:
    """Whether the server says that it is the stub of the test suite."""
    owners = [item.get("owned_by") for item in models.get("data") or () if isinstance(item, dict)]
    return STUB_HEADER in headers or STUB_OWNER in owners


def choose_model(wanted: str, names: list) -> str:
    """The model to ask for; raises ProbeError naming what there is."""
    if wanted:
        if names and wanted not in names:
            raise ProbeError("found the models %s, wanted %r: change the model to one of those"
                             % (", ".join(map(str, names)), wanted))
        return wanted
    if len(names) == 1:
        return names[0]
    raise ProbeError("found %d models (%s), wanted the name of one: set the model"
                     % (len(names), ", ".join(map(str, names)) or "none listed"))


async def probe(target, api, wanted_model: str, timeout: float) -> dict:
    """Ask the server who it is: ``{"model", "models", "stub", "engine", "version"}``.

    Raises ProbeError when it does not answer, refuses the key, or lacks the model.
    """
    try:
        status, headers, body = await fetch(target, api.models_path, timeout)
    except ssl.SSLError as exc:
        raise ProbeError("found a TLS failure at %s (%s), wanted a certificate that can be verified: "
                         "set the CA file, or switch validation off" % (target.url, exc))
    except (asyncio.TimeoutError, TimeoutError):
        raise ProbeError("found no answer from %s in %g s, wanted a running %s server: check the URL and that it is up"
                         % (target.url, timeout, api.name))
    except (OSError, ProtocolError) as exc:
        raise ProbeError("found no server at %s (%s), wanted a running %s server: check the URL and that it is up"
                         % (target.url, exc, api.name))
    if status in (401, 403):
        raise ProbeError("found HTTP %d from %s, wanted access: set the file that holds a valid API key"
                         % (status, target.url))
    document = {}
    if status == 200:
        try:
            document = json.loads(body)
        except ValueError:
            document = {}
    if not isinstance(document, dict) or (status == 200 and not document):
        raise ProbeError("found no JSON document at %s%s, wanted the list of models of an %s server: check URL and API"
                         % (target.url, api.models_path, api.name))
    names = [name for name in api.models(document) if name]
    if status != 200 and not wanted_model:
        raise ProbeError("found HTTP %d at %s%s, wanted the list of models: set the model"
                         % (status, target.url, api.models_path))
    owners = sorted(set(str(item.get("owned_by")) for item in document.get("data") or ()
                        if isinstance(item, dict) and item.get("owned_by")))
    version = await _version(target, timeout)
    return {
        "model": choose_model(wanted_model, names),
        "models": names,
        "stub": is_stub(headers, document),
        "engine": "ollama" if api.name == "ollama" else (owners[0] if len(owners) == 1 else None),
        "version": version,
    }


async def traffic(target, path: str, timeout: float) -> int | None:
    """The most requests seen in the server over a few looks; None when it does not tell."""
    most = None
    for number in range(TRAFFIC_LOOKS):
        if number:
            await asyncio.sleep(TRAFFIC_PAUSE_SECONDS)
        try:
            status, dummy, body = await fetch(target, path, timeout)
        except (OSError, ProtocolError, ssl.SSLError, asyncio.TimeoutError, TimeoutError):
            return most
        count = running_requests(body.decode("utf-8", "replace")) if status == 200 else None
        if count is None:
            return most
        most = max(most or 0, count)
    return most


async def _version(target, timeout: float) -> str | None:
    for path, key in _VERSION_PATHS:
        try:
            status, dummy, body = await fetch(target, path, timeout)
            document = json.loads(body) if status == 200 else None
        except (OSError, ValueError, ProtocolError, ssl.SSLError, asyncio.TimeoutError, TimeoutError):
            continue
        if isinstance(document, dict) and document.get(key):
            return str(document[key])
    return None
