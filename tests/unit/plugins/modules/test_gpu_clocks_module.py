# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The modules around GPUs: what they write, in which order, and what they report."""

from __future__ import annotations

import json

import pytest

from ansible_collections.indiaai.inference.plugins.module_utils import _persistenced
from ansible_collections.indiaai.inference.plugins.module_utils._host import gpu_init, gpu_policy, gpu_units, nvml
from ansible_collections.indiaai.inference.plugins.modules import gpu_clocks, gpu_driver_options, gpu_persistence
from ansible_collections.indiaai.inference.tests.unit.plugins.module_utils._host import gpus


class Ended(Exception):
    """exit_json or fail_json."""

    def __init__(self, failed, result):
        super().__init__(result.get("msg", ""))
        self.failed, self.result = failed, result


class World:
    """A folder that stands for the host, its GPUs, and what was done in which order."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.order, self.warnings, self.patch = folder, [], [], monkeypatch
        self.library = gpus.Library([gpus.Gpu(0)])
        self.on_bus = 1
        world = self

        class Journal:
            def record(self, role, items, dry=False):
                world.order.append("note" if not dry else "dry note")

        class System:
            def systemctl(self, *arguments):
                world.order.append("systemctl " + " ".join(arguments))

        real = gpu_units.files
        for where, name, value in (
            (gpu_clocks.paths, "GPU_SETTINGS", str(folder / "etc/gpu-clocks.json")), (gpu_clocks.journal, "Journal", Journal),
            (gpu_clocks.gpu_clocks.load_settings, "__defaults__", (str(folder / "etc/gpu-clocks.json"),)),
            (gpu_clocks.system, "System", System), (gpu_clocks.gpu_bus, "count", lambda: self.on_bus),
            (gpu_clocks.gpu_record.Record.__init__, "__defaults__", (str(folder / "run/gpu-clocks.json"), "boot")),
            (gpu_clocks.gpu_units, "files", lambda settings: {str(folder) + path: text for path, text in real(settings).items()}),
            (gpu_clocks.nvml, "open_within", lambda seconds: self.library()),
        ):
            monkeypatch.setattr(where, name, value)
        write = gpu_clocks.atomic.write
        monkeypatch.setattr(gpu_clocks.atomic, "write", lambda path, *rest: (self.order.append("write"), write(path, *rest)))

    def run(self, module=gpu_clocks, check=False, **params):
        world = self
        self.order.clear()

        class AnsibleModule:
            check_mode = check

            def __init__(self, argument_spec, **unused):
                defaults = {name: option.get("default") for name, option in argument_spec.items()}
                self.params = dict(defaults, **params)

            def fail_json(self, **result):
                raise Ended(True, result)

            def exit_json(self, **result):
                raise Ended(False, result)

            def warn(self, text):
                world.warnings.append(text)

        self.patch.setattr(module, "AnsibleModule", AnsibleModule)
        with pytest.raises(Ended) as ended:
            module.main()
        self.failed = ended.value.failed
        return ended.value.result

    def files(self):
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())


@pytest.fixture
def world(tmp_path, monkeypatch):
    return World(tmp_path, monkeypatch)


def test_what_is_there_is_noted_before_anything_is_written_or_set(world):
    assert world.run(at_boot=True, undo_role="gpu_clocks", policy="lock_max")["changed"]
    assert world.order[0] == "note" and world.order.index("write") > 0 and "systemctl daemon-reload" in world.order
    assert json.loads((world.folder / "etc/gpu-clocks.json").read_text(encoding="utf-8"))["expected_gpus"] == 1
    assert not world.run(at_boot=True, undo_role="gpu_clocks", policy="lock_max")["changed"]
    assert set(world.order) == {"note"}


def test_a_preview_writes_and_sets_nothing(world):
    assert world.run(check=True, at_boot=True, undo_role="gpu_clocks", policy="lock_max")["changed"]
    assert world.files() == [] and not world.library.gpus[0].calls and set(world.order) == {"dry note"}


def test_without_a_gpu_nothing_is_written_and_the_reason_is_said(world):
    world.library.error, world.on_bus = nvml.LIBRARY_NOT_FOUND, 0
    result = world.run(at_boot=True)
    assert (result["state"], result["changed"], world.files()) == ("no_gpu", False, []) and not world.failed
    assert world.run(at_boot=True, required=True)["state"] == "no_gpu" and world.failed


def test_without_a_driver_the_boot_is_prepared_and_what_was_expected_before_stays(world):
    """Report 14: the driver that is missing now may be there at the next boot."""
    world.run(at_boot=True, policy="lock_max")
    world.library.error = nvml.DRIVER_NOT_LOADED
    assert world.run(at_boot=True, policy="none")["state"] == "driver_missing"
    kept = json.loads((world.folder / "etc/gpu-clocks.json").read_text(encoding="utf-8"))
    assert (kept["expected_gpus"], kept["policy"]) == (1, "none")


def test_a_refusal_of_the_driver_fails_with_what_the_others_came_to(world):
    world.library.gpus.append(gpus.Gpu(1))
    world.library.gpus[0].refuse["lock_sm"] = nvml.NO_PERMISSION
    result = world.run(policy="lock_max")
    assert world.failed and "needs root" in result["msg"] and [gpu["state"] for gpu in result["gpus"]] == ["failed", "applied"]


def test_an_alarm_is_a_warning(world):
    world.library.gpus[0].reasons = gpu_policy.HW_POWER_BRAKE
    world.run()
    assert not world.failed and "power brake" in world.warnings[0]


def test_the_daemons_drop_in_is_built_on_everybody_elses(tmp_path, monkeypatch):
    unit, admin, ours = tmp_path / "unit", tmp_path / "admin.conf", tmp_path / "ours.conf"
    unit.write_text("[Service]\nExecStart=/usr/bin/nvidia-persistenced --user a --no-persistence-mode\n")
    admin.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/nvidia-persistenced --user b --no-persistence-mode\n")
    ours.write_text("[Service]\nExecStart=\nExecStart=/usr/bin/wrong\n")
    monkeypatch.setattr(gpu_persistence, "PATH", str(ours))
    found = {"FragmentPath": str(unit), "DropInPaths": "%s %s" % (admin, ours)}
    assert _persistenced.command(gpu_persistence.foreign(found)).split()[1:3] == ["--user", "b"]
    assert gpu_persistence.UNIT == gpu_init.DAEMON


def test_options_of_the_kernel_module_against_the_loaded_one(world, tmp_path, monkeypatch):
    (tmp_path / "params").write_text("EnableStreamMemOPs: 0\n")
    monkeypatch.setattr(gpu_driver_options, "_PARAMS", str(tmp_path / "params"))
    monkeypatch.setattr(gpu_driver_options, "renew_initramfs", lambda module: world.order.append("initramfs"))
    path = str(tmp_path / "modprobe.d" / "x.conf")
    wanted = {"NVreg_EnableStreamMemOPs": 1}
    first = world.run(gpu_driver_options, options=wanted, path=path)
    assert first["changed"] and first["reboot_required"] and "initramfs" in world.order
    second = world.run(gpu_driver_options, options=wanted, path=path)
    assert not second["changed"] and second["reboot_required"] and not world.order, "until the reboot"
    (tmp_path / "params").write_text("EnableStreamMemOPs: 1\n")
    assert not world.run(gpu_driver_options, options=wanted, path=path)["reboot_required"]
    assert world.run(gpu_driver_options, options={}, path=path)["reboot_reasons"] == ["NVreg_EnableStreamMemOPs is not set any more, and holds until then"]
    assert not (tmp_path / "modprobe.d" / "x.conf").exists()
