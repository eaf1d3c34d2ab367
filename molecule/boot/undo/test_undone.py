"""On a kernel of its own too: every setting of the whole kernel is as it was before the role."""
from __future__ import annotations

import re

# They change by themselves, or with the memory that a boot happens to find free, or tell which modules are loaded.
MOVING = re.compile(r"kernel\.(random\.|ns_last_pid|pty\.nr|tainted)|fs\.(dentry-state|file-nr|inode-nr|inode-state|aio-nr)|"
                    r"net\.ipv4\.(tcp|udp)_mem|net\.ipv4\.tcp_(available|allowed)_congestion_control|net\.netfilter\.nf_conntrack_count")


def test_every_setting_is_as_before(before, now):
    ours = {name: (value, now["settings"].get(name)) for name, value in before["settings"].items() if not MOVING.match(name)}
    assert {name: pair for name, pair in ours.items() if pair[0] != pair[1]} == {}


def test_huge_pages_and_steering_are_as_before(before, now):
    assert now["huge_pages"] == before["huge_pages"] and now["queues"] == before["queues"]


def test_gpus_and_what_starts_around_them_are_as_before(before, now):
    assert now["gpu"]["gpus"] == before["gpu"]["gpus"]
    assert not now["gpu"]["units"]["gpu-init.service"]["exists"]
