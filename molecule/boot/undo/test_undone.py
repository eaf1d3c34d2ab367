"""On a kernel of its own too: every setting of the whole kernel is as it was before the role."""
from __future__ import annotations

import re

# They change by themselves.
MOVING = re.compile(r"kernel\.(random\.|ns_last_pid|pty\.nr)|fs\.(dentry-state|file-nr|inode-nr|inode-state|aio-nr)|"
                    r"net\.netfilter\.nf_conntrack_count|kernel\.tainted")


def test_every_setting_is_as_before(before, now):
    ours = {name: (value, now["settings"].get(name)) for name, value in before["settings"].items() if not MOVING.match(name)}
    assert {name: pair for name, pair in ours.items() if pair[0] != pair[1]} == {}


def test_huge_pages_and_steering_are_as_before(before, now):
    assert now["huge_pages"] == before["huge_pages"] and now["queues"] == before["queues"]
