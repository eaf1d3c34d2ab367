"""Settings hold in the running kernel, ceilings are not lowered, and what does not hold is said."""
from __future__ import annotations

import json

import pytest

FILE = "/etc/sysctl.d/99-zz-indiaai-inference.conf"


def value(host, name):
    return " ".join(host.file("/proc/sys/" + name.replace(".", "/")).content_string.split())


@pytest.fixture
def keys(host):
    return {item["name"]: item for item in json.loads(host.file("/tmp/keys.json").content_string)}


@pytest.mark.parametrize("name, wanted", [
    ("net.ipv4.tcp_slow_start_after_idle", "0"),
    ("net.ipv4.tcp_keepalive_intvl", "30"),
    ("net.ipv4.tcp_notsent_lowat", "131072"),
    ("net.ipv4.ip_local_port_range", "10240 65535"),
    ("net.ipv4.tcp_fin_timeout", "30"),
])
def test_running_kernel_has_the_value_and_the_file_keeps_it(host, name, wanted):
    assert value(host, name) == wanted
    assert f"\n{name} = {wanted}\n" in host.file(FILE).content_string


def test_a_ceiling_that_is_higher_stays(host):
    assert value(host, "net.core.somaxconn") == "65535"
    assert int(value(host, "net.ipv4.tcp_rmem").split()[2]) >= 16777216


def test_reserved_ports_are_added_to_those_that_were_there(host):
    assert value(host, "net.ipv4.ip_local_reserved_ports") == "8125,30000-30001"


def test_a_setting_that_was_taken_out_is_left_alone(host, keys):
    assert "net.ipv4.tcp_mtu_probing" not in keys and value(host, "net.ipv4.tcp_mtu_probing") == "0"


def test_a_later_file_is_named_and_the_value_holds_until_the_next_boot(host, keys):
    item = keys["net.ipv4.tcp_keepalive_time"]
    assert item["state"] == "shadowed" and "/etc/sysctl.d/99-zzz-local.conf" in item["message"]
    assert value(host, "net.ipv4.tcp_keepalive_time") == "300"


def test_a_setting_that_no_kernel_has_is_named_and_keeps_nobody_back(host, keys):
    assert keys["net.ipv4.tcp_tw_recycle"]["state"] == "missing"
    assert sum(item["state"] == "ok" for item in keys.values()) > 10  # the last run found them applied


def test_what_belongs_to_the_machine_below_is_readonly_or_missing(host, keys):
    for name in ("net.core.rmem_max", "net.core.netdev_max_backlog"):
        assert keys[name]["state"] in ("readonly", "missing") and keys[name]["message"]


def test_a_boot_can_read_the_file(host):
    host.run_expect([0], f"sysctl -p {FILE}")


def test_forwarding_is_nobodys_business_here(host, keys):
    assert not [name for name in keys if "forward" in name]
