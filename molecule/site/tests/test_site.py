"""What site.yml leaves behind, seen by a user, on a real engine."""
from __future__ import annotations

import html
import pathlib
import statistics
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import site as support  # noqa: E402
from tests.support import streams  # noqa: E402


@pytest.fixture(scope="module")
def site(host, tmp_path_factory):
    return support.Site(host, tmp_path_factory.mktemp("site"))


def chat(max_tokens, **more):
    return {"model": "chat", "stream": True, "temperature": 0, "ignore_eos": True, "max_tokens": max_tokens,
            "messages": [{"role": "user", "content": "Namaste, tell me about rivers."}], **more}


DIRECT = """
import sys, urllib.request
request = urllib.request.Request(sys.argv[1], sys.stdin.buffer.read(), {"Authorization": "Bearer " + sys.argv[2], "Content-Type": "application/json"})
sys.stdout.write(urllib.request.urlopen(request, timeout=900).read().decode())
"""


def ask(site, body, key="", **options):
    return streams.post(site.address, 443, body, key=key or site.key, tls=site.certificate, **options)


def test_streams_token_by_token_over_https(site):
    answer = ask(site, chat(400))
    assert answer.status == 200 and answer.done
    times = [seconds for seconds, _text in answer.events]
    spread = times[-1] - times[0]
    assert len(set(round(value, 3) for value in times)) > 50, "the events came in a few lumps"
    assert statistics.median(b - a for a, b in zip(times, times[1:])) < spread / 10


def test_wrong_key_gets_401_in_the_form_of_openai(site):
    answer = ask(site, chat(5), key="sk-ind-wrong")
    assert answer.status == 401
    assert b'"code":"invalid_api_key"' in answer.raw.replace(b" ", b"")


def test_usage_row_holds_the_tokens_of_the_engine(site):
    answer = ask(site, chat(37, stream_options={"include_usage": True}))
    row = site.usage_rows()[-1]
    assert answer.usage["completion_tokens"] == 37
    assert (row["prompt_tokens"], row["completion_tokens"]) == (answer.usage["prompt_tokens"], 37)


def test_both_records_are_in_the_report(site):
    folder = pathlib.Path(support.os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "reports", site.name)
    text = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert '"label": "before"' in text and '"label": "after"' in text and "CPU, small random model" in text


def test_a_long_stream_outlives_docker_inferctl_and_a_second_run(site):
    """Same text as straight from the engine, every token counted, while everything around the engine is restarted."""
    body = chat(20000, stream_options={"include_usage": True})
    started, before = site.engine_started(), site.run("cat", site.plan["paths"]["benchmarks"] + "/before.json")
    beside = [streams.Background(site.address, 443, chat(40000), key=site.key, tls=site.certificate, timeout=600) for _unused in range(4)]
    stream = streams.Background(site.address, 443, body, key=site.key, tls=site.certificate, timeout=900)
    direct = straight_to_the_engine(site, body)
    assert stream.started()
    site.run("systemctl", "restart", "docker")
    site.run("systemctl", "kill", "--signal", "KILL", "--kill-who", "main", site.engine["unit"])
    status, output = support.playbook("site")
    assert stream.is_alive(), f"the stream ended before the second run did; make it longer\n{output[-2000:]}"
    for other in beside:  # they were there to slow it down
        other.leave()
    assert status == 0, output[-6000:]
    assert support.changed(output) == 0, support.changed_tasks(output)
    answer = stream.result(900)
    assert answer.status == 200 and answer.done
    assert answer.usage["completion_tokens"] == 20000
    assert site.engine_started() == started
    assert site.run("cat", site.plan["paths"]["benchmarks"] + "/before.json") == before, "a second baseline was made"
    text, _errors = direct.communicate(timeout=600)
    assert support.json.loads(text)["choices"][0]["message"]["content"] == answer.text


def straight_to_the_engine(site, body):
    """The same request without a stream, nginx or gateway, started in the server itself."""
    key = site.run("cat", f"{site.plan['paths']['engines']}/{site.engine['slug']}.key").strip()
    body = {name: value for name, value in body.items() if name != "stream_options"}
    command = ["docker", "exec", "-i", site.name, "python3", "-c", DIRECT, f"{site.engine['url']}/v1/chat/completions", key]
    process = support.subprocess.Popen(command, stdin=support.subprocess.PIPE, stdout=support.subprocess.PIPE, text=True)
    process.stdin.write(support.json.dumps({**body, "stream": False}))
    process.stdin.close()
    process.stdin = None  # communicate() would flush it again
    return process
