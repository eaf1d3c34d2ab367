# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Units and containers of our engines on this host: reading and changing them, without knowing why."""

from __future__ import annotations

from ansible_collections.indiaai.inference.plugins.module_utils import _readiness
from ansible_collections.indiaai.inference.plugins.module_utils._host import container as engine_container
from ansible_collections.indiaai.inference.plugins.module_utils._host import status


class UnitError(Exception):
    """systemctl said no; the text says to what and why."""


class Units:
    """systemd units through systemctl.

    :param run_command: AnsibleModule.run_command.
    """

    def __init__(self, run_command):
        self._run = run_command

    def show(self, names):
        """{unit: properties} for these units; empty where there is no systemd to ask."""
        if not names:
            return {}
        rc, out, dummy = self._run(["systemctl", "show", "-p", ",".join(_readiness.PROPERTIES), "--"] + list(names))
        return status.parse_show(out) if rc == 0 else {}

    def act(self, verb, names, options=()):
        """systemctl VERB for these units. UnitError when it fails."""
        rc, out, err = self._run(["systemctl"] + list(options) + [verb, "--"] + list(names))
        if rc != 0:
            raise UnitError("systemctl %s %s: %s" % (verb, " ".join(names), (err or out).strip()))


def exists(unit):
    """Whether systemd has such a unit, from its properties."""
    return bool(unit) and unit.get("LoadState") not in (None, "", "not-found")


def stop_engine(units, api, unit, container, slug):
    """Stop, disable and remove one engine of ours: unit, then container. True when there was anything.

    A stop of the unit drains and stops the container; one that an inferctl killed earlier left behind is removed as well.
    UnitError, DockerError, DockerUnavailable.
    """
    changed = False
    state = units.show([unit]).get(unit)
    if exists(state):
        if state.get("ActiveState") not in ("inactive", "failed"):
            units.act("stop", [unit])
            changed = True
        if state.get("UnitFileState") == "enabled":
            units.act("disable", [unit], ["--quiet"])
            changed = True
        if state.get("ActiveState") == "failed":
            units.act("reset-failed", [unit])
    return remove_container(api, container, slug) or changed


def remove_container(api, container, slug, seconds=20):
    """Remove the container of one engine if it is ours. True when it was there."""
    found = api.inspect(container)
    try:
        engine_container.check_ours(found, slug)
    except engine_container.ForeignContainer:
        return False
    if found is None:
        return False
    if engine_container.is_running(found):
        api.stop(container, seconds)
    api.remove(container)
    return True
