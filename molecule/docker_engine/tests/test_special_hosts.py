"""A swarm node, and containers that lost their GPUs by a reload of systemd."""
from __future__ import annotations

import json


def test_report_21_swarm_node_is_left_without_live_restore_and_told(bare, play):
    text = bare.file("/etc/docker/daemon.json").content_string
    bare.run_expect([0], "printf %s > /etc/docker/daemon.json && systemctl reload docker && sleep 1", '{"live-restore": false}')
    bare.run_expect([0], "docker swarm init --advertise-addr 127.0.0.1")
    try:
        code, said = play("bare")
        assert code == 0 and "this host is a swarm node" in " ".join(said.split())
        assert json.loads(bare.file("/etc/docker/daemon.json").content_string)["live-restore"] is False
        bare.run_expect([0], "systemctl reset-failed docker; systemctl restart docker && docker info --format '{{.Swarm.LocalNodeState}}'")
    finally:
        bare.run("docker swarm leave --force; docker network rm docker_gwbridge")
        bare.run_expect([0], "printf %s > /etc/docker/daemon.json && systemctl reload docker", text)


def test_report_16_containers_that_lost_their_gpus_are_listed(live, play):
    run = ("docker run -d --network none --runtime nvidia -e NVIDIA_VISIBLE_DEVICES=all --name {0} "
           "test-sleep:1 /bin/sh -c 'echo \"{1}\" > /nvidia-smi.txt; exec /bin/sleep 1000'")
    try:
        live.run_expect([0], run.format("sees", "GPU 0: NVIDIA H200 (UUID: GPU-1)"))
        live.run_expect([0], run.format("lost", "Failed to initialize NVML: Unknown Error"))
        code, said = play("live", "gpu_containers.yml")
        said = " ".join(said.split())
        assert code == 0 and "have to be made anew: lost" in said and "sees" not in said.split("made anew:")[1][:20]
    finally:
        live.run("docker rm -f sees lost")
