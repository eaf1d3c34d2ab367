"""The comparison of two snapshots: each kind of leftover is seen, an allowance covers one exact key, volatile keys are left out."""

from __future__ import annotations

import importlib.util
import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "machines" / "snapshot"
spec = importlib.util.spec_from_file_location("snapshot_compare", FOLDER / "compare.py")
compare = importlib.util.module_from_spec(spec)
sys.modules["snapshot_compare"] = compare
spec.loader.exec_module(compare)

BASE = {
    "file:/etc/hosts": "file 0644 root:root aaaa",
    "sysctl:net.core.rmem_max": "212992",
    "unit-file:ssh.service": "enabled",
    "container:old": "running image=x restart=no network=host",
    "port:tcp 0.0.0.0:22": "sshd",
}


def undocumented(after, allowed=()):
    volatile = compare.volatile_patterns(compare.VOLATILE.read_text(encoding="utf-8"))
    return [item[0] for item in compare.judge(BASE, after, dict.fromkeys(allowed, "why"), volatile)[0]]


@pytest.mark.parametrize(
    "planted",
    [
        {"file:/etc/planted.conf": "file 0644 root:root bbbb"},
        {"sysctl:net.core.rmem_max": "16777216"},
        {"unit-file:planted.service": "enabled"},
        {"unit:planted.service": "active running"},
        {"container:planted": "running image=y restart=always network=host"},
        {"firewall:table inet planted | tcp dport 1 drop": "present"},
        {"port:tcp 0.0.0.0:4444": "python3"},
        {"entry:/var/lib/planted": "present"},
        {"module:planted": "loaded"},
        {"package:planted": "1.0"},
    ],
)
def test_a_leftover_of_each_kind_is_seen(planted):
    assert undocumented({**BASE, **planted}) == list(planted)


def test_what_is_gone_is_seen():
    after = dict(BASE)
    del after["container:old"]
    assert undocumented(after) == ["container:old"]


def test_an_allowance_covers_one_exact_key():
    after = {**BASE, "file:/etc/nginx": "directory", "file:/etc/nginx/nginx.conf": "file"}
    assert undocumented(after, ["file:/etc/nginx"]) == ["file:/etc/nginx/nginx.conf"]


def test_volatile_keys_are_left_out():
    assert not undocumented({**BASE, "sysctl:kernel.random.uuid": "1", "entry:/run/docker.pid": "present"})


def test_an_allowance_without_a_reason_is_refused():
    with pytest.raises(compare.AllowanceError, match="list.txt:1"):
        compare.read_allowances("file:/etc/x\n", "list.txt")


def test_an_allowance_that_nothing_used_is_told():
    assert compare.judge(BASE, BASE, {"file:/etc/gone": "why"}, [])[2] == ["file:/etc/gone"]
