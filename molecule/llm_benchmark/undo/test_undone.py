"""Nothing of the role is left once the records were given up."""
from __future__ import annotations


def test_no_records(host):
    assert not host.file("/var/lib/indiaai-inference/benchmarks").exists


def test_the_measured_servers_run_on(host):
    for name in ("old", "new", "gateway"):
        assert host.service(f"test-{name}").is_running
