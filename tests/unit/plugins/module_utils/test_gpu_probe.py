# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The probe: programs that answer, fail, hang or do not exist, and a PCI bus made of files."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _gpu_facts, _gpu_probe


@pytest.fixture(name="program")
def _program(tmp_path):
    def make(body):
        path = tmp_path / "nvidia-smi"
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)
        return str(path)

    return make


def test_output_and_exit_code(program):
    result = _gpu_probe.run_nvidia_smi(program('echo "args: $*"; echo no >&2; exit 9'), 10)
    assert result == {
        "found": True, "rc": 9, "stdout": "args: -q -x\n", "stderr": "no\n", "timed_out": False, "timeout": 10,
    }


def test_no_program():
    assert _gpu_probe.run_nvidia_smi(None, 10)["found"] is False


def test_a_program_that_cannot_start(tmp_path):
    result = _gpu_probe.run_nvidia_smi(str(tmp_path), 10)
    assert result["found"] is True and result["rc"] == -1 and result["stderr"]


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        with open("/proc/{0}/stat".format(pid), encoding="utf-8") as stream:
            return stream.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_a_program_that_hangs_is_killed_with_its_children(program, tmp_path):
    children = tmp_path / "pids"
    started = time.monotonic()
    result = _gpu_probe.run_nvidia_smi(
        program('trap "" TERM; echo partial; sleep 300 & echo "$! $$" > {0}; wait; sleep 300'.format(children)), 1
    )
    assert time.monotonic() - started < 10
    assert result["timed_out"] is True and result["rc"] is None
    deadline = time.monotonic() + 5
    pids = [int(word) for word in children.read_text().split()]
    while any(alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(pids) == 2 and not [pid for pid in pids if alive(pid)]


def test_pci(tmp_path):
    for name, vendor, pci_class in [
        ("0000:53:00.0", "0x10de", "0x030200"),
        ("0000:54:00.0", "0x10de", "0x030200"),
        ("0000:07:00.0", "0x10de", "0x068000"),
        ("0000:00:02.0", "0x8086", "0x030000"),
    ]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "vendor").write_text(vendor + "\n")
        (tmp_path / name / "class").write_text(pci_class + "\n")
    (tmp_path / "0000:99:00.0").mkdir()
    assert _gpu_probe.count_pci_gpus(str(tmp_path)) == 2
    assert _gpu_probe.count_pci_gpus(str(tmp_path / "missing")) is None


def test_cgroups_of_processes_that_are_gone_are_left_out(tmp_path):
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "cgroup").write_text("0::/x\n")
    assert _gpu_probe.cgroups([12, 13], str(tmp_path)) == {12: "0::/x\n"}
    assert os.getpid() in _gpu_probe.cgroups([os.getpid()])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26 06:46:07 UTC 2024\nGCC version: 12.2.0\n",
         "535.183.06"),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  590.48.01  Release Build  (root@host)\n", "590.48.01"),
        ("something else\n", ""),
    ],
)
def test_kernel_driver(tmp_path, text, version):
    path = tmp_path / "version"
    assert _gpu_probe.kernel_driver(str(path)) is None
    path.write_text(text)
    assert _gpu_probe.kernel_driver(str(path)) == version


def test_report_15_a_hanging_nvidia_smi_is_cut_at_the_timeout_and_the_state_is_unknown(program):
    started = time.monotonic()
    answer = _gpu_probe.run_nvidia_smi(program('exec sleep 300'), 1)
    result = _gpu_facts.facts(answer, 8, "590.48.01")
    assert time.monotonic() - started < 10
    assert (result["state"], result["gpus"]) == ("unknown", []) and "1 s" in result["reason"]


def test_report_15_a_hanging_nvml_is_cut_at_the_timeout_and_the_state_is_unknown(tmp_path):
    pids = tmp_path / "pids"

    def hang():
        helper = subprocess.Popen(["sleep", "300"])
        pids.write_text("{0} {1}".format(os.getpid(), helper.pid))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)

    started = time.monotonic()
    answer = _gpu_probe.run_nvml(1, hang)
    assert time.monotonic() - started < 10
    result = _gpu_facts.nvml_facts(answer, 8, "590.48.01")
    assert (result["state"], result["gpus"]) == ("unknown", []) and "1 s" in result["reason"]
    assert _gpu_facts.conclusive(answer), "nvidia-smi would hang too, and is not asked"
    deadline = time.monotonic() + 5
    left = [int(word) for word in pids.read_text().split()]
    while any(alive(pid) for pid in left) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(left) == 2 and not [pid for pid in left if alive(pid)]


def test_nvml_answers_from_a_child(capfd):
    def read():
        os.write(1, b"noise of the library")
        return {"found": True, "error": None, "document": {"pid": os.getpid(), "filler": "x" * 300000}}

    answer = _gpu_probe.run_nvml(10, read)
    assert answer["timed_out"] is False and answer["error"] is None
    assert answer["document"]["pid"] != os.getpid() and len(answer["document"]["filler"]) == 300000
    assert capfd.readouterr().out == ""
    with pytest.raises(ChildProcessError):
        os.waitpid(answer["document"]["pid"], os.WNOHANG)  # it was collected


def test_a_crash_of_the_library_is_reported_and_does_not_end_the_module():
    answer = _gpu_probe.run_nvml(10, lambda: os.kill(os.getpid(), signal.SIGKILL))
    assert answer["document"] is None and answer["error"]["code"] is None and "status" in answer["error"]["text"]
    assert not _gpu_facts.conclusive(answer)


def test_a_bug_of_the_binding_is_reported():
    answer = _gpu_probe.run_nvml(10, lambda: {}["missing"])
    assert answer["error"] == {"code": None, "text": "KeyError: 'missing'"}
