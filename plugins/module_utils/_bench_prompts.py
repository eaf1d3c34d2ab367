# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prompts of a benchmark: the same for every run with one seed, none like another.

PRIVATE to the collection. Pure.
"""

from __future__ import annotations

import hashlib
import random

# Common English words that most vocabularies hold as one token each.
_WORDS = (
    "water land road school village district market river bridge health record office public service "
    "form date name number page letter order report rule notice month year money tax farm seed rain "
    "crop train station city town house door window light power line work worker teacher doctor nurse "
    "child family mother father people group law court case paper book story word question answer "
    "reason plan map north south east west morning evening week price sale shop food rice bread milk "
    "tree stone wood iron gold sound voice hand head heart time place thing point part side end start"
).split()

# English prose needs about four tokens for three words in the usual vocabularies.
_TOKENS_PER_WORD = 4.0 / 3.0
_OPENING_WORDS = 6


class PromptMaker:
    """Deterministic prompts of one length.

    seed          -- the same seed gives the same bodies in every run and on every host
    prompt_tokens -- wanted length; what the server really counted is in the record
    nonce         -- makes the opening words of this run unlike those of any other run.
                     Engines keep the state of prompts seen before and match from the
                     first token, so without it a repeated run would measure their cache.
    """

    def __init__(self, seed: int, prompt_tokens: int, nonce: str = "") -> None:
        self._seed = seed
        self._words = max(_OPENING_WORDS + 2, int(round(prompt_tokens / _TOKENS_PER_WORD)))
        self._nonce = nonce
        self._count = 0

    def next(self) -> str:
        """The next prompt; never the same twice."""
        index = self._count
        self._count += 1
        opening = _generator("%s/%s/%d" % (self._nonce, self._seed, index))
        body = _generator("%s/%d" % (self._seed, index))
        words = [opening.choice(_WORDS) for dummy in range(_OPENING_WORDS)]
        words += [body.choice(_WORDS) for dummy in range(self._words - _OPENING_WORDS)]
        return " ".join(words)


def _generator(text: str) -> random.Random:
    # A digest, since random's own seeding from text is not promised to stay the same.
    return random.Random(int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:8], "big"))
