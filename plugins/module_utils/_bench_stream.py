# -*- coding: utf-8 -*-
# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Protocols a benchmark can speak: how to ask, and what the streamed answer says.

PRIVATE to the collection. Pure: times are handed in.
An ``Api`` builds requests; a ``Reading`` watches one answer and fills an ``Outcome``.
"""

from __future__ import annotations

import json

from ansible_collections.indiaai.inference.plugins.module_utils._sse import JsonLines, SseParser


class _Reading:
    """Common part: feeds a splitter, remembers times of content and how the stream ended."""

    def __init__(self, outcome) -> None:
        self.outcome = outcome
        self.done = False
        self._splitter = self._make_splitter()
        self._fallback_first = None

    def feed(self, now: float, data: bytes) -> None:
        """Take bytes of the body that arrived at ``now``."""
        for event in self._splitter.feed(data):
            self._event(now, event)

    def finish(self, now: float) -> None:
        """The body is complete: judge it."""
        for event in self._splitter.close():
            self._event(now, event)
        outcome = self.outcome
        outcome.end = now
        if outcome.error is not None:
            return
        if not self.done:
            outcome.error = "truncated"
            outcome.detail = "the stream ended without its closing event"
        elif outcome.first is None:
            if outcome.output_tokens and self._fallback_first is not None:
                # Tokens without text (special tokens) are tokens all the same.
                outcome.first, outcome.last = self._fallback_first
            else:
                outcome.error = "empty"
                outcome.detail = "the answer has no content"

    def _content(self, now: float) -> None:
        if self.outcome.first is None:
            self.outcome.first = now
        self.outcome.last = now
        self.outcome.chunks += 1

    def _silent(self, now: float) -> None:
        first = now if self._fallback_first is None else self._fallback_first[0]
        self._fallback_first = (first, now)

    def _event(self, now: float, event: bytes) -> None:
        if event == b"[DONE]":
            self.done = True
            return
        try:
            document = json.loads(event)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            self._fail("protocol", "an event is not a JSON object: %r" % event[:200])
        elif document.get("error"):
            # Engines answer 200 and report a failure inside the stream.
            self._fail("in_band", error_text(document))
        else:
            self._document(now, document)

    def _fail(self, kind: str, detail: str) -> None:
        if self.outcome.error is None:
            self.outcome.error = kind
            self.outcome.detail = detail

    def _make_splitter(self):
        raise NotImplementedError

    def _document(self, now: float, document: dict) -> None:
        raise NotImplementedError


class OpenAiReading(_Reading):
    """Chat completion chunks as server-sent events."""

    def _make_splitter(self):
        return SseParser()

    def _document(self, now: float, document: dict) -> None:
        usage = document.get("usage")
        if isinstance(usage, dict):
            # The last one counts: some engines send a running total with every chunk.
            self.outcome.output_tokens = _count(usage, "completion_tokens", self.outcome.output_tokens)
            self.outcome.prompt_tokens = _count(usage, "prompt_tokens", self.outcome.prompt_tokens)
        for choice in document.get("choices") or ():
            delta = choice.get("delta") or {}
            if _has_content(delta):
                self._content(now)
            elif "role" not in delta and "content" in delta:
                self._silent(now)
            if choice.get("finish_reason"):
                self.done = True


class OllamaReading(_Reading):
    """Ollama's ``/api/chat``: one JSON document a line, counts in the last one."""

    def _make_splitter(self):
        return JsonLines()

    def _document(self, now: float, document: dict) -> None:
        message = document.get("message") or {}
        if message.get("content") or message.get("thinking") or message.get("tool_calls"):
            self._content(now)
        if document.get("done"):
            self.done = True
            self.outcome.output_tokens = _count(document, "eval_count", self.outcome.output_tokens)
            # Absent when the prompt came from the cache as a whole.
            self.outcome.prompt_tokens = _count(document, "prompt_eval_count", self.outcome.prompt_tokens)


class OpenAiApi:
    """OpenAI's chat completions, with the extension ``ignore_eos`` of vLLM and SGLang."""

    name = "openai"
    path = "/v1/chat/completions"
    models_path = "/v1/models"
    reading = OpenAiReading

    @staticmethod
    def body(model: str, prompt: str, max_tokens: int, seed: int, ignore_eos: bool) -> dict:
        """The request body: greedy, streamed, of fixed length where the engine allows it."""
        body = {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": seed,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if ignore_eos:
            body["ignore_eos"] = True
        return body

    @staticmethod
    def models(document: dict) -> list:
        """Names in the answer of ``models_path``."""
        return [item.get("id") for item in document.get("data") or () if isinstance(item, dict)]


class OllamaApi:
    """Ollama's own protocol; it has no way to forbid the end of the answer."""

    name = "ollama"
    path = "/api/chat"
    models_path = "/api/tags"
    reading = OllamaReading

    @staticmethod
    def body(model: str, prompt: str, max_tokens: int, seed: int, ignore_eos: bool) -> dict:
        """The request body; ``ignore_eos`` is accepted and has no effect."""
        return {
            "model": model,
            "messages": [{"role": "user", "content": prompt}],
            "stream": True,
            "options": {"num_predict": max_tokens, "temperature": 0, "seed": seed},
        }

    @staticmethod
    def models(document: dict) -> list:
        """Names in the answer of ``models_path``, with and without the default tag."""
        names = []
        for item in document.get("models") or ():
            name = item.get("name") or item.get("model") or ""
            names.append(name)
            if name.endswith(":latest"):
                names.append(name[: -len(":latest")])
        return names


APIS = {OpenAiApi.name: OpenAiApi, OllamaApi.name: OllamaApi}


def error_text(document: dict) -> str:
    """The message of an error document in any of the usual shapes."""
    error = document.get("error")
    if isinstance(error, dict):
        return str(error.get("message") or error)[:500]
    return str(error or document.get("message") or document.get("detail") or document)[:500]


def _has_content(delta: dict) -> bool:
    return bool(delta.get("content") or delta.get("reasoning_content") or delta.get("reasoning")
                or delta.get("tool_calls"))


def _count(document: dict, key: str, default):
    value = document.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
