# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host says about its driver, on folders that stand for sysfs, procfs and the linker's."""

from __future__ import annotations

import os

import pytest

from ansible_collections.indiaai.inference.plugins.modules import nvidia_driver_info

OLD, NEW = "580.82.07", "580.95.05"
KERNEL = "6.8.0-50-generic"


class Stop(Exception):
    """The module ended."""


class Host:
    """A root folder and what programs say."""

    def __init__(self, root):
        self.root = root
        self.modules, self.packages, self.units, self.calls = {}, "", "", []
        self.write("proc/sys/kernel/osrelease", KERNEL + "\n")
        self.write("proc/stat", "cpu 1\nbtime 1000000000\n")
        (root / "sys/bus/pci/devices").mkdir(parents=True)

    def write(self, path, text):
        path = self.root / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def device(self, address, vendor, pci_class):
        self.write("sys/bus/pci/devices/%s/vendor" % address, vendor + "\n")
        self.write("sys/bus/pci/devices/%s/class" % address, pci_class + "\n")

    def gpu(self):
        self.device("0000:18:00.0", "0x10de", "0x030200")
        self.device("0000:00:02.0", "0x1a03", "0x030000")  # a server's own screen

    def load(self, version):
        self.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  Tue\nGCC version: gcc 12.3.0\n" % version)

    def install(self, version, kernel=KERNEL):
        for name in ("libnvidia-ml.so", "libcuda.so"):
            self.write("lib/%s.%s" % (name, version), "library")
            link = self.root / ("lib/%s.1" % name)
            link.unlink(missing_ok=True)
            link.symlink_to("%s.%s" % (name, version))
        self.module(version, kernel)

    def module(self, version, kernel=KERNEL):
        self.write("modules/%s/modules.dep" % kernel, "")
        self.write("modules/%s/nvidia.ko" % kernel, version)
        self.modules[kernel] = version

    def process(self, pid, name, *files):
        self.write("proc/%d/comm" % pid, name + "\n")
        (self.root / ("proc/%d/fd" % pid)).mkdir()
        for number, target in enumerate(files):
            os.symlink(target, self.root / ("proc/%d/fd/%d" % (pid, number)))

    def run_command(self, argv, **dummy):
        self.calls.append(os.path.basename(argv[0]))
        if argv[0].endswith("modinfo"):
            version = self.modules.get(argv[2]) if argv[3] == "nvidia" else None
            if version is None:
                return 1, "", "modinfo: ERROR: Module %s not found." % argv[3]
            return 0, "filename:       %s/modules/%s/nvidia.ko\nversion:        %s\n" % (self.root, argv[2], version), ""
        if argv[0].endswith("dpkg-query"):
            return (0 if self.packages else 1), self.packages, ""
        assert argv[0].endswith("systemctl")
        return 0, self.units, ""


@pytest.fixture(name="host")
def host_fixture(tmp_path, monkeypatch):
    monkeypatch.setattr(nvidia_driver_info, "KERNELS", str(tmp_path / "modules"))
    monkeypatch.setattr(nvidia_driver_info, "LIBRARY_FOLDERS", (str(tmp_path / "nowhere"), str(tmp_path / "lib")))
    return Host(tmp_path)


@pytest.fixture(name="look")
def look_fixture(host, monkeypatch):
    """Run the module -> its result."""
    def look(wanted=None):
        results = []

        class Module:
            params = {"wanted": wanted, "sysfs_root": str(host.root / "sys"), "procfs_root": str(host.root / "proc")}
            run_command = staticmethod(host.run_command)

            def __init__(self, **dummy):
                pass

            def get_bin_path(self, name, opt_dirs=None):
                return "/usr/sbin/" + name

            def exit_json(self, **result):
                results.append(result)
                raise Stop

        monkeypatch.setattr(nvidia_driver_info, "AnsibleModule", Module)
        with pytest.raises(Stop):
            nvidia_driver_info.main()
        return results[0]

    return look


def test_a_host_without_a_gpu_is_asked_for_nothing_more(host, look):
    host.device("0000:00:02.0", "0x1a03", "0x030000")
    host.device("0000:19:00.1", "0x10de", "0x040300")  # sound of a card
    result = look("580")
    assert result["state"] == "no_gpu" and result["satisfied"] and result["gpus"] == 0 and host.calls == []


def test_a_gpu_without_driver(host, look):
    host.gpu()
    result = look()
    assert result["state"] == "driver_missing" and result["gpus"] == 1 and result["version"] is None


def test_a_driver_in_step(host, look):
    host.gpu()
    host.install(NEW)
    host.load(NEW)
    result = look("580")
    assert (result["state"], result["loaded"], result["module"]) == ("ok", NEW, NEW)
    assert result["libraries"] == {"libnvidia-ml.so.1": NEW, "libcuda.so.1": NEW} and result["engines"] == []


def test_an_upgrade_since_the_boot_asks_for_a_reboot_and_names_who_would_end(host, look):
    host.gpu()
    host.load(OLD)
    host.install(NEW)
    host.units = "inference-engine@demo.service loaded active running Engine\n"
    host.process(70, "VLLM::EngineCor", "/dev/null", "/dev/nvidia0")
    host.process(71, "nvidia-persiste", "/dev/nvidia0")
    host.process(72, "monitor", "/dev/nvidiactl")
    result = look()
    assert result["reboot_required"] and result["reason"] == "driver 580.95.05 is installed, and the kernel has 580.82.07 loaded"
    assert result["engines"] == ["inference-engine@demo.service"]
    assert result["holders"] == [{"pid": 70, "name": "VLLM::EngineCor"}]


def test_an_upgrade_before_the_boot_is_no_case_for_another(host, look):
    host.gpu()
    host.install(NEW)
    host.write("proc/stat", "btime 9999999999\n")
    result = look()
    assert result["state"] == "not_loaded" and not result["reboot_required"]


def test_ready_made_modules_of_the_next_kernel(host, look):
    host.gpu()
    host.load(OLD)
    host.install(NEW, "6.8.0-51-generic")
    host.module(OLD)
    result = look()
    assert result["state"] == "reboot_required" and result["next_kernel"] == "6.8.0-51-generic"
    assert (result["module"], result["module_next"]) == (OLD, NEW)


@pytest.mark.parametrize("package, state", [
    ("nvidia-fabricmanager-580 installed 580.95.05-1\n", "ok"),
    ("nvidia-fabricmanager-dev-580 installed 580.82.07-1\nnvidia-fabricmanager installed 580.95.05-0ubuntu1\n", "ok"),
    ("nvidia-fabricmanager-580 installed 580.82.07-1\n", "out_of_step"),
    ("nvidia-fabricmanager-580 config-files 580.82.07-1\n", "incomplete"),
    ("", "incomplete"),
])
def test_the_fabric_manager_counts_where_a_switch_is_on_the_bus(host, look, package, state):
    host.gpu()
    host.device("0000:07:00.0", "0x10de", "0x068000")
    host.install(NEW)
    host.load(NEW)
    host.packages = package
    result = look()
    assert result["state"] == state and result["nvswitches"] == 1
