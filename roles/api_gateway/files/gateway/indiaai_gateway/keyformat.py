# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Format of gateway keys: ``sk-ind-`` + 32 random characters + 6 checksum characters.

The random part holds 190 bits, so a plain SHA-256 is a safe store (nothing to guess);
the checksum lets a secret scanner, and the gateway before any look-up, tell a key from a
similar string. Keys typed by people are never accepted: they would need a slow hash.
"""

from __future__ import annotations

import hashlib
import secrets
import zlib

PREFIX = "sk-ind-"
ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
RANDOM_LENGTH = 32
CHECKSUM_LENGTH = 6
LENGTH = len(PREFIX) + RANDOM_LENGTH + CHECKSUM_LENGTH
DISPLAY_LENGTH = len(PREFIX) + 4

_ALPHABET_SET = frozenset(ALPHABET)


def _checksum(body: str) -> str:
    """CRC-32 of the text as six base-62 characters."""
    value = zlib.crc32(body.encode("ascii"))
    digits = []
    for _unused in range(CHECKSUM_LENGTH):
        value, digit = divmod(value, 62)
        digits.append(ALPHABET[digit])
    return "".join(reversed(digits))


def generate() -> str:
    """A new key from the operating system's random source."""
    body = PREFIX + "".join(secrets.choice(ALPHABET) for _unused in range(RANDOM_LENGTH))
    return body + _checksum(body)


def well_formed(text: str) -> bool:
    """True if the text has the shape and checksum of a gateway key; never raises."""
    if len(text) != LENGTH or not text.startswith(PREFIX):
        return False
    if not _ALPHABET_SET.issuperset(text[len(PREFIX):]):
        return False
    return _checksum(text[:-CHECKSUM_LENGTH]) == text[-CHECKSUM_LENGTH:]


def digest(text: str) -> bytes:
    """SHA-256 of the key, the only form in which it is stored."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def display(text: str) -> tuple[str, str]:
    """The parts that may be shown: (prefix, last four characters)."""
    return text[:DISPLAY_LENGTH], text[-4:]
