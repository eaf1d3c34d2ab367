"""Nothing of the entrance is left, but the packages."""
from __future__ import annotations


def test_nothing_listens_and_no_key_is_left(host):
    assert not host.socket("tcp://0.0.0.0:443").is_listening
    assert not host.service("nginx").is_running and not host.service("nginx").is_enabled
    assert not host.file("/etc/indiaai-inference").exists
    assert not host.file("/etc/nginx/conf.d/indiaai-inference.conf").exists
    assert host.package("nginx").is_installed
