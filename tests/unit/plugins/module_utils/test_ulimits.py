# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A default limit above what the daemon may grant keeps every container from starting: it is lowered, and said."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _ulimits
from ansible_collections.indiaai.inference.plugins.module_utils._host import ulimits

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max stack size            8388608              unlimited            bytes
Max open files            1024                 524288               files
Max locked memory         8388608              8388608              bytes
"""


def test_limits_of_a_process():
    assert ulimits.hard_limits(LIMITS) == {"cpu": -1, "stack": -1, "nofile": 524288, "memlock": 8388608}


def test_limits_of_a_unit():
    shown = "LimitNOFILE=524288\nLimitMEMLOCK=infinity\nLimitNPROC=\n"
    assert _ulimits.unit_limits(shown) == {"nofile": 524288, "memlock": -1}


def test_a_daemon_that_may_lift_limits_is_bound_by_the_kernel_only():
    process = {"limits": ulimits.hard_limits(LIMITS), "raises": True}
    assert ulimits.grantable([process], 1048576) == {"nofile": 1048576}


def test_the_lowest_of_dockerd_and_containerd_counts():
    dockerd = {"limits": {"nofile": -1, "memlock": 8388608}, "raises": False}
    containerd = {"limits": {"nofile": 65536, "memlock": -1}, "raises": False}
    assert ulimits.grantable([dockerd, containerd], 1048576) == {"nofile": 65536, "memlock": 8388608}
    assert ulimits.grantable([dockerd], None) == {"nofile": -1, "memlock": 8388608}


@pytest.mark.parametrize("status, raises", [
    ("CapEff:\t000001ffffffffff\n", True), ("CapEff:\t00000000a80425fb\n", False), ("", False)])
def test_who_may_lift_limits(status, raises):
    assert ulimits.may_raise(status) is raises


def test_wanted_limits_are_lowered_and_named():
    wanted = _ulimits.normalise({"nofile": 1048576, "memlock": {"soft": 1024, "hard": -1}, "stack": 1})
    limits, lowered = _ulimits.clamp(wanted, {"nofile": 524288, "memlock": 8388608})
    assert limits == {"nofile": {"Name": "nofile", "Hard": 524288, "Soft": 524288},
                      "memlock": {"Name": "memlock", "Hard": 8388608, "Soft": 1024},
                      "stack": {"Name": "stack", "Hard": 1, "Soft": 1}}
    assert lowered == [{"limit": "nofile", "wanted": 1048576, "granted": 524288},
                       {"limit": "memlock", "wanted": -1, "granted": 8388608}]
    assert _ulimits.clamp(limits, {"nofile": 524288, "memlock": 8388608}) == (limits, [])


@pytest.mark.parametrize("limits, words", [
    ({"files": 1}, "files is no limit"), ({"nofile": True}, "whole number"), ({"nofile": "many"}, "whole number"),
    ({"nofile": -3}, "whole number"), ({"nofile": {"soft": 2, "hard": 1}}, "above the hard limit"),
    ({"nofile": {"soft": -1, "hard": 1}}, "above the hard limit"), ({"nofile": {}}, "whole number")])
def test_what_is_no_limit_is_refused(limits, words):
    with pytest.raises(_ulimits.UlimitError, match=words):
        _ulimits.normalise(limits)
