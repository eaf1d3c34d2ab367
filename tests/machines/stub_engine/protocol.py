# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shapes of the OpenAI protocol as vLLM 0.32 sends them; data in, data out."""
from __future__ import annotations

import hashlib
import json
import time
from typing import Any, Dict, List, Optional

OWNER = "indiaai-stub"
HEADER = ("x-stub", "indiaai")
VERSION = "0.0.0-stub"
GUARDED = ("/v1",)
EMBEDDING_SIZE = 8


def dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")


def error(status: int, message: str, kind: str = "BadRequestError", param: Optional[str] = None) -> Dict:
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}


# A missing key is refused before the protocol begins, in a form of its own.
UNAUTHORIZED = {"error": "Unauthorized"}


def models(names: List[str], max_model_len: int) -> Dict:
    return {"object": "list", "data": [
        {"id": name, "object": "model", "created": int(time.time()), "owned_by": OWNER, "root": names[0], "parent": None,
         "max_model_len": max_model_len, "permission": []} for name in names]}


def token_text(number: int, multibyte: bool = False, size: int = 0) -> str:
    """Text of the token event ``number`` (from 1): a lost or doubled one is seen in the sum."""
    text = "e%06d " % number
    if multibyte:
        text += "नमस्ते é "
    return text + "x" * (size - len(text.encode("utf-8")))


def count_words(value: Any) -> int:
    """Tokens of a prompt, as the stub counts them: words of all texts in it, and one for the frame."""
    if isinstance(value, str):
        return len(value.split())
    if isinstance(value, dict):
        return count_words(value.get("content", value.get("text", "")))
    if isinstance(value, list):
        return len(value) if all(isinstance(item, int) for item in value) else sum(count_words(item) for item in value)
    return 0


def prompt_tokens(body: Dict) -> int:
    return 1 + count_words(body.get("messages", body.get("prompt", body.get("input", ""))))


def usage(prompt: int, completion: int) -> Dict:
    return {"prompt_tokens": prompt, "total_tokens": prompt + completion, "completion_tokens": completion, "prompt_tokens_details": None}


class Generation:
    """The JSON objects of one chat or text completion."""

    def __init__(self, request_id: str, model: str, chat: bool):
        self._frame = {"id": ("chatcmpl-" if chat else "cmpl-") + request_id, "created": int(time.time()), "model": model}
        self._chat = chat

    def _object(self, kind: str, choices: List[Dict], more: Dict) -> Dict:
        return {"id": self._frame["id"], "object": kind, "created": self._frame["created"], "model": self._frame["model"],
                "choices": choices, **more}

    def _chunk(self, choices: List[Dict], more: Dict) -> Dict:
        return self._object("chat.completion.chunk" if self._chat else "text_completion", choices, more)

    def whole(self, text: str, finish_reason: str, numbers: Dict) -> Dict:
        """The answer that is not streamed."""
        choice = {"index": 0, "logprobs": None, "finish_reason": finish_reason, "stop_reason": None}
        if self._chat:
            choice["message"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        return self._object("chat.completion" if self._chat else "text_completion", [choice], {"usage": numbers})

    def role(self, more: Dict) -> Optional[Dict]:
        """The first chunk of a chat stream, before any token."""
        if not self._chat:
            return None
        return self._chunk([{"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}], more)

    def token(self, text: str, finish_reason: Optional[str], more: Dict) -> Dict:
        choice = {"index": 0, "logprobs": None, "finish_reason": finish_reason}
        if self._chat:
            choice["delta"] = {"content": text}
        else:
            choice["text"] = text
        return self._chunk([choice], more)

    def last(self, numbers: Optional[Dict]) -> Dict:
        """The chunk without choices that carries the usage."""
        return self._chunk([], {"usage": numbers})


def embeddings(model: str, request_id: str, texts: List[str]) -> Dict:
    """Vectors that depend on the text alone."""
    def vector(text: str) -> List[float]:
        digest = hashlib.sha256(text.encode("utf-8")).digest()
        return [round(byte / 127.5 - 1, 6) for byte in digest[:EMBEDDING_SIZE]]

    prompt = sum(1 + count_words(text) for text in texts)
    return {"id": "embd-" + request_id, "object": "list", "created": int(time.time()), "model": model,
            "data": [{"index": index, "object": "embedding", "embedding": vector(text)} for index, text in enumerate(texts)],
            "usage": usage(prompt, 0)}


def metrics(model: str, values: Dict[str, float]) -> bytes:
    """Prometheus text; ``values`` by name without the prefix ``vllm:``, counters end in ``_total``."""
    lines = []
    for name, value in values.items():
        lines.append("# TYPE vllm:%s %s" % (name, "counter" if name.endswith("_total") else "gauge"))
        lines.append('vllm:%s{engine="0",model_name="%s"} %s' % (name, model, float(value)))
    return ("\n".join(lines) + "\n").encode("utf-8")
