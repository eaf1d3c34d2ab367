# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What must be done so that the gateway has the wanted keys. Pure."""

from __future__ import annotations

import datetime
import re

ALL_MODELS = "*"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class WrongKey(ValueError):
    """A wanted key cannot be meant; the text says what was found and what is wanted."""


def moment(text):
    """Microseconds since 1970 (UTC) of a date or a time; None for "never". A time without a zone is UTC.

    >>> moment("1970-01-02")
    86400000000
    """
    if text is None or text.strip().lower() in ("", "never"):
        return None
    try:
        # Python before 3.11 does not know the Z.
        value = datetime.datetime.fromisoformat(re.sub(r"[zZ]\Z", "+00:00", text.strip()))
    except ValueError:
        raise WrongKey("expires_at is %r; wanted: a date (2027-03-31), a time (2027-03-31T18:30:00Z) or never" % text) from None
    if value.tzinfo is None:
        value = value.replace(tzinfo=datetime.timezone.utc)
    return (value - _EPOCH) // datetime.timedelta(microseconds=1)


def normalise(keys):
    """The module's option -> [{"name", "state", "models", "enabled", "expires_at"}]. WrongKey."""
    wanted = []
    seen = set()
    for key in keys:
        name = key["name"]
        if not _NAME.match(name):
            raise WrongKey("name is %r; wanted: 1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit" % name)
        if name in seen:
            raise WrongKey("two keys are named %r" % name)
        seen.add(name)
        models = list(dict.fromkeys(key.get("models") or []))
        if key.get("state", "present") == "present" and not models:
            raise WrongKey("key %r has no models; wanted: names of models, or '*' for all" % name)
        bad = [model for model in models if not model or "," in model]
        if bad:
            raise WrongKey("key %r: %r is no name of a model" % (name, bad[0]))
        try:
            expires_at = moment(key.get("expires_at"))
        except WrongKey as exc:
            raise WrongKey("key %r: %s" % (name, exc)) from None
        wanted.append({
            "name": name,
            "state": key.get("state") or "present",
            "models": [ALL_MODELS] if ALL_MODELS in models else models,
            "enabled": key.get("enabled") is not False,
            "expires_at": expires_at,
        })
    return wanted


def actions(wanted, found):
    """Steps from what the gateway has to what is wanted.

    :param wanted: from normalise().
    :param found: what ``keys list --json`` printed: [{"name", "models", "enabled", "expires_at", ...}].
    :returns: [{"action": "create"|"update"|"delete", "name", "changes": {...}}]; keys that nobody named are left alone.
    """
    present = {key["name"]: key for key in found}
    steps = []
    for key in wanted:
        has = present.get(key["name"])
        if key["state"] == "absent":
            if has:
                steps.append({"action": "delete", "name": key["name"], "changes": {}})
            continue
        should = {field: key[field] for field in ("models", "enabled", "expires_at")}
        if not has:
            steps.append({"action": "create", "name": key["name"], "changes": should})
            continue
        changes = {field: value for field, value in should.items() if not _same(field, has.get(field), value)}
        if changes:
            steps.append({"action": "update", "name": key["name"], "changes": changes})
    return steps


def _same(field, left, right):
    return sorted(left) == sorted(right) if field == "models" else left == right


def arguments(step):
    """Command line of one step, without the program."""
    name, changes = step["name"], step["changes"]
    if step["action"] == "delete":
        return ["keys", "delete", name]
    argv = ["keys", step["action"], name, "--json"]
    if "models" in changes:
        argv += ["--models", ",".join(changes["models"])]
    if "expires_at" in changes and (changes["expires_at"] is not None or step["action"] == "update"):
        argv += ["--expires", "never" if changes["expires_at"] is None else _text(changes["expires_at"])]
    if step["action"] == "create" and changes.get("enabled") is False:
        argv += ["--disabled"]
    if step["action"] == "update" and "enabled" in changes:
        argv += ["--enable" if changes["enabled"] else "--disable"]
    return argv


def _text(microseconds):
    return (_EPOCH + datetime.timedelta(microseconds=microseconds)).isoformat()


def difference(found, steps):
    """Before and after as texts for a diff; without secrets, which are in neither."""
    before = {key["name"]: _line(key) for key in found}
    after = dict(before)
    known = {key["name"]: key for key in found}
    for step in steps:
        if step["action"] == "delete":
            after.pop(step["name"], None)
        else:
            after[step["name"]] = _line({**known.get(step["name"], {}), **step["changes"], "name": step["name"]})
    names = {step["name"] for step in steps}
    return {
        "before": "".join(before[name] for name in sorted(names) if name in before),
        "after": "".join(after[name] for name in sorted(names) if name in after),
    }


def _line(key):
    expires = key.get("expires_at")
    return "%s: %s, models %s, %s\n" % (
        key["name"],
        "enabled" if key.get("enabled", True) else "disabled",
        " ".join(key.get("models") or []),
        "never expires" if expires is None else "expires " + _text(expires),
    )
