# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys: format, store, command line, and how fast a change is in force (X1, X2, E4)."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import time

import pytest
from conftest import until
from indiaai_gateway import keyformat


def status_of(gateway, secret):
    return gateway.request("GET", "/v1/models", key=secret).status


def test_X1_format_and_entropy():
    keys = {keyformat.generate() for _unused in range(200)}
    assert len(keys) == 200
    for key in keys:
        assert key.startswith("sk-ind-") and len(key) == 45 and keyformat.well_formed(key)
    # 32 characters of 62: 190 bits, above the 128 asked for.
    assert 62**keyformat.RANDOM_LENGTH > 2**128


def test_X1_checksum_catches_every_single_typing_error():
    key = keyformat.generate()
    for at in range(len(key)):
        for replacement in "0aZ-_":
            if key[at] != replacement:
                assert not keyformat.well_formed(key[:at] + replacement + key[at + 1:])
    for text in ("", "sk-ind-", key + "x", key[:-1], key.upper(), "न" * 45, "sk-ind-" + "\x00" * 38):
        assert not keyformat.well_formed(text)


def test_X1_only_the_hash_is_stored(gateway):
    secret = gateway.key()
    for file in gateway.state.iterdir():
        data = file.read_bytes()
        assert secret.encode() not in data and secret[12:30].encode() not in data
        assert stat.S_IMODE(os.stat(file).st_mode) & 0o007 == 0
    with sqlite3.connect(gateway.state / "keys.db") as database:
        assert keyformat.digest(secret) in [row[0] for row in database.execute("SELECT hash FROM keys")]


def test_E1_all_wrong_keys_get_the_same_answer(own_gateway):
    gateway = own_gateway()
    good = gateway.key()
    for name in ("expired", "disabled", "deleted"):
        gateway.key(name)
    gateway.cli("keys", "update", "expired", "--expires", "2020-01-01T00:00:00")
    gateway.cli("keys", "disable", "disabled")
    gateway.cli("keys", "delete", "deleted")
    began = time.monotonic()
    until(lambda: {status_of(gateway, gateway.keys[name]) for name in ("expired", "disabled", "deleted")} == {401}, 2.5)
    assert time.monotonic() - began < 2.5
    bodies = set()
    for secret in (gateway.keys["expired"], gateway.keys["disabled"], gateway.keys["deleted"], keyformat.generate(), "nonsense", None):
        found = gateway.chat(key=secret)
        assert found.status == 401 and found.error()["code"] == "invalid_api_key"
        bodies.add(found.body)
    assert len(bodies) == 1
    assert status_of(gateway, good) == 200
    gateway.cli("keys", "enable", "disabled")
    until(lambda: status_of(gateway, gateway.keys["disabled"]) == 200, 2.5)


def test_a_key_expires_by_the_clock_alone(own_gateway):
    gateway = own_gateway()
    made = json.loads(gateway.cli("keys", "create", "short", "--json", "--expires", "3s").stdout)
    until(lambda: status_of(gateway, made["secret"]) == 200, 2.5)
    until(lambda: status_of(gateway, made["secret"]) == 401, 5)


