"""Where things are. Caches live outside the checkout and are found again by a fresh clone."""
from __future__ import annotations

import hashlib
import pathlib

from servers import names

ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKOUT_ID = hashlib.sha256(str(ROOT).encode()).hexdigest()[:6]  # tells apart two clones on one machine


def cache() -> pathlib.Path:
    return names.cache_dir()


def checkout_cache() -> pathlib.Path:
    """The part of the cache that belongs to this checkout alone: links to it, copies of it, logs."""
    path = cache() / "checkouts" / CHECKOUT_ID
    path.mkdir(parents=True, exist_ok=True)
    (path / "path").write_text(f"{ROOT}\n", encoding="utf-8")
    return path


def logs() -> pathlib.Path:
    path = checkout_cache() / "logs"
    path.mkdir(exist_ok=True)
    return path


def scenarios() -> list[str]:
    """Names of the molecule scenarios of this checkout."""
    return sorted(path.parent.name for path in (ROOT / "molecule").glob("*/molecule.yml"))
