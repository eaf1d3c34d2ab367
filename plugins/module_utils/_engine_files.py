# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of one engine on the managed host: what they are called and what is in them. Pure."""

from __future__ import annotations

import json
import os

SECRET_MODE = 0o600
FOLDER_MODE = 0o700


def spec_path(directory, slug):
    """What the host program reads."""
    return os.path.join(directory, slug + ".json")


def key_path(directory, slug):
    """The engine's key, for those who call it."""
    return os.path.join(directory, slug + ".key")


def secret_path(directory, slug):
    """The settings file that carries the key into the container."""
    return os.path.join(directory, slug + ".secret.yaml")


def pending_path(directory, slug):
    """Present from a change until the changed engine has answered; holds what to go back to."""
    return os.path.join(directory, slug + ".pending")


def slugs(names):
    """Engines that have a specification among these file names of the folder."""
    return sorted(name[: -len(".json")] for name in names if name.endswith(".json") and not name.startswith("."))


def spec_text(spec):
    """A specification as its file holds it: equal settings give equal text."""
    return json.dumps(spec, indent=2, sort_keys=True) + "\n"


def secret_text(key, delivery):
    """Content of the settings file with the key.

    :param key: the key.
    :param delivery: format (yaml) and option, the engine's name for the setting.
    :raises ValueError: for a format nobody wrote.
    """
    if delivery["format"] != "yaml":
        raise ValueError("no key delivery in format '%s'" % delivery["format"])
    # A JSON string is a YAML string too, whatever the key looks like.
    return "%s: %s\n" % (delivery["option"], json.dumps(key))


def pending_after_change(pending, old_spec):
    """The pending record after specification or key changed.

    An older record stays the way back: what it names was the last that answered, the one being replaced now never did.

    :param pending: the record there is, or None.
    :param old_spec: text of the specification there was, or None.
    """
    previous = pending["previous"] if pending else old_spec
    return {"previous": previous, "applied": False}


def read_pending(text):
    """A pending record from its file; a damaged one counts as one without a way back."""
    try:
        record = json.loads(text)
        return {"previous": record.get("previous"), "applied": bool(record.get("applied"))}
    except (ValueError, AttributeError):
        return {"previous": None, "applied": False}
