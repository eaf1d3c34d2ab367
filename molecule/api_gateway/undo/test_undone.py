"""Nothing of the gateway is left but its image in Docker."""
from __future__ import annotations


def test_container_user_and_files_are_gone(host):
    assert host.run("docker inspect inference-gateway").rc != 0
    assert not host.user("indiaai-gateway").exists and not host.group("indiaai-gateway").exists
    for path in ("/etc/indiaai-inference/gateway", "/etc/indiaai-inference/keys", "/var/lib/indiaai-inference", "/run/indiaai-inference",
                 "/etc/tmpfiles.d/indiaai-inference-gateway.conf"):
        assert not host.file(path).exists, path


def test_what_was_there_before_still_is(host):
    assert host.file("/etc/indiaai-inference/engines/demo.key").exists
    assert host.service("stub-engine").is_running
