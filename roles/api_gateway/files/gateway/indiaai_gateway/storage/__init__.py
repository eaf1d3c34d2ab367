# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where keys and usage rows live, behind a small interface (``base``)."""

from .base import KeyRecord, KeyStore, NameTaken, StoreUnavailable, UsageRow, UsageStore
from .sqlite import SqliteKeyStore, SqliteUsageStore

__all__ = [
    "KeyRecord",
    "KeyStore",
    "NameTaken",
    "SqliteKeyStore",
    "SqliteUsageStore",
    "StoreUnavailable",
    "UsageRow",
    "UsageStore",
]
