"""The demo: a disposable server in a bad state, audit, site.yml, and the numbers before and after."""
from __future__ import annotations

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import old_state
from old_state import ROOT

sys.path.insert(0, str(ROOT / "tests/machines"))
from servers import packages  # noqa: E402
from servers.shell import MachineError  # noqa: E402

NAME = "demo"
PORT = 8443
STEPS = 7
state = pathlib.Path(os.environ.get("XDG_STATE_HOME", pathlib.Path.home() / ".local/state"), "indiaai-inference", NAME)
times = []


@contextlib.contextmanager
def step(text):
    """Say what happens, number it, and keep how long it took."""
    start = time.monotonic()
    print(f"\n[{len(times) + 1}/{STEPS}] {text}", flush=True)
    yield
    times.append((text, time.monotonic() - start))
    print(f"      done in {times[-1][1]:.0f} s", flush=True)


def up():
    state.mkdir(parents=True, exist_ok=True)
    with step("Prepare this machine: Docker, the server image, the engine image (minutes the first time, cached afterwards)"):
        packages.ensure("curl")
        old_state.run(sys.executable, ROOT / "tests/machines/engine_image/build.py")
        archive = subprocess.run([sys.executable, str(ROOT / "roles/api_gateway/files/build_image/build.py")], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout.strip().splitlines()[-1]
    with step("Start a disposable server and serve a model badly on it: one request at a time, no key, no TLS, default kernel"):
        container = old_state.start_server(NAME, [f"127.0.0.1:{PORT}:443"])
        old_state.serve_badly(container, old_state.make_model(state / "model"))
    inventory = old_state.write_inventory(state / "inventory", container)
    reports = state / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    environment = {"ANSIBLE_CALLBACKS_ENABLED": "indiaai.inference.benchmark_recorder", "INDIAAI_BENCHMARK_OUTPUT_DIR": str(reports)}
    with step("Audit: look, change nothing"):
        old_state.playbook(inventory, "audit", "-e", json.dumps({"host_audit_output_dir": str(reports)}), env=environment)
    with step("Write the inventory from what the audit found"):
        audit = json.loads((reports / NAME / "audit.json").read_text(encoding="utf-8"))
        old_state.write_found(inventory, audit)
        print("      inference_replaces: " + json.dumps(old_state.replaces(audit)))
    variables = {"api_gateway_image_archive": archive}
    with step("ansible-playbook playbooks/site.yml: measure, take over, measure again"):
        old_state.playbook(inventory, "site", "-e", json.dumps(variables), env=environment)
    with step("Fetch the key and the certificate"):
        key = old_state.in_container(container, "cat", f"/etc/indiaai-inference/keys/{NAME}.key", capture_output=True).stdout.strip()
        certificate = state / "server.pem"
        certificate.write_text(
            old_state.in_container(container, "cat", "/etc/indiaai-inference/tls/server.crt", capture_output=True).stdout, encoding="utf-8")
        (state / "variables.json").write_text(json.dumps(variables), encoding="utf-8")
    with step("Ask it something"):
        request = curl_line(certificate, key)
        subprocess.run(request, shell=True, check=True, stdout=subprocess.DEVNULL)
    finish(reports / NAME / "report.html", request, key)


def curl_line(certificate, key):
    body = json.dumps({"model": old_state.MODEL, "stream": True, "max_tokens": 40, "messages": [{"role": "user", "content": "Namaste"}]})
    return (f"curl -sN --fail-with-body --cacert {certificate} https://localhost:{PORT}/v1/chat/completions "
            f"-H 'Authorization: Bearer {key}' -H 'Content-Type: application/json' -d '{body}'")


def finish(report, request, key):
    total = sum(seconds for _text, seconds in times)
    print("\nWhere the time went:")
    for text, seconds in times:
        print(f"  {seconds:6.0f} s  {text}")
    print(f"  {total:6.0f} s  in all\n")
    print("\n".join(json.loads(report.with_name("report.json").read_text(encoding="utf-8"))["table"]) + "\n")
    print(f"Report  {report}\nURL     https://localhost:{PORT}/v1\nKey     {key}\nTry it:\n\n{request}\n")
    print("`make demo-down` removes the server and everything that belongs to it; images and wheels stay cached.")


def down():
    old_state.run(*old_state.machines, "down", NAME)
    shutil.rmtree(state, ignore_errors=True)
    print(f"removed: the server, its volume and {state}")


def main(action):
    try:
        {"up": up, "down": down}[action]()
    except MachineError as error:
        return f"demo: {error}"
    except subprocess.CalledProcessError as error:
        command = error.cmd if isinstance(error.cmd, str) else " ".join(map(str, error.cmd))
        return (f"\ndemo: stopped in step {len(times) + 1} of {STEPS}; the reason is above. This ended with {error.returncode}:\n  {command}\n"
                "What was made is kept for a look (tests/machines/machines.py ssh demo); `make demo` begins anew, `make demo-down` removes it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
