"""Bring a disposable server into the state that the collection is made for, and write the inventory from what the audit found there.

Used by the demo and by the `site` scenario. The old state itself is made by before.sh, which knows nothing of the collection.
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support import servers  # noqa: E402

ENGINE_IMAGE = "indiaai-test/vllm-cpu:0.32.0"
MODEL = "chat"
OLD_PORT = 8000
OLD_READY_SECONDS = 300
machines = [sys.executable, str(ROOT / "tests/machines/machines.py")]


def run(*argv, **options):
    """Run a command that must succeed; its output goes to the terminal unless captured."""
    return subprocess.run([str(word) for word in argv], check=True, text=True, **options)


def start_server(name, publish=()):
    """A server with Docker and the engine's image, as the machine of somebody who has been serving models already."""
    subprocess.run([*machines, "down", name], check=False, stdout=subprocess.DEVNULL)
    words = [word for port in publish for word in ("--publish", port)]
    run(*machines, "up", name, "--image", "indiaai-test/server-docker:12", "--engine-store", "vllm", *words)
    return f"indiaai-{name}"


def make_model(folder):
    """The small random model, made inside the engine's image so that nothing has to be installed for it."""
    folder = pathlib.Path(folder)
    if not (folder / "config.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        maker = ROOT / "tests/machines/model"
        run("docker", "run", "--rm", "--network", "none", "--volume", f"{maker}:/maker:ro", "--volume", f"{folder}:/out",
            "--entrypoint", "python3", ENGINE_IMAGE, "/maker/make_model.py", "/out")
    return folder


def in_container(container, *argv, **options):
    return run("docker", "exec", "-i", container, *argv, **options)


def serve_badly(container, model):
    """Put the weights on the server and start the old engine; wait until it answers."""
    in_container(container, "mkdir", "-p", "/srv/models", "/root/made-by-hand")
    run("docker", "cp", f"{model}/.", f"{container}:/srv/models/{MODEL}")
    run("docker", "cp", ROOT / "tests/demo/before.sh", f"{container}:/root/made-by-hand/before.sh")
    in_container(container, "bash", "/root/made-by-hand/before.sh", ENGINE_IMAGE, f"/srv/models/{MODEL}")
    wait_for(f"http://{servers.address(container)}:{OLD_PORT}/v1/models", OLD_READY_SECONDS)


def wait_for(url, seconds):
    """Return when the address answers 200; raise TimeoutError with the last answer when it does not in time."""
    end = time.monotonic() + seconds
    last = "no answer"
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return
                last = f"status {answer.status}"
        except OSError as error:
            last = str(error)
        time.sleep(1)  # between two looks at a condition, not instead of one
    raise TimeoutError(f"{url} did not answer 200 within {seconds} s: {last}")


def write_inventory(folder, container):
    """Copy the demo's inventory and point it at the container. Returns the folder."""
    folder = pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "inventories/demo", folder)
    hosts = folder / "hosts.yml"
    hosts.write_text(hosts.read_text(encoding="utf-8").replace("indiaai-demo", container), encoding="utf-8")
    return folder


def playbook(inventory, name, *arguments, **options):
    """Run one of the collection's playbooks by path, as a user of a clone does."""
    environment = {**os.environ, **options.pop("env", {})}
    return subprocess.run(["ansible-playbook", "-i", str(inventory), str(ROOT / "playbooks" / f"{name}.yml"), *arguments],
                          cwd=ROOT, env=environment, check=options.pop("check", True), text=True, **options)


def replaces(audit):
    """What `inference_replaces` has to say about the foreign engines of an audit."""
    return [
        {key: value for key, value in (("container", engine["container"]), ("unit", engine["unit"]), ("url", engine["url"]),
                                       ("api", engine["api"]), ("model", engine["models"][0])) if value}
        for engine in audit["engines"] if not engine["managed"]
    ]


def write_found(inventory, audit):
    """Add what the audit found to the inventory, as an engineer would paste it."""
    target = pathlib.Path(inventory, "group_vars", "inference", "found.yml")
    target.parent.mkdir(exist_ok=True)
    pathlib.Path(inventory, "group_vars", "inference.yml").rename(target.with_name("models.yml"))
    target.write_text("---\n# From the audit's report.\ninference_replaces: " + json.dumps(replaces(audit)) + "\n", encoding="utf-8")


if __name__ == "__main__":  # for the `site` scenario, whose server molecule has started
    serve_badly(sys.argv[1], make_model(pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "model")))
