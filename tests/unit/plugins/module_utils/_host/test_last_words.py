# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cause of a failure stays in sight although three tracebacks follow it."""
from __future__ import annotations

import pathlib

from ansible_collections.indiaai.inference.plugins.module_utils import _readiness
from ansible_collections.indiaai.inference.plugins.module_utils._host import last_words

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "fixtures"
# vLLM 0.32.0 with --kv-cache-memory-bytes 4096: everything that it wrote from the start of its engine process on.
VLLM = (FIXTURES / "vllm/kv-cache-too-small.log").read_text(encoding="utf-8").splitlines()


def test_the_cause_is_among_the_last_words_of_vllm():
    words = last_words.telling(VLLM, 4)
    assert "ValueError: No available memory for the cache blocks" in words[1]
    assert words[-1].startswith("RuntimeError: Engine core initialization failed")
    assert not any("  File " in line for line in last_words.telling(VLLM, 1000))
    assert "gpu_memory_mib" in _readiness.advice(words)


def test_what_is_said_twice_is_kept_once_and_the_limit_holds():
    assert last_words.telling(["a", "b", "b", "", "c  "], 2) == ["b", "c"]


def test_a_traceback_ends_with_its_error_and_what_led_to_it_stays():
    frames = ['  File "x.py", line 1', "    f()", "", "    ^^^"]
    lines = ["[TP0] Scheduler hit an exception: Traceback (most recent call last):", *frames, "OSError: gone", "  indented"]
    assert last_words.telling(lines, 9) == [lines[0], "OSError: gone", "  indented"]
