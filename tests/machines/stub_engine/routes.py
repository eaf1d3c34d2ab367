# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The paths that the stub answers, and the order in which a request is refused, queued, run and counted."""
from __future__ import annotations

import asyncio
import json
import uuid
from typing import Dict, List, Optional, Tuple

from . import protocol
from .engine import Engine, Seen
from .http11 import Connection, Gone, Request, Zipper
from .script import Answer, for_answer
from .stream import Ended, Stream

JSON = ("content-type", "application/json")
GENERATION = {"/v1/chat/completions": True, "/v1/completions": False}


class Refused(Exception):
    """An answer other than 200: status, JSON body, further headers."""

    def __init__(self, status: int, body: Dict, headers: Tuple = ()):
        super().__init__(status)
        self.status, self.body, self.headers = status, body, list(headers)


class Routes:
    """``await routes(connection, request)`` answers one request."""

    def __init__(self, engine: Engine):
        self._engine = engine

    async def __call__(self, connection: Connection, request: Request) -> None:
        if self._engine.hanging() and not request.path.startswith("/stub/"):
            await connection.gone.wait()
            raise Gone()
        try:
            await self._route(connection, request)
        except Refused as refusal:
            await self._json(connection, refusal.status, refusal.body, refusal.headers)

    async def _json(self, connection: Connection, status: int, body: Dict, headers: List = ()) -> None:
        await connection.answer(status, [protocol.HEADER, JSON, *headers], protocol.dump(body))

    async def _route(self, connection: Connection, request: Request) -> None:
        engine, key = self._engine, (request.method, request.path)
        if request.path.startswith("/stub/"):
            return await self._control(connection, request)
        if request.path.startswith(protocol.GUARDED):
            self._authenticate(request)
        if key == ("GET", "/health"):
            status = 503 if engine.loading() else engine.process.health_status
            return await connection.answer(status, [protocol.HEADER], b"")
        if key == ("GET", "/metrics"):
            body = protocol.metrics(engine.options.models[0], engine.gauges())
            return await connection.answer(200, [protocol.HEADER, ("content-type", "text/plain; version=0.0.4")], body)
        if key == ("GET", "/version"):
            return await self._json(connection, 200, {"version": protocol.VERSION})
        if key == ("GET", "/v1/models"):
            self._refuse_while_loading()
            return await self._json(connection, 200, protocol.models(engine.options.models, engine.options.max_model_len))
        if request.method == "POST" and (request.path in GENERATION or request.path == "/v1/embeddings"):
            return await self._work(connection, request)
        known = request.path in GENERATION or request.path in ("/health", "/metrics", "/version", "/v1/models", "/v1/embeddings")
        raise Refused(405, {"detail": "Method Not Allowed"}) if known else Refused(404, {"detail": "Not Found"})

    def _authenticate(self, request: Request) -> None:
        keys = self._engine.options.keys
        scheme, _space, given = request.headers.get("authorization", "").partition(" ")
        if keys and not (scheme.lower() == "bearer" and given in keys):
            raise Refused(401, protocol.UNAUTHORIZED)

    def _refuse_while_loading(self) -> None:
        if self._engine.loading():
            raise Refused(503, protocol.error(503, "the stub is loading", "ServiceUnavailableError"))

    # --- control

    async def _control(self, connection: Connection, request: Request) -> None:
        engine, key = self._engine, (request.method, request.path)
        if key == ("GET", "/stub/requests"):
            return await self._json(connection, 200, engine.report())
        if key == ("DELETE", "/stub/requests"):
            engine.forget()
            return await self._json(connection, 200, {"stub": True})
        if request.path == "/stub/script" and request.method in ("PUT", "DELETE"):
            try:
                engine.put_script(json.loads(request.body) if request.method == "PUT" else {})
            except ValueError as error:  # bad JSON, or a ScriptError
                raise Refused(400, protocol.error(400, str(error))) from None
            return await self._json(connection, 200, {"stub": True})
        raise Refused(404, {"detail": "Not Found"})

    # --- work

    async def _work(self, connection: Connection, request: Request) -> None:
        engine = self._engine
        seen = engine.see(request.path, request.headers, request.body)
        outcome = "cancelled"
        try:
            self._refuse_while_loading()
            body = self._body(request)
            script = self._script(request, body)
            self._refuse(body, script)
            await self._queue(connection, seen, body, script)
            outcome = "finished"
        except Refused as refusal:
            seen.status, outcome = refusal.status, "refused"
            raise
        except Ended as fault:
            outcome = str(fault)
            if outcome in ("hang_at", "reset_at", "truncate_at"):
                raise Gone() from None
        finally:
            engine.ended(seen, outcome)

    async def _queue(self, connection: Connection, seen: Seen, body: Dict, script: Answer) -> None:
        place = asyncio.ensure_future(self._engine.enter())
        left = asyncio.ensure_future(connection.gone.wait())
        try:
            await asyncio.wait({place, left}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()
        if not place.done():
            place.cancel()
            raise Gone()
        try:
            seen.outcome = "running"
            if seen.path == "/v1/embeddings":
                await self._embed(connection, seen, body, script)
            else:
                await self._generate(connection, seen, body, script)
        finally:
            self._engine.leave()

    def _body(self, request: Request) -> Dict:
        try:
            body = json.loads(request.body)
        except ValueError:
            raise Refused(400, protocol.error(400, "the body is not JSON")) from None
        if not isinstance(body, dict):
            raise Refused(400, protocol.error(400, "the body is not an object"))
        names = self._engine.options.models
        if body.get("model", names[0]) not in names:
            raise Refused(404, protocol.error(404, "The model `%s` does not exist." % body["model"], "NotFoundError", "model"))
        return body

    def _script(self, request: Request, body: Dict) -> Answer:
        sources = [body["stub"]] if "stub" in body else []
        try:
            if "x-stub-script" in request.headers:
                sources.append(json.loads(request.headers["x-stub-script"]))
            return for_answer(self._engine.answer, sources)
        except ValueError as error:
            raise Refused(400, protocol.error(400, str(error))) from None

    def _refuse(self, body: Dict, script: Answer) -> None:
        if self._engine.refusing():
            raise Refused(503, protocol.error(503, "the stub refuses generation", "ServiceUnavailableError"))
        if script.error_status:
            headers = [("retry-after", str(script.retry_after))] if script.retry_after is not None else []
            kinds = {400: "BadRequestError", 404: "NotFoundError", 429: "RateLimitError"}
            raise Refused(script.error_status, protocol.error(script.error_status, "scripted refusal of the stub",
                                                              kinds.get(script.error_status, "InternalServerError")), headers)
        if script.reject_stream_options and "stream_options" in body:
            raise Refused(400, protocol.error(400, "Unknown parameter: 'stream_options'.", param="stream_options"))
        limit, prompt = self._engine.options.max_model_len, protocol.prompt_tokens(body)
        if prompt + self._tokens(body, Answer()) > limit:
            raise Refused(400, protocol.error(400, "This model's maximum context length is %d tokens. However, you requested %d output "
                                                   "tokens and your prompt contains %d input tokens."
                                              % (limit, self._tokens(body, Answer()), prompt)))

    @staticmethod
    def _tokens(body: Dict, script: Answer) -> int:
        if script.tokens is not None:
            return script.tokens
        asked: Optional[int] = body.get("max_completion_tokens") or body.get("max_tokens")
        return asked if isinstance(asked, int) and asked > 0 else 16

    async def _embed(self, connection: Connection, seen: Seen, body: Dict, script: Answer) -> None:
        await connection.sleep(script.header_delay_seconds + script.first_token_seconds)
        given = body.get("input", "")
        texts = [str(text) for text in given] if isinstance(given, list) else [str(given)]
        answer = protocol.embeddings(body.get("model", self._engine.options.models[0]), uuid.uuid4().hex, texts)
        self._engine.prompt_tokens += answer["usage"]["prompt_tokens"]
        seen.status = 200
        await self._json(connection, 200, answer)

    async def _generate(self, connection: Connection, seen: Seen, body: Dict, script: Answer) -> None:
        chat = GENERATION[seen.path]
        prompt, tokens = protocol.prompt_tokens(body), self._tokens(body, script)
        self._engine.prompt_tokens += prompt
        generation = protocol.Generation(uuid.uuid4().hex, body.get("model", self._engine.options.models[0]), chat)
        connection.close_after = connection.close_after or script.close_after
        await connection.sleep(script.header_delay_seconds)
        headers = [protocol.HEADER] + ([("content-encoding", "gzip")] if script.gzip else [])
        seen.status = 200
        if body.get("stream"):
            wanted = body.get("stream_options") or {}
            await connection.head(200, headers + [("content-type", "text/event-stream; charset=utf-8")], None, script.header_trickle_seconds)
            await Stream(connection, self._engine, seen, generation, script, prompt, tokens, bool(wanted.get("include_usage")),
                         bool(wanted.get("continuous_usage_stats"))).run()
            return
        await connection.sleep(script.first_token_seconds + script.inter_token_seconds * max(tokens - 1, 0))
        text = "".join(protocol.token_text(number + 1, script.multibyte) for number in range(tokens))
        numbers = protocol.usage(prompt, tokens + (1 if script.usage == "wrong" else 0))
        answer = generation.whole(text, "length", None if script.usage == "null" else numbers)
        if script.usage == "none":
            del answer["usage"]
        data = protocol.dump(answer)
        if script.gzip:
            zipper = Zipper()
            data = zipper.piece(data) + zipper.end()
        self._engine.generated_tokens += tokens
        seen.events = tokens
        await connection.answer(200, headers + [JSON], data, script.header_trickle_seconds)
