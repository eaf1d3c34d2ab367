# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Questions to an engine over HTTP: is it healthy, does it serve the model, does it answer a real request."""

from __future__ import annotations

import http.client
import json

# An answer of this kind will be the same next time: wrong key, wrong model name, wrong path.
_DEFINITE = frozenset((400, 401, 403, 404, 405, 413, 415, 422))
_MAX_BODY = 16 * 1024 * 1024


class Answer:
    """Result of one question: ok, definite (asking again will not help), detail (for people), body (text)."""

    def __init__(self, ok, detail, definite=False, body=""):
        self.ok = ok
        self.detail = detail
        self.definite = definite
        self.body = body


class EngineHttp:
    """One engine. key: bearer token or None."""

    def __init__(self, address, port, key=None):
        # an engine that listens everywhere is asked where it is
        self.address = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(address, address)
        self.port = port
        self.key = key

    def call(self, method, path, body=None, timeout=2):
        """One request -> (status, text). status is None when there was no answer, text then says why."""
        connection = http.client.HTTPConnection(self.address, self.port, timeout=timeout)
        headers = {"Authorization": "Bearer " + self.key} if self.key else {}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body)
        try:
            connection.request(method, path, data, headers)
            response = connection.getresponse()
            return response.status, response.read(_MAX_BODY).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as exc:
            return None, str(exc) or type(exc).__name__
        finally:
            connection.close()

    def health(self, path, timeout=2):
        """Answer to the health question: ok only on 200."""
        status, text = self.call("GET", path, timeout=timeout)
        return judge_health(path, status, text)

    def serves(self, model, timeout=5):
        """Answer to "is this model in /v1/models?"."""
        status, text = self.call("GET", "/v1/models", timeout=timeout)
        return judge_models(model, status, text)

    def request(self, path, body, timeout):
        """Answer to one real request."""
        status, text = self.call("POST", path, body, timeout)
        return judge_request(path, status, text)

    def metrics(self, path, timeout=2):
        """Answer whose body is the Prometheus text."""
        status, text = self.call("GET", path, timeout=timeout)
        return Answer(status == 200, "%s answered %s" % (path, status), body=text if status == 200 else "")


def judge_health(path, status, text):
    """(status, text) of a health call -> Answer."""
    if status == 200:
        return Answer(True, "healthy")
    if status is None:
        return Answer(False, "%s does not answer (%s)" % (path, text))
    return Answer(False, "%s answered %d %s" % (path, status, _short(text)))


def judge_models(model, status, text):
    """(status, text) of /v1/models -> Answer. An engine without that list (404) is taken as serving."""
    if status == 404:
        return Answer(True, "/v1/models does not exist in this engine")
    if status != 200:
        return _refused("/v1/models", status, text)
    try:
        names = [item["id"] for item in json.loads(text)["data"]]
    except (ValueError, KeyError, TypeError):
        return Answer(False, "/v1/models answered something else than a list of models: %s" % _short(text))
    if model not in names:
        return Answer(False, "/v1/models lists %s, not %s" % (", ".join(map(str, names)) or "nothing", model), definite=True)
    return Answer(True, "serves %s" % model)


def judge_request(path, status, text):
    """(status, text) of a real request -> Answer: ok when the engine made something out of it."""
    if status != 200:
        return _refused(path, status, text)
    try:
        data = json.loads(text)
    except ValueError:
        return Answer(False, "%s answered 200 with something that is not JSON: %s" % (path, _short(text)))
    if isinstance(data, dict):
        empty = not data or bool(data.get("error")) or data.get("choices", True) in ([], None) or data.get("data", True) in ([], None)
    else:
        empty = not data
    if empty:
        return Answer(False, "%s answered 200 without a result: %s" % (path, _short(text)))
    return Answer(True, "answered")


def _refused(path, status, text):
    if status is None:
        return Answer(False, "%s does not answer (%s)" % (path, text))
    return Answer(False, "%s answered %d %s" % (path, status, _short(text)), definite=status in _DEFINITE)


def _short(text):
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else flat[:200] + "..."


def metric_sum(text, names):
    """Sum of the samples of these metrics over all their labels, None when none of them is in the Prometheus text."""
    total, found = 0.0, False
    for line in text.splitlines():
        name = line.split("{", 1)[0].split(" ", 1)[0]
        if name in names:
            try:
                # a label's value may hold blanks; the sample follows the last brace
                total += float(line.rsplit("}", 1)[-1].split()[0 if "}" in line else 1])
                found = True
            except (IndexError, ValueError):
                continue
    return total if found else None


def progress_mark(text):
    """What of the Prometheus text moves only when the engine works: equal marks mean no progress in between.

    Process and HTTP counters are left out: the questions asked here move them.
    """
    return tuple(sorted(
        line for line in text.splitlines()
        if line and not line.startswith(("#", "process_", "python_", "http_"))
    ))
