# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a model name in a request to the engine that serves it."""

from __future__ import annotations

import time
from typing import Any

import orjson
from yarl import URL

from . import errors
from .keyring import Key
from .settings import Loaded, Model, Timeouts

# The only paths that reach an engine: path at the gateway -> path at the engine.
ENGINE_PATHS = {
    "/v1/chat/completions": "/v1/chat/completions",
    "/v1/completions": "/v1/completions",
    "/v1/embeddings": "/v1/embeddings",
}


class Gauge:
    """Requests in flight; outlives a reload of the configuration."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class Route:
    """One model: where it is, under which name, with which limits."""

    __slots__ = ("name", "upstream_model", "urls", "engine_key", "inject_usage", "timeouts", "max_concurrent", "in_flight")

    def __init__(self, model: Model, engine_key: str | None, timeouts: Timeouts, gauge: Gauge) -> None:
        self.name = model.name
        self.upstream_model = model.upstream_model or model.name
        self.urls = {path: URL(model.url + target) for path, target in ENGINE_PATHS.items()}
        self.engine_key = engine_key
        self.inject_usage = model.inject_usage
        self.timeouts = model.timeouts or timeouts
        self.max_concurrent = model.max_concurrent
        self.in_flight = gauge


class Routes:
    """All models of one configuration."""

    def __init__(self, loaded: Loaded, gauges: dict[str, Gauge]) -> None:
        settings = loaded.settings
        self.settings = settings
        self.digest = loaded.digest
        self._created = int(time.time())
        self._names: dict[str, Route] = {}
        for model in settings.models:
            gauge = gauges.setdefault(model.name, Gauge())
            route = Route(model, loaded.engine_keys[model.name], settings.timeouts, gauge)
            for name in (model.name, *model.aliases):
                self._names[name] = route

    def __len__(self) -> int:
        return len({id(route) for route in self._names.values()})

    def find(self, name: str, key: Key) -> Route:
        """Raises GatewayError 404, the same for an unknown model and one that the key may not use."""
        route = self._names.get(name)
        if route is None or not (key.allows(route.name) or key.allows(name)):
            raise errors.model_not_found(name)
        return route

    def listing(self, key: Key) -> bytes:
        """Body of GET /v1/models: the names this key may use."""
        data: list[dict[str, Any]] = [
            {"id": name, "object": "model", "created": self._created, "owned_by": "indiaai-inference"}
            for name, route in self._names.items()
            if key.allows(route.name) or key.allows(name)
        ]
        return orjson.dumps({"object": "list", "data": data})
