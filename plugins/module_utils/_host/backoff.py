# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long to wait before the next start. Pure."""

from __future__ import annotations


def recent(failures, now, window_seconds):
    """Those of the failure times (seconds since boot) that lie within the window that ends now."""
    return [at for at in failures if 0 <= now - at < window_seconds]


def delay(count, base_seconds, max_seconds):
    """Seconds to wait after this many recent failures: 0, base, 2 base, 4 base, ... at most max."""
    if count <= 0:
        return 0
    # 2 ** 30 s is longer than any maximum; a larger exponent would only make large numbers
    return min(base_seconds * 2 ** min(count - 1, 30), max_seconds)
