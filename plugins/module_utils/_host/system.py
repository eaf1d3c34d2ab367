# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts of a host that the undo journal asks and changes through other programs: units, containers, accounts, packages."""

from __future__ import annotations

import grp
import os
import pwd
import subprocess

from . import docker_api

_STOP_TIMEOUT = 600  # seconds: a stop may drain running requests


class SystemFailure(Exception):
    """A program refused; the text holds its words."""


class System:
    """The real host. Tests put a false one in its place."""

    def __init__(self, docker=None):
        self.docker = docker or docker_api.DockerApi()

    # ---- systemd --------------------------------------------------------------------------------------------------

    def unit(self, name):
        """{"exists", "active", "enabled"} of a unit; active and enabled in systemd's words ("" for a template's active)."""
        if is_template(name):
            listed = self._run(["systemctl", "list-unit-files", "--no-legend", "--no-pager", name], check=False).split()
            return {"exists": bool(listed), "active": "", "enabled": listed[1] if len(listed) > 1 else ""}
        shown = self._run(["systemctl", "show", "--property=LoadState,ActiveState,UnitFileState", name])
        fields = dict(line.split("=", 1) for line in shown.splitlines() if "=" in line)
        return {
            "exists": fields.get("LoadState") != "not-found",
            "active": fields.get("ActiveState", ""),
            "enabled": fields.get("UnitFileState", ""),
        }

    def systemctl(self, *arguments):
        """Run systemctl. SystemFailure with its message."""
        self._run(["systemctl"] + list(arguments), timeout=_STOP_TIMEOUT)

    # ---- containers -----------------------------------------------------------------------------------------------

    def container(self, name):
        """Inspected container, None when there is none or no Docker at all. SystemFailure when Docker does not answer."""
        if not os.path.exists(self.docker.socket_path):
            return None
        return self._docker(self.docker.inspect, name)

    def container_action(self, action, *arguments):
        """Call a method of DockerApi: start, stop, remove or update."""
        return self._docker(getattr(self.docker, action), *arguments)

    def _docker(self, call, *arguments):
        try:
            return call(*arguments)
        except (docker_api.DockerError, docker_api.DockerUnavailable) as exc:
            raise SystemFailure(str(exc)) from None

    # ---- accounts and packages ------------------------------------------------------------------------------------

    def has_user(self, name):
        """True when the account exists."""
        return _known(pwd.getpwnam, name)

    def has_group(self, name):
        """True when the group exists."""
        return _known(grp.getgrnam, name)

    def remove_user(self, name):
        """Remove an account, not its files."""
        self._run(["userdel", name])

    def remove_group(self, name):
        """Remove a group."""
        self._run(["groupdel", name])

    def package_version(self, name):
        """Installed version of a package, None when it is not installed."""
        shown = self._run(["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}", name], check=False).split()
        return shown[1] if len(shown) == 2 and shown[0] == "installed" else None

    def package_held(self, name):
        """True when an installed package is kept at its version, False when it is not, None when it is not installed."""
        shown = self._run(["dpkg-query", "--show", "--showformat=${db:Status-Want} ${db:Status-Status}", name], check=False).split()
        return shown[0] == "hold" if len(shown) == 2 and shown[1] == "installed" else None

    def hold_package(self, name, held):
        """Keep an installed package at its version, or let it go."""
        self._run(["dpkg", "--set-selections"], given="%s %s\n" % (name, "hold" if held else "install"))

    @staticmethod
    def _run(argv, check=True, timeout=60, given=""):
        environment = dict(os.environ, LC_ALL="C", SYSTEMD_PAGER="")
        try:
            # Used where there is no AnsibleModule, so not through run_command().
            done = subprocess.run(  # pylint: disable=ansible-bad-function
                argv, input=given, capture_output=True, text=True, timeout=timeout, check=False, env=environment
            )
        except (OSError, subprocess.TimeoutExpired) as exc:
            if not check and isinstance(exc, OSError):
                return ""
            raise SystemFailure("%s: %s" % (" ".join(argv), exc)) from None
        if check and done.returncode != 0:
            raise SystemFailure("%s: %s" % (" ".join(argv), done.stderr.strip() or "exit code %d" % done.returncode))
        return done.stdout


def is_template(unit):
    """True for a template such as name@.service."""
    return "@." in unit


def unit_name(name):
    """systemd's full name of a unit: without a suffix a service is meant."""
    suffix = name.rsplit(".", 1)[-1]
    known = ("service", "socket", "target", "timer", "mount", "automount", "path", "slice", "scope", "swap", "device")
    return name if suffix in known else name + ".service"


def _known(look_up, name):
    try:
        look_up(name)
        return True
    except KeyError:
        return False
