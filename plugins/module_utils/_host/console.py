# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the command says: lines on standard output (the journal, under systemd) and on standard error."""

from __future__ import annotations

import sys


def say(text):
    """One line for whoever asked."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text):
    """One line about what went wrong."""
    sys.stderr.write("inferctl: %s\n" % text)
    sys.stderr.flush()
