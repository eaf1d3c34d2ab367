# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The command inferctl.

Exit codes: 0 done; 1 the engine (or a GPU) failed, systemd is to try again; 2 wrong use; 69 Docker, systemd or the GPU driver cannot
be reached; 77 not allowed (needs root); 78 something has to be changed first, trying again cannot help.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess

from . import console
from . import container
from . import docker_api
from . import gpu_clocks
from . import gpu_init
from . import health
from . import locks
from . import net_devices
from . import net_steering
from . import notify
from . import nvml
from . import paths
from . import post
from . import process
from . import spec as spec_module
from . import state
from . import status
from . import supervisor
from . import version

OK, FAILURE, USAGE, UNAVAILABLE, NO_PERMISSION, CONFIG = 0, 1, 2, 69, 77, 78


def _slug(text):
    if not paths.is_slug(text):
        raise argparse.ArgumentTypeError("'%s' is not the slug of an engine: lower-case letters, digits, '.' and '-'" % text)
    return text


def parser():
    """The command line."""
    root = argparse.ArgumentParser(prog="inferctl", description="Inference engines of this host.", epilog=__doc__.split("\n\n", 1)[1])
    commands = root.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, text in (
        ("run", "start and supervise one engine (the main process of its unit)"),
        ("post", "clean up after 'run' ended (ExecStopPost of the unit)"),
        ("stop", "stop an engine: its unit, then its container if it still runs"),
    ):
        commands.add_parser(name, help=text, description=text).add_argument("slug", metavar="SLUG", type=_slug)
    shown = commands.add_parser("status", help="show all engines", description="show all engines")
    shown.add_argument("--json", action="store_true", help="as JSON, for programs")
    boot = "wait for the GPUs and set persistence, clocks and power limit (the program of gpu-init.service)"
    commands.add_parser("gpu-init", help=boot, description=boot).add_argument(
        "--wait", metavar="SECONDS", type=int, help="how long to wait, instead of what the settings say")
    text = "share the work of network cards' receive queues between CPUs (RPS and RFS)"
    steering = commands.add_parser("net-steering", help=text, description=text)
    steering.add_argument("--mode", choices=net_steering.MODES, default="auto")
    steering.add_argument("--flow-entries", metavar="N", type=int, default=32768, help="size of the machine's flow table")
    steering.add_argument("--device", metavar="NAME", help="this interface only")
    commands.add_parser("version", help="show which program this is", description="show which program this is")
    return root


def _load(slug):
    spec = spec_module.load(paths.engine_spec(slug))
    if spec["slug"] != slug:
        raise spec_module.SpecError("%s: key 'slug': found %s, wanted %s" % (paths.engine_spec(slug), spec["slug"], slug))
    return spec


def _key(spec):
    if spec["key_file"] is None:
        return None
    try:
        with open(spec["key_file"], encoding="utf-8") as handle:
            return handle.read().strip() or None
    except OSError as exc:
        raise spec_module.SpecError("key_file of engine %s: %s" % (spec["slug"], exc)) from None


def run(slug):
    """inferctl run."""
    termination = process.Termination()
    termination.install()
    remembered = state.StateFile(slug)
    try:
        spec = _load(slug)
        supervisor.Supervisor(
            spec=spec,
            docker=docker_api.DockerApi(),
            http=health.EngineHttp(spec["address"], spec["port"], _key(spec)),
            notify=notify.Notifier(),
            state=remembered,
            locks=locks.DeviceLocks(spec["devices"]),
            termination=termination,
        ).run()
    except process.Stop:  # before there was anything to stop
        return OK
    except (spec_module.SpecError, supervisor.ConfigFailure) as exc:
        clock = process.Clock()
        remembered.explain(str(exc), [], None, clock.utc())
        console.say("inferctl: %s" % exc)
        return CONFIG
    except supervisor.EngineFailure as exc:
        console.say("inferctl: engine %s failed: %s" % (slug, exc))
        return FAILURE
    return OK


def run_post(slug):
    """inferctl post."""
    result = os.environ.get("SERVICE_RESULT", "")
    if post.renews_budget(result):
        # else systemd would refuse the fifth wanted start within four hours
        # Used where there is no AnsibleModule, so not through run_command().
        subprocess.run(  # pylint: disable=ansible-bad-function
            ["systemctl", "reset-failed", paths.engine_unit(slug)], stdin=subprocess.DEVNULL, capture_output=True, timeout=10, check=False)
    spec = _load(slug)
    post.run(spec, docker_api.DockerApi(), health.EngineHttp(spec["address"], spec["port"]), result, console.say)
    return OK


def stop(slug):
    """inferctl stop: also where the unit is gone, failed, or between two tries."""
    unit = paths.engine_unit(slug)
    # Used where there is no AnsibleModule, so not through run_command().
    done = subprocess.run(  # pylint: disable=ansible-bad-function
        ["systemctl", "stop", unit], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    # 5: there is no such unit, so only a container can be left
    if done.returncode not in (0, 5):
        console.say("inferctl: systemctl stop %s: %s" % (unit, done.stderr.strip()))
        return FAILURE
    docker = docker_api.DockerApi()
    stopped = []
    for item in docker.containers(filters={"label": [container.MANAGED + "=true", "%s=%s" % (container.ENGINE, slug)]}):
        docker.stop(item["Id"], _stop_seconds(slug))
        stopped.append(item["Names"][0].lstrip("/"))
    state.StateFile(slug).stopped()
    console.say("%s is stopped%s" % (unit, "; stopped the container %s, which still ran" % ", ".join(stopped) if stopped else ""))
    return OK


def _stop_seconds(slug):
    try:
        return _load(slug)["drain"]["stop_seconds"]
    except spec_module.SpecError:
        return 20


def show(as_json):
    """inferctl status."""
    doc = status.collect(docker_api.DockerApi(timeout=10))
    console.say(json.dumps(doc, indent=1) if as_json else status.table(doc))
    return OK


def init_gpus(wait):
    """inferctl gpu-init."""
    try:
        return gpu_init.Boot(console.say).run(gpu_clocks.load_settings(), wait)
    except gpu_clocks.Refused as exc:
        for text in exc.problems:
            console.complain(text)
        return CONFIG
    except PermissionError:
        raise
    except (nvml.NvmlError, OSError) as exc:
        console.complain(exc)
        return FAILURE


def main(argv=None):
    """Entry point -> exit code."""
    wanted = parser().parse_args(argv)
    try:
        if wanted.command == "run":
            return run(wanted.slug)
        if wanted.command == "post":
            return run_post(wanted.slug)
        if wanted.command == "stop":
            return stop(wanted.slug)
        if wanted.command == "status":
            return show(wanted.json)
        if wanted.command == "gpu-init":
            return init_gpus(wanted.wait)
        if wanted.command == "net-steering":
            return FAILURE if net_devices.run(console.say, wanted.mode, wanted.flow_entries, wanted.device) else OK
        console.say("inferctl %s (%s)" % (version.VERSION, version.installed()))
        return OK
    except PermissionError as exc:
        console.complain("%s. Run it as root." % exc)
        return NO_PERMISSION
    except (spec_module.SpecError, container.ForeignContainer) as exc:
        console.complain(exc)
        return CONFIG
    except docker_api.DockerUnavailable as exc:
        console.complain(exc)
        return UNAVAILABLE
    except docker_api.DockerError as exc:
        console.complain(exc)
        return FAILURE
    except (FileNotFoundError, subprocess.TimeoutExpired) as exc:  # no systemctl, or no answer
        console.complain(exc)
        return UNAVAILABLE
