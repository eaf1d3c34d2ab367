"""After the undo nothing of the collection is left; the comparison of snapshots has looked at files and units already."""
from __future__ import annotations


def test_no_engine_runs_and_none_is_left(host):
    assert host.run("docker ps -a --format '{{.Names}}'").stdout.split() == []
    assert host.run("systemctl list-units --all --no-legend 'inference-engine@*' ai-stack.target").stdout.strip() == ""


def test_no_folder_is_left(host):
    for parent in ("/etc", "/var/lib", "/run", "/usr/local/lib"):
        assert not host.file(parent + "/indiaai-inference").exists, parent
    assert not host.exists("inferctl")


def test_docker_still_serves(host):
    assert host.run("docker info").rc == 0
