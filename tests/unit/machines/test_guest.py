# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Guests under qemu: what can be told without starting one."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "machines"))

from guest import accel, hardware, image, machine, process, qmp  # noqa: E402
from servers.shell import MachineError  # noqa: E402

INTEL = "processor : 0\nflags\t\t: fpu vme vmx sse2\n"
NESTED = "processor : 0\nflags\t\t: fpu vme sse2 hypervisor\n"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return image.folder()


def words(**changes):
    return hardware.command(hardware.Hardware(**changes), "tcg", pathlib.Path("/image"), 2222)


@pytest.mark.parametrize("cpuinfo, writable, wanted", [(INTEL, True, True), (INTEL, False, False), (NESTED, True, False)])
def test_a_kvm_device_alone_does_not_make_kvm(cpuinfo, writable, wanted):
    assert accel.may_work(cpuinfo, writable) is wanted


def test_kvm_is_taken_only_where_a_kernel_boots_by_it(tmp_path, monkeypatch):
    monkeypatch.delenv(accel.VARIABLE, raising=False)
    monkeypatch.setattr(accel, "CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(accel, "DEVICE", tmp_path / "kvm")
    (tmp_path / "cpuinfo").write_text(INTEL)
    (tmp_path / "kvm").touch()
    program = tmp_path / "qemu-system-x86_64"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    for script, wanted in (("echo 'Kernel panic - not syncing'", "kvm"), ("exit 0", "tcg"), ("echo Kernel panic; exit 1", "tcg")):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        assert accel.choose(tmp_path / "vmlinuz", tmp_path / "initrd.img") == wanted


def test_a_guest_has_two_nodes_that_share_processors_and_memory():
    line = " ".join(words(cpus=4, memory_mib=3072))
    assert "node,nodeid=0,memdev=ram0,cpus=0-1" in line and "node,nodeid=1,memdev=ram1,cpus=2-3" in line
    assert line.count("size=1536M") == 2 and "-m 3072" in line


def test_power_cut_loses_what_the_guest_did_not_flush():
    line = " ".join(words())
    assert "cache=writeback" in line and "unsafe" not in line


def test_a_guest_is_reached_from_this_machine_only():
    assert [word for word in words() if "hostfwd" in word] == ["user,id=net0,hostfwd=tcp:127.0.0.1:2222-:22"]


def test_a_saved_state_is_found_by_machine_and_image_but_not_by_port():
    base = (hardware.Hardware(), "tcg", "image-1", "7.2")
    known = hardware.identity(*base)
    assert hardware.identity(*base) == known
    others = [(dataclasses.replace(base[0], memory_mib=1024), *base[1:]), (dataclasses.replace(base[0], extra_nic=True), *base[1:]),
              (base[0], "kvm", *base[2:]), (*base[:2], "image-2", "7.2"), (*base[:3], "8.0")]
    assert len({known, *(hardware.identity(*other) for other in others)}) == 6


def test_image_follows_its_scripts_and_the_key_that_opens_it(tmp_path):
    (tmp_path / "build.sh").write_text("one")
    first = image.inputs_hash("key", tmp_path)
    assert image.inputs_hash("key", tmp_path) == first != image.inputs_hash("other key", tmp_path)
    (tmp_path / "build.sh").write_text("two")
    assert image.inputs_hash("key", tmp_path) != first


def test_two_guests_never_run_at_once(cache, monkeypatch):
    monkeypatch.setattr(process, "WAIT_FOR_OTHER_SECONDS", 0)
    monkeypatch.setattr(process, "GOING_SECONDS", 0)
    with open(cache / "running.lock", "w", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        # Stands for qemu: it inherits the descriptor, and the lock lives on in it when whoever started it is gone.
        other = subprocess.Popen(["sleep", "60"], pass_fds=(held.fileno(),))
    try:
        with pytest.raises(MachineError, match="Wanted: no other guest"):
            with process.only_guest():
                pytest.fail("a second guest was allowed")
    finally:
        other.kill()
        other.wait()
    with process.only_guest():
        pass


def test_a_process_that_is_not_the_guest_is_left_alone(cache):
    folder = cache / "guests" / "old"
    folder.mkdir(parents=True)
    (folder / "pid").write_text(f"{os.getpid()}\n")  # a number that the kernel has given to somebody else meanwhile
    assert process.pid(folder) is None
    assert machine.down("old") is True and not folder.exists()


def test_unknown_guest_is_named(cache):
    with pytest.raises(MachineError, match="no guest other"):
        machine.find("other")


@pytest.mark.parametrize("name", ["", "..", "../image-1", "a/b", "/etc"])
def test_a_name_that_leads_elsewhere_removes_nothing(cache, name):
    with pytest.raises(MachineError, match="Wanted: a name"):
        machine.down(name)
    assert cache.is_dir()


def answer(folder, reply):
    """A monitor that answers one connection."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "qmp.sock"))
    server.listen(1)

    def serve():
        link, _address = server.accept()
        with link, server, link.makefile("rw", encoding="utf-8") as stream:
            for number, text in enumerate(({"QMP": {}}, {"return": {}}, {"event": "STOP"})):
                stream.write(json.dumps(text) + "\n")
                stream.flush()
                if number < 2:
                    stream.readline()
            stream.write(json.dumps(reply) + "\n")
            stream.flush()

    threading.Thread(target=serve, daemon=True).start()


@pytest.mark.parametrize("reply", [{"return": "Error: no room\r\n"}, {"error": {"desc": "no room"}}])
def test_what_the_monitor_refuses_is_an_error(tmp_path, reply):
    answer(tmp_path, reply)
    with pytest.raises(MachineError, match="no room"):
        qmp.monitor(tmp_path, "savevm x", seconds=5)


def test_an_event_between_is_no_answer(tmp_path):
    answer(tmp_path, {"return": ""})
    assert qmp.monitor(tmp_path, "savevm x", seconds=5) == ""
