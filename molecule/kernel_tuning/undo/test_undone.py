"""The administrator's values are back."""
from __future__ import annotations


def test_values_are_as_before(host):
    for name, wanted in (("core/somaxconn", "65535"), ("ipv4/ip_local_reserved_ports", "8125"), ("ipv4/tcp_keepalive_intvl", "75")):
        assert host.file("/proc/sys/net/" + name).content_string.strip() == wanted
    assert not host.file("/etc/sysctl.d/99-zz-indiaai-inference.conf").exists
    assert host.file("/etc/sysctl.d/99-zzz-local.conf").exists
