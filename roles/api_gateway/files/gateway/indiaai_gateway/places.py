# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the files are. Light: the command line needs this and not the whole schema of the configuration."""

from __future__ import annotations

import json
from pathlib import Path

DEFAULT_CONFIG = Path("/etc/indiaai-inference/gateway/gateway.json")
DEFAULT_STATE_DIR = "/var/lib/indiaai-inference/gateway"
KEYS_FILE = "keys.db"
USAGE_FILE = "usage.db"


class ConfigError(Exception):
    """The configuration file is missing, unreadable or wrong."""


def state_dir(config: Path) -> Path:
    """The folder of the databases as the file says, without a check of the rest of it. Raises ConfigError."""
    try:
        document = json.loads(config.read_bytes())
    except OSError as exc:
        raise ConfigError(f"{config}: {exc.strerror}") from exc
    except ValueError as exc:
        raise ConfigError(f"{config}: not JSON: {exc}") from exc
    if not isinstance(document, dict) or not isinstance(document.get("state_dir", ""), str):
        raise ConfigError(f"{config}: state_dir must be a text")
    return Path(document.get("state_dir") or DEFAULT_STATE_DIR)
