"""A client for tests: one streaming chat request, each event kept with the time at which it came.

Standard library only; raw sockets, so that nothing between the test and the wire buffers or retries.
"""
from __future__ import annotations

import contextlib
import dataclasses
import http.client
import json
import ssl
import threading
import time


@dataclasses.dataclass
class Answer:
    """What came back: `events` is [(seconds since the request, payload text)], one entry an SSE event, [DONE] included."""

    status: int
    headers: dict
    events: list
    raw: bytes

    @property
    def chunks(self):
        return [json.loads(text) for _seconds, text in self.events if text != "[DONE]"]

    @property
    def text(self):
        return "".join(choice["delta"].get("content") or "" for chunk in self.chunks for choice in chunk.get("choices", ()))

    @property
    def usage(self):
        found = [chunk["usage"] for chunk in self.chunks if chunk.get("usage")]
        return found[-1] if found else None

    @property
    def done(self):
        return bool(self.events) and self.events[-1][1] == "[DONE]"


def connect(host, port, tls, timeout):
    """`tls` is None for plain HTTP, or the path of the certificate to trust."""
    if tls is None:
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context(cafile=tls)
    context.check_hostname = False  # a disposable server is reached by its address; the certificate itself is checked
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)


def post(host, port, body, key=None, tls=None, path="/v1/chat/completions", timeout=120, progress=None):
    """Send one request and read the answer to its end. `progress(event count)` is called after each event."""
    with contextlib.closing(connect(host, port, tls, timeout)) as connection:
        return _ask(connection, path, body, key, progress)


def _ask(connection, path, body, key, progress):
    headers = {"Content-Type": "application/json"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    start = time.monotonic()
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    events, raw, pending = [], bytearray(), b""
    while True:
        piece = response.read1(65536)
        if not piece:
            break
        raw += piece
        pending += piece
        *complete, pending = pending.split(b"\n\n")
        for event in complete:
            payload = [line[5:].strip() for line in event.splitlines() if line.startswith(b"data:")]
            if payload:
                events.append((time.monotonic() - start, b"\n".join(payload).decode()))
                if progress:
                    progress(len(events))
    return Answer(response.status, dict(response.getheaders()), events, bytes(raw))


class Left(Exception):
    """The test is no longer interested in this stream."""


class Background(threading.Thread):
    """A request that runs beside the test. `result()` waits for its end and raises what it raised; `leave()` hangs up."""

    def __init__(self, *arguments, **options):
        super().__init__(daemon=True)
        self.count = 0
        self.answer = None
        self.error = None
        self.left = False
        self.arguments, self.options = arguments, options
        self.start()

    def run(self):
        try:
            self.answer = post(*self.arguments, progress=self._count, **self.options)
        except Exception as error:  # pylint: disable=broad-except  # handed to the test in result()
            self.error = error

    def _count(self, number):
        self.count = number
        if self.left:
            raise Left

    def leave(self):
        self.left = True

    def started(self, seconds=60):
        """Wait until the first event is there."""
        end = time.monotonic() + seconds
        while not self.count and self.is_alive() and time.monotonic() < end:
            self.join(0.05)
        return self.count > 0

    def result(self, seconds):
        self.join(seconds)
        if self.is_alive():
            raise TimeoutError(f"the stream has not ended after {seconds} s; {self.count} events so far")
        if self.error:
            raise self.error
        return self.answer
