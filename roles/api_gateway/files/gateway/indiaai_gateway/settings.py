# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration file of the gateway (JSON): its schema, reading it, and the routes it yields.

Times are seconds, sizes bytes. A file that cannot be read or does not validate raises
ConfigError with one line for each problem; the caller keeps the configuration it has.
"""

from __future__ import annotations

import hashlib
import ipaddress
from pathlib import Path
from typing import Annotated, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from .places import DEFAULT_STATE_DIR, KEYS_FILE, USAGE_FILE, ConfigError

Seconds = Annotated[float, Field(gt=0)]
Bytes = Annotated[int, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listen(_Strict):
    unix_socket: str | None = None
    host: str | None = None
    port: Annotated[int, Field(ge=0, le=65535)] | None = None

    @model_validator(mode="after")
    def _somewhere(self) -> Listen:
        if not self.unix_socket and not self.host:
            raise ValueError("unix_socket or host and port must be set")
        if (self.host is None) != (self.port is None):
            raise ValueError("host and port go together")
        return self


class Timeouts(_Strict):
    connect_seconds: Seconds = 5
    # Until the first byte of the answer: a long prompt waits in the engine's queue and is read before that.
    first_byte_seconds: Seconds = 600
    idle_seconds: Seconds = 120
    total_seconds: Seconds | None = None
    # Must stay below the engine's keep-alive (5 s in uvicorn, which vLLM and SGLang use), or the pool
    # hands out connections that the engine is about to close.
    pool_idle_seconds: Seconds = 4


class Limits(_Strict):
    max_body_bytes: Bytes = 32 * 1024 * 1024
    max_event_bytes: Bytes = 1024 * 1024
    max_header_bytes: Bytes = 64 * 1024
    max_in_flight: Annotated[int, Field(gt=0)] | None = None
    usage_queue_rows: Annotated[int, Field(gt=0)] = 100_000


class Model(_Strict):
    name: Annotated[str, Field(min_length=1, max_length=256)]
    aliases: list[str] = []
    url: str
    upstream_model: str | None = None
    key_file: str | None = None
    max_concurrent: Annotated[int, Field(gt=0)] | None = None
    # Off for an engine that refuses stream_options: streams then have estimated usage.
    inject_usage: bool = True
    timeouts: Timeouts | None = None

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return value.rstrip("/")


class Log(_Strict):
    level: Literal["debug", "info", "warning", "error"] = "info"
    requests: bool = True


class Settings(_Strict):
    schema_version: Literal[1] = 1
    listen: Listen
    state_dir: str = DEFAULT_STATE_DIR
    models: list[Model] = []
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()
    drain_seconds: Annotated[float, Field(ge=0)] = 30
    # Peers on TCP whose X-Real-IP is believed; a peer on the unix socket always is.
    trusted_proxies: list[str] = []
    log: Log = Log()

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: list[str]) -> list[str]:
        for item in value:
            ipaddress.ip_network(item)
        return value

    @model_validator(mode="after")
    def _unique_names(self) -> Settings:
        seen: set[str] = set()
        for model in self.models:
            for name in [model.name, *model.aliases]:
                if name in seen:
                    raise ValueError(f"two models answer to the name '{name}'")
                seen.add(name)
        return self

    @property
    def keys_path(self) -> Path:
        return Path(self.state_dir) / KEYS_FILE

    @property
    def usage_path(self) -> Path:
        return Path(self.state_dir) / USAGE_FILE


class Loaded:
    """A validated file together with what it refers to.

    ``settings``; ``engine_keys`` model name -> key or None; ``digest`` SHA-256 of the file (hexadecimal), which
    ``/ready`` reports, so that whoever wrote a new file can tell when it is in force.
    """

    def __init__(self, settings: Settings, engine_keys: dict[str, str | None], digest: str) -> None:
        self.settings = settings
        self.engine_keys = engine_keys
        self.digest = digest


def load(path: Path) -> Loaded:
    """Read and validate the file and the engine keys it names."""
    try:
        raw = path.read_bytes()
    except OSError as exc:
        raise ConfigError(f"{path}: {exc.strerror}") from exc
    try:
        settings = Settings.model_validate(orjson.loads(raw))
    except orjson.JSONDecodeError as exc:
        raise ConfigError(f"{path}: not JSON: {exc}") from exc
    except ValidationError as exc:
        lines = [f"{path}: {'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in exc.errors()]
        raise ConfigError("\n".join(lines)) from exc
    keys: dict[str, str | None] = {}
    for model in settings.models:
        keys[model.name] = _engine_key(model, path) if model.key_file else None
    return Loaded(settings, keys, hashlib.sha256(raw).hexdigest())


def _engine_key(model: Model, path: Path) -> str:
    assert model.key_file is not None
    try:
        key = Path(model.key_file).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"{path}: models: {model.name}: key_file {model.key_file}: {exc}") from exc
    if not key or not key.isascii() or not key.isprintable():
        raise ConfigError(f"{path}: models: {model.name}: key_file {model.key_file}: empty or not plain ASCII")
    return key
