"""Settings hold in the running kernel, ceilings are not lowered, and what does not hold is said."""
from __future__ import annotations

import json

import pytest

FILE = "/etc/sysctl.d/99-zz-indiaai-inference.conf"


def value(host, name):
    return " ".join(host.file("/proc/sys/" + name.replace(".", "/")).content_string.split())


@pytest.fixture
def results(host):
    """What the role's four tasks said in the last run."""
    return json.loads(host.file("/tmp/results.json").content_string)


@pytest.fixture
def keys(results):
    return {item["name"]: item for item in results["sysctl"]["outcome"]}


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


def test_the_rest_of_the_machine_is_readonly_here_named_and_keeps_nobody_back(host, keys):
    names = [name for name in keys if name.startswith(("vm.", "kernel.", "fs."))]
    assert len(names) == 18
    for name in names:
        assert keys[name]["state"] in ("readonly", "ok", "missing") and keys[name]["value"] == keys[name]["before"]
        assert f"\n{name} = " not in host.file(FILE).content_string, "a boot must not fail on it"
    assert [name for name in names if keys[name]["state"] == "readonly"]


def test_what_the_kernel_makes_of_a_value_is_told_and_is_no_change_for_ever(host, keys):
    """The scenario's second run and its preview report no change, so the rounding does not come back."""
    item, now = keys["net.ipv4.neigh.lo.retrans_time_ms"], value(host, "net.ipv4.neigh.lo.retrans_time_ms")
    assert item["value"] == now
    if now == "1001":  # this kernel's clock ticks often enough
        assert item["state"] == "ok"
    else:
        assert item["state"] == "clamped" and now in item["message"]
        assert f"# the kernel makes {now} of it\nnet.ipv4.neigh.lo.retrans_time_ms = 1001\n" in host.file(FILE).content_string


def test_what_containers_have_is_told(results, keys):
    told = {item["scope"]: item["settings"] for item in results["sysctl"]["containers"]}
    assert "net.core.somaxconn" in told["namespace"] and "vm.swappiness" in told["global"]
    assert sorted(name for names in told.values() for name in names) == sorted(keys)


def test_huge_pages_and_governor_belong_to_the_machine_below(host, results):
    states = {item["name"]: item["state"] for item in results["sysfs"]["outcome"]}
    assert set(states) == {"transparent_hugepage", "transparent_hugepage_defrag", "governor"}
    assert set(states.values()) <= {"readonly", "ok", "missing"}
    assert not host.file(results["sysfs"]["path"]).exists, "nothing that a boot could not write"


def test_logins_have_the_limits_and_none_is_shut_out(host, results):
    limits = {item["name"]: item for item in results["limits"]["limits"]}
    wanted = limits["nofile"]["value"]
    assert host.run_expect([0], "su -l root -c 'ulimit -Hn'").stdout.strip() == str(wanted)
    locked = host.run_expect([0], "su -l root -c 'ulimit -Hl'").stdout.strip()
    assert locked == (str(limits["memlock"]["value"]) if limits["memlock"]["value"] is not None else "unlimited")
    for item in limits.values():
        assert item["state"] in ("ok", "clamped") and bool(item["message"]) == (item["state"] == "clamped")


def test_services_get_the_limits_once_systemd_reads_its_defaults_again(host, results):
    limits = {item["name"]: item for item in results["limits"]["limits"]}
    assert f":{limits['nofile']['value']}\n" in host.file("/etc/systemd/system.conf.d/99-zz-indiaai-inference.conf").content_string
    host.run_expect([0], "systemctl daemon-reexec")  # stands for a boot
    assert host.run("systemctl show --property=DefaultLimitNOFILE --value").stdout.strip() == str(limits["nofile"]["value"])
    assert host.run("systemctl show --property=DefaultLimitNOFILESoft --value").stdout.strip() == "1024", "select() breaks above"


def test_no_virtual_interface_is_steered_and_each_has_its_reason(host, results):
    found = {item["device"]: item for item in results["net"]["interfaces"]}
    assert found["lo"]["action"] == "skip" and "loopback" in found["lo"]["reason"]
    assert found["eth0"]["action"] == "skip" and "virtual" in found["eth0"]["reason"]
    assert results["net"]["persisted"] is False
    assert not host.file("/etc/systemd/system/inference-net-steering.service").exists


def test_a_boot_can_read_the_file(host):
    host.run_expect([0], f"sysctl -p {FILE}")


def test_forwarding_is_nobodys_business_here(host, keys):
    assert not [name for name in keys if "forward" in name]
