"""GPUs are set through their own library, stay so, come back at boot, and what cannot be had is refused or said."""
from __future__ import annotations

import json
import os
import subprocess


def report(host):
    return json.loads(host.file("/tmp/gpu_clocks.json").content_string)


def converge(*arguments):
    return subprocess.run(
        ["ansible-playbook", "--inventory", os.environ["MOLECULE_INVENTORY_FILE"], "--limit", "gpu", *arguments,
         os.path.join(os.environ["MOLECULE_SCENARIO_DIRECTORY"], "converge.yml")],
        capture_output=True, text=True, check=False)


def test_clocks_and_power_limit_hold_in_the_gpus(server):
    assert server.locked()
    assert [server.gpu(number, "power_limit_mw") for number in (0, 1)] == ["600000", "600000"]
    assert server.gpu(0, "mem_lock") == "3201 3201"


def test_a_memory_clock_that_cannot_be_locked_is_noted_and_fails_nothing(server):
    first, second = report(server.host)["gpus"]
    assert (first["state"], first["reason"]) == ("ok", "")
    assert second["state"] == "ok" and "skipped" in second["reason"] and server.gpu(1, "mem_lock") == ""


def test_persistence_is_on_through_the_daemon_under_the_distributions_user(server):
    """Report 10."""
    command = server.run("tr '\\0' ' ' < /proc/$(systemctl show -P MainPID nvidia-persistenced)/cmdline")
    assert "--user nvidia-persistenced" in command and "--persistence-mode" in command.split() and "--no-persistence-mode" not in command
    assert [server.gpu(number, "persistence") for number in (0, 1)] == ["1", "1"]
    assert not any("legacy" in gpu["reason"] for gpu in report(server.host)["gpus"])


def test_the_units_are_well_formed_and_docker_waits_without_needing_them(server):
    server.run("systemd-analyze verify /etc/systemd/system/gpu-init.service")
    assert server.run("systemctl is-enabled gpu-init.service") == "enabled"
    text = server.run("cat /etc/systemd/system/docker.service.d/20-indiaai-inference-gpu.conf")
    assert "Wants=gpu-init.service" in text and "After=gpu-init.service" in text and "Requires" not in text
    assert "docker.service" in server.run("systemctl show -P Before gpu-init.service")
    assert "gpu-init.service" in server.run("systemctl show -P After inference-engine@x.service")


def test_after_a_reboot_the_unit_sets_everything_again(server):
    server.reboot()
    server.run("systemctl start gpu-init.service")
    assert server.locked() and server.gpu(0, "power_limit_mw") == "600000"
    assert [server.gpu(number, "persistence") for number in (0, 1)] == ["1", "1"], "the daemon came with it"


def test_a_gpu_that_is_late_is_waited_for_inside_the_unit(server):
    """Report 34: with the unit failing and starting again, what waits for it would start too early."""
    server.reboot("late:5")
    server.run("systemctl start gpu-init.service")
    assert server.locked() and server.run("systemctl show -P NRestarts gpu-init.service") == "0"
    assert "waiting up to 30 s" in server.run("journalctl --no-pager -o cat -u gpu-init.service")
    server.run("stub-gpu-ctl set fault ''")


def test_a_missing_driver_has_its_own_exit_code_and_is_no_failure_of_docker(server):
    """Report 14."""
    server.run("stub-gpu-ctl set fault nodriver")
    try:
        done = server.host.run("inferctl gpu-init --wait 1")
        assert done.rc == 69 and "driver_missing" in done.stdout
    finally:
        server.run("stub-gpu-ctl set fault ''")


def test_a_clock_at_the_power_limit_is_no_change_and_a_lost_gpu_keeps_no_other_back(server):
    """Reports 9 and 13."""
    server.run("stub-gpu-ctl set gpu.0.fault powercap:1700")
    server.run("stub-gpu-ctl set gpu.1.fault lost")
    try:
        done = converge()
        assert done.returncode == 0 and "changed=0" in done.stdout, done.stdout
        first, second = report(server.host)["gpus"]
        assert first["state"] == "power_limited" and first["reason"].startswith("ok, power limited: SM clock 1700 MHz")
        assert second["state"] == "lost" and "GPU_IS_LOST" in done.stdout + done.stderr
    finally:
        server.run("stub-gpu-ctl set gpu.0.fault '' && stub-gpu-ctl set gpu.1.fault nolmc")


def test_what_a_gpu_does_not_support_is_refused_before_anything_is_set(server):
    before = server.run("stub-gpu-ctl get; cat /etc/indiaai-inference/gpu-clocks.json")
    done = converge("--extra-vars", '{"gpu_clocks_policy": "range", "gpu_clocks_sm_max_mhz": 1999, "test_power_limit": 900}')
    said = done.stdout + done.stderr
    assert done.returncode != 0 and "changed=0" in done.stdout
    for words in ("Nothing was set", "gpu_clocks_sm_max_mhz: found 1999", "1980", "gpu_clocks_power_limit_watts: found 900", "200 to 700"):
        assert words in said
    assert server.run("stub-gpu-ctl get; cat /etc/indiaai-inference/gpu-clocks.json") == before


def test_options_of_the_kernel_module_are_kept(server):
    assert "\noptions nvidia NVreg_EnableStreamMemOPs=1\n" in server.host.file("/etc/modprobe.d/zz-indiaai-inference-nvidia.conf").content_string


def test_a_host_without_a_gpu_is_left_alone_and_told_why(bare):
    said = report(bare)
    assert said["state"] == "no_gpu" and "PCI" in said["reason"] and not said["changed"]
    assert not bare.file("/etc/systemd/system/gpu-init.service").exists and not bare.file("/usr/local/bin/inferctl").exists
