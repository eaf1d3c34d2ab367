"""One version of all parts is installed and stays; a reboot is asked for and not made."""
from __future__ import annotations

import json
import os


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


def test_a_fresh_driver_asks_for_a_reboot_and_nobody_rebooted(host):
    fact = json.loads(host.file("/tmp/driver.json").content_string)
    assert fact["required"] is True and "the kernel has loaded no NVIDIA driver" in fact["reason"]
    assert not host.file("/run/reboot-required").exists


MISMATCH = "driver 580.95.05 is installed, and the kernel has 580.82.07 loaded"
FOLDER = os.path.join(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"], "packages")
OLD, NEW = "loaded-580.82.07", "loaded-580.95.05"


def wish(version, **more):
    return dict({"source": "local", "version": version, "directory": FOLDER, "may_replace": True}, **more)


REFUSED = {
    "no folder": (wish("580", directory=""), "Wanted: the folder with the packages in nvidia_driver_directory"),
    "empty folder": (wish("595", directory="/nonexistent"), "there is no package (*.deb) in /nonexistent"),
    "version not there": (wish("595"), "the driver is there as 580.95.05, 580.82.07, 570.172.08"),
    "no version": (wish(""), "without a version"),
    "no such version": (wish("five"), "in quotes"),
    "another branch": (wish("570", may_replace=False), "or let the role replace the driver"),
    "another branch, never installed": ({"version": "570"}, "Wanted: a driver whose parts are in step, version 570"),
    "an older system": (wish("570", os="11"), "Wanted, to install a driver"),
    "no repository": ({"source": "vendor", "version": "580"}, "Wanted: nvidia_driver_repository"),
}


def test_mismatches_and_wrong_settings_change_nothing_and_are_told(local, attempts):
    """Report 29, the restart loop: a mismatch is a fact with its reason, and engines are not started on it."""
    before = attempts.packages()
    outcome, text, changed = attempts.run(**{
        "mismatch": {"machine": OLD}, "engines on it": {"machine": OLD, "ready": True}, "reboot under an engine": {"machine": OLD, "vars": {"reboot": True}},
        "in step": {"machine": NEW, "ready": True}, "no gpu": {"machine": "empty", "vars": wish("580")},
        **{name: {"vars": settings} for name, (settings, dummy) in REFUSED.items()}})
    assert not changed and attempts.packages() == before and not local.run("ls -d /tmp/indiaai-*").stdout
    assert outcome["mismatch"] == {"failed": False, "msg": "", "required": True, "reason": MISMATCH}
    assert outcome["engines on it"]["failed"] and "would fail again and again" in outcome["engines on it"]["msg"]
    assert outcome["reboot under an engine"]["required"] and "Not rebooted, since there run: VLLM." in text
    assert outcome["in step"] == outcome["no gpu"] == {"failed": False, "msg": "", "required": False, "reason": ""}
    assert text.count("Nothing to do for the NVIDIA driver: no NVIDIA GPU on the PCI bus.") == 1
    for name, (dummy, wanted) in REFUSED.items():
        assert outcome[name]["failed"] and wanted in " ".join(outcome[name]["msg"].split()), (name, outcome[name])


def test_installed_parts_that_differ_are_refused_with_both_versions_and_replaced_where_asked(local, attempts):
    local.run_expect([0], "dpkg --force-hold -i /opt/repository/libnvidia-compute-580_580.82.07-1_*.deb")
    try:
        outcome, dummy, changed = attempts.run(refused={})
        assert not changed and outcome["refused"]["failed"]
        message = outcome["refused"]["msg"]
        assert "different versions" in message and "580.82.07" in message and "580.95.05" in message and "nvidia_driver_replace: true" in message
        # dpkg took the hold away: without the driver being required it is at least held again.
        outcome, dummy, changed = attempts.run(tolerated={"vars": {"required": False}}, replaced={"vars": wish("580")})
        assert changed and not outcome["tolerated"]["failed"] and outcome["replaced"]["required"]
        assert version(local, "libnvidia-compute-580") == "580.95.05-1"
        assert "libnvidia-compute-580" in local.run("apt-mark showhold").stdout
    finally:
        local.run("dpkg --force-hold -i /opt/repository/libnvidia-compute-580_580.95.05-1_*.deb")


def test_a_repository_with_another_key_is_refused_before_a_change(vendor, attempts, tmp_path):
    key = tmp_path / "other.asc"
    made = vendor.run_expect([0], "export GNUPGHOME=$(mktemp -d); gpg --batch --quiet --pinentry-mode loopback --passphrase '' "
                                  "--quick-generate-key other@example.com ed25519 sign never 2>/dev/null; "
                                  "gpg --batch --armor --export other@example.com; gpgconf --kill all; rm -rf $GNUPGHOME")
    key.write_text(made.stdout, encoding="ascii")
    before = attempts.packages()
    outcome, dummy, changed = attempts.run(other={"vars": {"source": "vendor", "version": "580.95.05", "may_replace": True, "key": str(key)}})
    assert not changed and outcome["other"]["failed"] and "cannot be read" in outcome["other"]["msg"]
    assert attempts.packages() == before
    assert vendor.file("/etc/apt/keyrings/indiaai-nvidia-driver.asc").content_string.strip() != made.stdout.strip()
