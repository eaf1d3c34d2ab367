"""What the role held is let go, what the administrator held stays held."""
from __future__ import annotations


def test_only_the_administrators_hold_is_left(host):
    held = [line.split()[0] for line in host.run("dpkg --get-selections").stdout.splitlines() if line.endswith("hold")]
    assert held == ["nvidia-tool"]
    assert host.package("nvidia-utils-580").is_installed


def test_the_repository_is_gone(host):
    for path in ("/etc/apt/sources.list.d/indiaai-nvidia-driver.list", "/etc/apt/keyrings/indiaai-nvidia-driver.asc"):
        assert not host.file(path).exists
