"""After the undo no engine is left; the comparison of snapshots has looked at files and units already."""
from __future__ import annotations


def test_no_container_and_no_unit_is_left(host):
    assert host.run("docker ps -a --format '{{.Names}}'").stdout.split() == []
    assert host.run("systemctl list-units --all --no-legend 'inference-engine@*'").stdout.strip() == ""


def test_the_models_are_where_they_were(host):
    assert host.file("/srv/models/one/config.json").exists
