"""One version of all parts is installed and stays; a reboot is asked for and not made."""
from __future__ import annotations

import pytest

LOADED = "/opt/machine/proc/driver/nvidia/version"


def version(host, name):
    return host.run(f"dpkg-query -W -f '${{Version}}' {name}").stdout


def test_the_newest_version_of_the_branch_comes_from_the_folder(local):
    for name in ("nvidia-utils-580", "nvidia-kernel-580", "libnvidia-compute-580"):
        assert version(local, name) == "580.95.05-1"
    assert not local.package("nvidia-utils-570").is_installed
    assert local.run("modinfo -k 6.8.0-50-test -F version nvidia").stdout.strip() == "580.95.05"


def test_dependencies_come_from_the_repository_in_the_wanted_version_too(vendor):
    for name in ("nvidia-open-580", "nvidia-utils-580", "nvidia-kernel-580", "libnvidia-compute-580"):
        assert version(vendor, name) == "580.82.07-1"


def test_an_upgrade_leaves_the_held_driver_alone(vendor):
    """Report 29: unattended upgrades replaced the libraries under a running kernel module."""
    offered = vendor.run("apt-cache policy nvidia-utils-580").stdout
    assert "Candidate: 580.95.05-1" in offered
    assert "Inst nvidia-utils-580" not in vendor.run_expect([0], "apt-get --simulate dist-upgrade").stdout
    vendor.run_expect([0], "apt-mark unhold nvidia-utils-580")
    try:
        assert "Inst nvidia-utils-580" in vendor.run_expect([0], "apt-get --simulate dist-upgrade").stdout
    finally:
        vendor.run_expect([0], "apt-mark hold nvidia-utils-580")
    held = vendor.run("apt-mark showhold").stdout.split()
    assert {"nvidia-open-580", "nvidia-utils-580", "nvidia-kernel-580", "libnvidia-compute-580", "nvidia-tool"} <= set(held)


def test_a_fresh_driver_asks_for_a_reboot_and_nobody_rebooted(converge):
    fact = converge.fact()
    assert fact["required"] is True and "the kernel has loaded no NVIDIA driver" in fact["reason"]
    assert not converge.host.file("/run/reboot-required").exists


@pytest.fixture
def loaded(local):
    """A kernel that has the given version loaded."""
    def load(text):
        local.run_expect([0], f"mkdir -p $(dirname {LOADED})")
        local.run_expect([0], f"echo 'NVRM version: NVIDIA UNIX x86_64 Kernel Module  {text}  Tue Sep 23 2025' > {LOADED}")
    yield load
    local.run_expect([0], f"rm -rf $(dirname {LOADED})")


def test_a_mismatch_is_a_fact_with_its_reason_and_engines_are_not_started_on_it(local, converge, loaded):
    """Report 29: engines restarted hundreds of times on a driver that could not serve them."""
    loaded("580.82.07")
    done = converge.run(driver_source="none")
    assert done.returncode == 0 and "changed=0" in done.text
    assert converge.fact() == {"required": True, "reason": "driver 580.95.05 is installed, and the kernel has 580.82.07 loaded"}
    local.run_expect([0], "mkdir -p /opt/machine/proc/70/fd; echo VLLM > /opt/machine/proc/70/comm; ln -sfn /dev/nvidia0 /opt/machine/proc/70/fd/3")
    done = converge.run(driver_source="none", driver_ready=True, nvidia_driver_reboot=True)
    local.run_expect([0], "rm -r /opt/machine/proc/70")
    assert "Not rebooted, since there run: VLLM." in done.text
    assert done.returncode != 0 and "would fail again and again" in done.text and "changed=0" in done.text


def test_in_step_asks_for_nothing(local, converge, loaded):
    loaded("580.95.05")
    assert converge.run(driver_source="none", driver_ready=True).returncode == 0
    assert converge.fact() == {"required": False, "reason": ""}


def test_a_host_without_a_gpu_has_nothing_to_do(local, converge):
    done = converge.run(driver_machine="/opt/empty")
    assert done.returncode == 0 and "changed=0" in done.text
    assert done.text.count("Nothing to do for the NVIDIA driver: no NVIDIA GPU on the PCI bus.") == 1


def test_installed_parts_that_differ_are_refused_with_both_versions(local, converge):
    local.run_expect([0], "dpkg --force-hold -i /opt/repository/libnvidia-compute-580_580.82.07-1_*.deb")
    try:
        done = converge.run(driver_source="none")
        assert done.returncode != 0 and "changed=0" in done.text
        assert "different versions" in done.text and "580.82.07" in done.text and "nvidia_driver_replace: true" in done.text
        assert converge.run(driver_source="none", nvidia_driver_required=False).returncode == 0
        done = converge.run(nvidia_driver_replace=True)
        assert done.returncode == 0
        assert version(local, "libnvidia-compute-580") == "580.95.05-1"
        assert "libnvidia-compute-580" in local.run("apt-mark showhold").stdout
    finally:
        local.run("dpkg --force-hold -i /opt/repository/libnvidia-compute-580_580.95.05-1_*.deb")


@pytest.mark.parametrize("variables, wanted", [
    ({"driver_directory": ""}, "Wanted: the folder with the packages in nvidia_driver_directory"),
    ({"driver_directory": "/nonexistent", "driver_version": "595", "nvidia_driver_replace": True}, "there is no package (*.deb) in /nonexistent"),
    ({"driver_version": "595", "nvidia_driver_replace": True}, "the driver is there as 580.95.05, 580.82.07, 570.172.08"),
    ({"driver_version": "570"}, "or let the role replace the driver"),
    ({"driver_version": "five"}, "in quotes"),
    ({"driver_version": "570", "nvidia_driver_replace": True, "__nvidia_driver_supported": {"Debian": ["99"]}}, "Install it yourself"),
])
def test_what_cannot_be_is_refused_before_a_change(local, converge, variables, wanted):
    before = converge.packages()
    done = converge.run(**variables)
    assert done.returncode != 0 and wanted in done.text and "changed=0" in done.text, done.text
    assert converge.packages() == before and not local.run("ls -d /tmp/indiaai-*").stdout


def test_a_repository_with_another_key_is_refused_before_a_change(vendor, converge, tmp_path):
    key = tmp_path / "other.asc"
    made = vendor.run_expect([0], "export GNUPGHOME=$(mktemp -d); gpg --batch --quiet --pinentry-mode loopback --passphrase '' "
                                  "--quick-generate-key other@example.com ed25519 sign never 2>/dev/null; "
                                  "gpg --batch --armor --export other@example.com; gpgconf --kill all; rm -rf $GNUPGHOME")
    key.write_text(made.stdout, encoding="ascii")
    before = converge.packages()
    done = converge.run(driver_key=str(key), driver_version="580.95.05", nvidia_driver_replace=True)
    assert done.returncode != 0 and "cannot be read" in done.text and "changed=0" in done.text, done.text
    assert converge.packages() == before
    assert vendor.file("/etc/apt/keyrings/indiaai-nvidia-driver.asc").content_string.strip() != made.stdout.strip()