def test_command_line(own_gateway):
    gateway = own_gateway()
    made = json.loads(gateway.cli("keys", "create", "dept-1", "--models", "demo,other", "--json").stdout)
    assert made["models"] == ["demo", "other"] and made["secret"].startswith(made["prefix"]) and made["secret"].endswith(made["last4"])
    listed = json.loads(gateway.cli("keys", "list", "--json").stdout)
    assert [item["name"] for item in listed] == ["dept-1"]
    assert "secret" not in listed[0] and "hash" not in listed[0]
    assert made["secret"] not in gateway.cli("keys", "list").stdout
    assert gateway.cli("keys", "create", "dept-1", check=False).returncode == 4
    assert gateway.cli("keys", "create", "../x", check=False).returncode == 2
    assert gateway.cli("keys", "delete", "nobody", check=False).returncode == 3
    assert gateway.cli("keys", "update", "nobody", "--models", "x", check=False).returncode == 3
    changed = json.loads(gateway.cli("keys", "update", "dept-1", "--models", "*", "--expires", "90d", "--json").stdout)
    assert changed["models"] == ["*"] and changed["expires_at"] > time.time() * 1e6
    plain = gateway.cli("keys", "create", "dept-2").stdout.strip()
    assert keyformat.well_formed(plain)
    until(lambda: status_of(gateway, made["secret"]) == 200, 2.5)
    found = gateway.chat(key=made["secret"])
    until(lambda: gateway.usage(found.headers["x-request-id"]), 3)
    rows = json.loads(gateway.cli("usage", "--since", "5m", "--json").stdout)
    assert [row["key_id"] for row in rows] == [made["id"]]
    assert gateway.cli("usage", "--since", "2020-01-01").stdout.count("\n") == 1
    assert gateway.cli("usage", "--since", "soon", check=False).returncode == 2


def test_a_model_name_cannot_forge_a_usage_row_or_steer_a_terminal(gateway):
    forged = "\x1b[31mRED\x1b[0m\n2026-01-01T00:00:00Z\tkey_FAKE\tdemo\t200\t10+999999"
    found = gateway.chat(model=forged)
    until(lambda: gateway.usage(found.headers["x-request-id"]), 3)
    text = gateway.cli("usage", "--since", "2020-01-01").stdout
    assert "RED" in text and not any(line.split("\t")[1] == "key_FAKE" for line in text.splitlines())
    assert "\x1b" not in text


def test_X2_no_key_and_no_prompt_in_logs(own_gateway, engine):
    gateway = own_gateway()
    secret = gateway.key()
    body = {"messages": [{"role": "user", "content": "a very private prompt"}]}
    gateway.chat(body=body, headers={"X-Request-Id": secret})
    gateway.chat(stream=True, body=body)
    gateway.request("GET", f"/v1/{secret}")
    gateway.chat(model=secret)
    gateway.chat(key=keyformat.generate())
    gateway.stop()
    text = gateway.log_path.read_text()
    assert "request" in text and f"{secret[:11]}…{secret[-4:]}" in text
    for forbidden in (secret, secret[11:41], "private prompt", "engine-secret"):
        assert forbidden not in text


@pytest.mark.parametrize("damage", ["garbage", "folder"])
def test_E4_broken_key_store_is_503_not_401(own_gateway, damage):
    gateway = own_gateway()
    known = gateway.key()
    path = gateway.state / "keys.db"
    for extra in gateway.state.glob("keys.db*"):
        extra.rename(gateway.folder / extra.name)
    if damage == "garbage":
        path.write_bytes(b"this is no database" * 1000)
    else:
        path.mkdir()
    until(lambda: gateway.request("GET", "/ready", key=None).status == 503, 3)
    # A key in memory goes on working; one that cannot be looked up is not called wrong.
    assert gateway.chat(key=known).status == 200
    found = gateway.chat(key=keyformat.generate())
    assert found.status == 503 and found.error()["code"] == "auth_unavailable" and found.headers["retry-after"]
    assert gateway.chat(key="nonsense").status == 401
    path.rmdir() if damage == "folder" else path.unlink()
    for extra in gateway.folder.glob("keys.db*"):
        extra.rename(gateway.state / extra.name)
    until(lambda: gateway.request("GET", "/ready", key=None).status == 200, 3)
    assert gateway.chat(key=keyformat.generate()).status == 401 and gateway.chat(key=known).status == 200


def test_E4_store_broken_from_the_start(own_gateway):
    gateway = own_gateway()
    gateway.stop()
    (gateway.state / "keys.db").write_bytes(b"junk" * 5000)
    for extra in gateway.state.glob("keys.db-*"):
        extra.unlink()
    gateway.start()
    assert gateway.chat(key=keyformat.generate()).status == 503
