# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What happens to the container after inferctl itself ended (ExecStopPost)."""

from __future__ import annotations

from . import container


def must_stop(service_result, healthy):
    """Pure decision. service_result: $SERVICE_RESULT of systemd; healthy: called only when it matters -> bool.

    success: the stop came before inferctl could take its signal; timeout: load or drain took too long;
    watchdog: inferctl hung, its engine may be fine; all else (signal, exit-code, ...): left to be adopted.
    """
    if service_result in ("success", "timeout"):
        return True
    return service_result == "watchdog" and not healthy()


def renews_budget(service_result):
    """True after a stop on purpose: like earlier failures, earlier starts are forgotten then."""
    return service_result == "success"


def run(spec, docker, http, service_result, log):
    """Stop the engine's container when must_stop says so. DockerUnavailable, DockerError, ForeignContainer."""
    found = docker.inspect(spec["container"])
    container.check_ours(found, spec["slug"])
    if not container.is_running(found):
        return
    if must_stop(service_result, lambda: http.health(spec["readiness"]["health_path"]).ok):
        log("inferctl ended with result %s: stopping its container" % service_result)
        docker.stop(spec["container"], spec["drain"]["stop_seconds"])
    else:
        log("inferctl ended with result %s: its container runs on" % service_result)
