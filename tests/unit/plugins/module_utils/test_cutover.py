# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cut-over: reading what an old engine and the kernel say, and deciding what has to be done."""

from __future__ import annotations

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _cutover

CONTAINER_ID = "4f" * 32

# /proc/net/tcp of a kernel 6.1: one listener on 127.0.0.1:8000, one established connection from it, one listener on 0.0.0.0:22
TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 41234 1 0000000000000000 100 0 0 10 0
   1: 0100007F:1F40 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 41300 1 0000000000000000 20 4 30 10 -1
   2: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 20111 1 0000000000000000 100 0 0 10 0
"""
TCP6 = """  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000000000000000000000000000:1F40 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 51234 1 0
"""


def test_who_listens():
    assert _cutover.listening_inodes(TCP, 8000) == {"41234"}
    assert _cutover.listening_inodes(TCP, 22) == {"20111"}
    assert _cutover.listening_inodes(TCP, 54321) == set()
    assert _cutover.listening_inodes(TCP6, 8000) == {"51234"}
    assert _cutover.listening_inodes("", 8000) == set()


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://127.0.0.1:8000", ("127.0.0.1", 8000, "")),
        ("http://127.0.0.1:8000/v1", ("127.0.0.1", 8000, "")),
        ("http://127.0.0.1:8000/v1/", ("127.0.0.1", 8000, "")),
        ("http://[::1]:8000/llm/v1", ("::1", 8000, "/llm")),
        ("http://localhost", ("localhost", 80, "")),
    ],
)
def test_target(url, parts):
    assert _cutover.target(url) == parts


@pytest.mark.parametrize(
    ("running", "enabled", "todo"),
    [
        (None, False, set()),
        (False, False, set()),
        (True, False, {"stop"}),
        (True, True, {"stop", "disable"}),
        # Docker starts a stopped container with the policy "always" at the next boot
        (False, True, {"disable"}),
    ],
)
def test_what_has_to_be_done(running, enabled, todo):
    assert _cutover.needs(running, enabled) == todo


def test_names():
    assert _cutover.title({"container": "old", "unit": None}) == "container old"
    assert _cutover.title({"unit": "ollama"}) == "unit ollama.service"
    assert _cutover.journal_item({"container": "old"}) == {"kind": "container", "name": "old"}
    assert _cutover.journal_item({"unit": "ollama.service"}) == {"kind": "unit", "name": "ollama.service"}


def test_probe():
    assert _cutover.probe("openai", None) == ("/v1/models", None)
    assert _cutover.probe("ollama", None) == ("/api/tags", None)
    path, body = _cutover.probe("openai", "chat")
    assert (path, body["model"], body["max_tokens"]) == ("/v1/chat/completions", "chat", 1)
    path, body = _cutover.probe("ollama", "chat")
    assert (path, body["stream"], body["options"]) == ("/api/generate", False, {"num_predict": 1})


def test_first_model():
    assert _cutover.first_model('{"object":"list","data":[{"id":"a"},{"id":"b"}]}') == "a"
    assert _cutover.first_model('{"models":[{"name":"llama3:8b"}]}') == "llama3:8b"
    for text in ("", "[]", "{}", '{"models":[]}', '{"data":[]}'):
        assert _cutover.first_model(text) is None


def test_loaded_models():
    assert _cutover.loaded_models('{"models":[{"name":"llama3:8b","model":"llama3:8b","size_vram":1}]}') == ["llama3:8b"]
    for text in ("", "{}", '{"models":null}', "[]", '{"models":[{}]}'):
        assert _cutover.loaded_models(text) == []


def test_in_group():
    version_1 = "12:pids:/docker/%s\n1:name=systemd:/docker/%s\n" % (CONTAINER_ID, CONTAINER_ID)
    version_2 = "0::/system.slice/docker-%s.scope\n" % CONTAINER_ID
    assert _cutover.in_group(version_1, CONTAINER_ID)
    assert _cutover.in_group(version_2, CONTAINER_ID)
    assert not _cutover.in_group("0::/system.slice/ssh.service\n", CONTAINER_ID)
    assert _cutover.in_group("0::/system.slice/ollama.service\n", "/system.slice/ollama.service")
    assert _cutover.in_group("0::/system.slice/ollama.service/runner\n", "/system.slice/ollama.service")
    assert not _cutover.in_group("0::/system.slice/ollama.service-other\n", "/system.slice/ollama.service")


def test_gpu_memory():
    assert _cutover.gpu_memory("123, 4000\n123, 500\n77, [N/A]\n") == {123: 4500, 77: 0}
    assert _cutover.gpu_memory("") == {}
    assert _cutover.gpu_memory("No running processes found\n") == {}


def test_resident_mib():
    assert _cutover.resident_mib("Name:\tpython3\nVmRSS:\t  1048576 kB\nRssAnon:\t 1 kB\n") == 1024
    assert _cutover.resident_mib("Name:\tkthreadd\n") == 0


def test_in_the_way():
    item = {"container": "old", "url": "http://127.0.0.1:8000"}
    assert _cutover.in_the_way(item, True, [])
    assert _cutover.in_the_way(item, False, [8000])
    assert not _cutover.in_the_way(item, False, [30000])
    assert not _cutover.in_the_way({"unit": "old"}, False, [8000])


def test_still_held():
    assert _cutover.still_held(8000, [], []) is None
    text = _cutover.still_held(8000, ["docker-proxy (pid 3)"], ["python3 (pid 9, 20 MiB)"])
    assert text == "port 8000 is still held by docker-proxy (pid 3); memory is still held by python3 (pid 9, 20 MiB)"
