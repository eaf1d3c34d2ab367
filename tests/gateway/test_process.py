# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configuration, reload, sockets and real clients."""

from __future__ import annotations

import json
import os
import stat

import openai
import pytest
from conftest import in_background, until
from fake_engine import DONE, OPENING, STREAM_HEAD, WORDS, delta, streamed
from indiaai_gateway.places import ConfigError
from indiaai_gateway.settings import Settings, load

MINIMAL = {"listen": {"unix_socket": "/tmp/x"}, "models": []}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"listen": {}}, "unix_socket or host"),
        ({"listen": {"host": "127.0.0.1"}}, "go together"),
        ({"unknown": 1}, "unknown"),
        ({"models": [{"name": "a", "url": "ftp://x"}]}, "must begin with http"),
        ({"models": [{"name": "a", "url": "http://x"}, {"name": "b", "aliases": ["a"], "url": "http://x"}]}, "two models answer to the name 'a'"),
        ({"models": [{"name": "a", "url": "http://x", "key_file": "/nonexistent"}]}, "key_file /nonexistent"),
        ({"timeouts": {"idle_seconds": 0}}, "timeouts.idle_seconds"),
        ({"schema_version": 2}, "schema_version"),
        ({"trusted_proxies": ["10.0.0.0/33"]}, "trusted_proxies"),
    ],
)
def test_wrong_configuration_is_named(tmp_path, change, words):
    path = tmp_path / "gateway.json"
    path.write_text(json.dumps({**MINIMAL, **change}))
    with pytest.raises(ConfigError, match=words):
        load(path)


def test_configuration_that_cannot_be_read(tmp_path):
    for text in ("", "{", "[]"):
        (tmp_path / "gateway.json").write_text(text)
        with pytest.raises(ConfigError):
            load(tmp_path / "gateway.json")
    with pytest.raises(ConfigError, match="No such file"):
        load(tmp_path / "none.json")


def test_the_plans_gateway_section_is_a_valid_model_list():
    model = {"name": "demo", "aliases": [], "url": "http://127.0.0.1:30000", "upstream_model": "demo", "key_file": None}
    assert Settings.model_validate({**MINIMAL, "models": [model]}).models[0].name == "demo"


def test_serve_refuses_a_wrong_file_with_status_2(own_gateway):
    gateway = own_gateway()
    gateway.stop()
    gateway.config_path.write_text("{")
    done = gateway.cli("serve", check=False)
    assert done.returncode == 2 and "not JSON" in done.stderr
    assert gateway.cli("check", check=False).returncode == 2


def test_reload_takes_a_good_file_and_keeps_the_last_good_one(own_gateway):
    gateway = own_gateway()
    gateway.key()
    before = gateway.ready()["config"]
    gateway.config["models"].append(gateway.model("late"))
    gateway.write_config()
    done = gateway.cli("reload", "--pid", str(gateway.process.pid))
    until(lambda: gateway.ready()["config"] == json.loads(done.stdout)["digest"] != before, 3)
    assert gateway.chat(model="late").status == 200
    digest = gateway.ready()["config"]
    gateway.config_path.write_text("{ broken")
    assert gateway.cli("reload", "--pid", str(gateway.process.pid), check=False).returncode == 2
    gateway.signal(1)
    until(lambda: any("rejected" in line.get("event", "") for line in gateway.log()), 3)
    assert gateway.ready()["config"] == digest and gateway.chat(model="late").status == 200
    gateway.config["models"].pop()
    gateway.write_config()
    gateway.signal(1)
    until(lambda: gateway.chat(model="late").status == 404, 3)


def test_reload_does_not_touch_running_streams(own_gateway, engine):
    gateway = own_gateway()
    gateway.key()
    engine.use(streamed([delta("x")] * 10 + [DONE], pause=0.1))
    results = []
    thread = in_background(lambda: results.append(gateway.chat(stream=True)))
    until(lambda: gateway.ready()["in_flight"] == 1, 3)
    gateway.config["models"] = [gateway.model("demo", max_concurrent=1)]
    gateway.write_config()
    gateway.signal(1)
    until(lambda: gateway.chat().status == 503, 3)  # the gauge was carried over
    thread.join(5)
    assert results[0].body == delta("x") * 10 + DONE
    until(lambda: gateway.ready()["in_flight"] == 0, 2)


def test_socket_mode_and_a_stale_socket(own_gateway):
    gateway = own_gateway()
    assert stat.S_IMODE(os.stat(gateway.socket).st_mode) == 0o660
    gateway.kill()
    assert os.path.exists(gateway.socket)
    gateway.start()
    assert gateway.request("GET", "/health", key=None).status == 200


# --- openai-python, unchanged ---


@pytest.fixture
def client(gateway):
    made = openai.OpenAI(base_url=f"http://127.0.0.1:{gateway.port}/v1", api_key=gateway.key(), max_retries=0, timeout=10)
    yield made
    made.close()


MESSAGES = [{"role": "user", "content": "hi"}]


def test_openai_chat_and_models(client):
    assert client.chat.completions.create(model="demo", messages=MESSAGES).usage.completion_tokens == 6
    assert "demo" in [item.id for item in client.models.list()]


def test_openai_stream(client):
    chunks = list(client.chat.completions.create(model="demo", messages=MESSAGES, stream=True, stream_options={"include_usage": True}))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == "".join(WORDS)
    assert chunks[-1].usage.completion_tokens == 6


def test_openai_errors(client, gateway):
    with pytest.raises(openai.AuthenticationError) as caught:
        client.with_options(api_key="sk-wrong").chat.completions.create(model="demo", messages=MESSAGES)
    assert caught.value.code == "invalid_api_key"
    with pytest.raises(openai.NotFoundError) as missing:
        client.chat.completions.create(model="nobody", messages=MESSAGES)
    assert missing.value.code == "model_not_found"


def test_S11_openai_client_raises(client, engine):
    async def dies(_request, wire):
        await wire.raw(STREAM_HEAD)
        await wire.chunk(OPENING + delta("one"))
        wire.reset()

    engine.use(dies)
    with pytest.raises(openai.APIError, match="stopped answering"):
        for _chunk in client.chat.completions.create(model="demo", messages=MESSAGES, stream=True):
            pass
