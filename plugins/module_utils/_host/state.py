# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What inferctl remembers about one engine. It lies in /run: after a boot no container runs, and nothing is remembered.

State file: {"ready": life of the container that was ready last or null, "failures": [seconds since boot, ...],
"spec": digest of the specification that failed or null, "last_failure": text or null}.
Failure file: {"schema_version", "slug", "at" (UTC), "reason", "attempt", "config", "log_tail": [text]}.
"""

from __future__ import annotations

import json
import os

from . import atomic
from . import paths

_KEPT_FAILURES = 50


class StateFile:
    """State and failure file of one engine."""

    def __init__(self, slug, run=paths.RUN):
        self.slug = slug
        self._run = run
        self._state = paths.engine_state(slug, run)
        self._failure = paths.engine_failure(slug, run)

    def read(self):
        """The state, complete; a missing or broken file counts as nothing remembered."""
        state = {"ready": None, "failures": [], "spec": None, "last_failure": None}
        state.update(_read_object(self._state))
        return state

    def failure(self):
        """The failure file's content, {} when there is none."""
        return _read_object(self._failure)

    def became_ready(self, life):
        """Remember which life of the container was ready; an earlier failure is over."""
        self._update(ready=life)
        _forget(self._failure)

    def failed(self, now, reason, log_tail, config, spec, at):
        """Remember a failure at now (seconds since boot) and write the failure file -> number of failures of this specification."""
        state = self.read()
        earlier = state["failures"] if state["spec"] == spec else []
        failures = (earlier + [now])[-_KEPT_FAILURES:]
        self._update(failures=failures, spec=spec, last_failure=reason)
        self.explain(reason, log_tail, config, at, len(failures))
        return len(failures)

    def explain(self, reason, log_tail, config, at, attempt=0):
        """Write the failure file only."""
        os.makedirs(self._run, mode=0o755, exist_ok=True)
        document = {
            "schema_version": 1,
            "slug": self.slug,
            "at": at,
            "reason": reason,
            "attempt": attempt,
            "config": config,
            "log_tail": log_tail,
        }
        # an engine's log may hold what its users sent
        atomic.write(self._failure, json.dumps(document, indent=1) + "\n", 0o600)

    def stopped(self):
        """A stop on purpose: the next start owes nothing to earlier failures."""
        for path in (self._state, self._failure):
            _forget(path)

    def _update(self, **changes):
        os.makedirs(self._run, mode=0o755, exist_ok=True)
        state = self.read()
        state.update(changes)
        atomic.write(self._state, json.dumps(state) + "\n", 0o644)


def _forget(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def _read_object(path):
    try:
        with open(path, encoding="utf-8") as handle:
            data = json.load(handle)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
