# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files outside the package that make the host program: command, units, tmpfiles.d. Pure."""

from __future__ import annotations

from . import paths

NOTICE = "Made by the Ansible collection indiaai.inference: changes here are overwritten."

# -I: nothing in the environment or in the folder of the caller can change what is imported.
WRAPPER = """#!/usr/bin/python3 -I
# {notice}
import sys

sys.path.insert(0, "{lib}")

from {package}.cli import main

sys.exit(main())
""".format(notice=NOTICE, lib=paths.LIB, package=paths.PACKAGE)

ENGINE_UNIT = """# {notice}
[Unit]
Description=Inference engine %i
Documentation=https://github.com/indiaai/inference
# Wants, not Requires: a restart of the daemon must not stop an engine
Wants=docker.service
After=docker.service docker.socket
PartOf={target}
# longer than StartLimitBurst x (load + drain + back-off), else a slow loader never exhausts its budget
StartLimitIntervalSec=4h
StartLimitBurst=4

[Service]
Type=notify
NotifyAccess=main
ExecStart={cli} run %i
ExecStopPost=-{cli} post %i
# only inferctl gets the signal: it drains, then stops the container
KillMode=mixed
Restart=on-failure
RestartSec=2
# 78: the configuration is wrong, another start cannot help
RestartPreventExitStatus=78
# inferctl asks for more time (EXTEND_TIMEOUT_USEC) as long as it works
TimeoutStartSec=60
TimeoutStopSec=90
WatchdogSec=60

[Install]
WantedBy={target}
""".format(notice=NOTICE, cli=paths.CLI, target=paths.TARGET_UNIT)

# Without default dependencies the boot waits for no model, and stopping the target does not wait for the engines.
TARGET = """# {notice}
[Unit]
Description=Inference engines of this host
Documentation=https://github.com/indiaai/inference
DefaultDependencies=no

[Install]
WantedBy=multi-user.target
""".format(notice=NOTICE)

# A role that needs another owner for the gateway's folder adds indiaai-inference-gateway.conf, which is read first and wins.
TMPFILES = """# {notice}
d {run} 0755 root root -
d {locks} 0755 root root -
d {gateway_run} 0755 root root -
""".format(notice=NOTICE, run=paths.RUN, locks=paths.LOCKS, gateway_run=paths.GATEWAY_RUN)


def files():
    """{path: (mode, text)} of everything outside the package."""
    return {
        paths.CLI: (0o755, WRAPPER),
        "%s/%s" % (paths.SYSTEMD_UNITS, paths.ENGINE_UNIT): (0o644, ENGINE_UNIT),
        "%s/%s" % (paths.SYSTEMD_UNITS, paths.TARGET_UNIT): (0o644, TARGET),
        paths.TMPFILES: (0o644, TMPFILES),
    }


def directories():
    """[(path, mode, keep)]: keep means that another role may give it another owner or mode, which is then left alone."""
    return [
        (paths.LIB, 0o755, False),
        ("%s/%s" % (paths.LIB, paths.PACKAGE), 0o755, False),
        (paths.ETC, 0o755, False),
        (paths.ENGINES, 0o700, False),
        (paths.GATEWAY_ETC, 0o755, True),
        (paths.STATE, 0o755, False),
        (paths.BENCHMARKS, 0o755, True),
        (paths.GATEWAY_STATE, 0o755, True),
        (paths.UNDO, 0o700, False),
        (paths.RUN, 0o755, False),
        (paths.LOCKS, 0o755, False),
        (paths.GATEWAY_RUN, 0o755, True),
    ]
