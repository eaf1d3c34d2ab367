# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stub engine: speaks an engine's protocol, has no model, counts instead of answering, fails as it is told to.

It says so: ``owned_by`` is ``indiaai-stub``, every answer has the header ``x-stub: indiaai``, the log begins with it.
Standard library only, Python 3.9 or newer.
"""
