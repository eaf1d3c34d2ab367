# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The host program as host_program installs it: the package is whole, and it runs on its own."""

from __future__ import annotations

import os
import subprocess
import sys

from ansible_collections.indiaai.inference.plugins.module_utils import _host
from ansible_collections.indiaai.inference.plugins.module_utils._host import journal, paths, units, version
from ansible_collections.indiaai.inference.plugins.modules import host_program

FOLDER = os.path.dirname(_host.__file__)


def test_every_file_of_the_package_travels():
    assert sorted(host_program.bundled()) == sorted(name for name in os.listdir(FOLDER) if name.endswith(".py"))


def test_what_travels_is_what_is_here():
    for name, data in host_program.bundled().items():
        with open(os.path.join(FOLDER, name), "rb") as handle:
            assert handle.read() == data
    assert version.digest(host_program.bundled()) == version.installed()


def test_the_installed_package_runs_without_the_collection(tmp_path):
    package = tmp_path / paths.PACKAGE
    package.mkdir()
    for name, data in host_program.bundled().items():
        (package / name).write_bytes(data)
    command = tmp_path / "inferctl"
    command.write_text(units.WRAPPER.replace(paths.LIB, str(tmp_path)))
    done = subprocess.run([sys.executable, "-I", str(command), "version"], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout == "inferctl %s (%s)\n" % (version.VERSION, version.installed())


def test_everything_that_is_installed_is_journalled_first():
    noted = {journal.describe(item) for item in host_program.journal_items()}
    assert {"file " + path for path in units.files()} <= noted
    assert {"directory " + path for path, unused, unused_keep in units.directories() if path != paths.UNDO} <= noted
    assert {"unit ai-stack.target", "unit inference-engine@.service"} <= noted


def test_every_folder_that_others_rely_on_is_made():
    made = {path for path, unused, unused_keep in units.directories()}
    files = ("plan", "cli", "gateway_socket", "lock_file")
    assert {path for name, path in paths.as_dict().items() if name not in files} <= made


def test_stale_modules_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "LIB", str(tmp_path))
    assert host_program.stale_files({}) == []
    (tmp_path / paths.PACKAGE).mkdir()
    for name in ("a.py", "old.py", "data.txt"):
        (tmp_path / paths.PACKAGE / name).write_text("")
    assert host_program.stale_files({"a.py": b""}) == [str(tmp_path / paths.PACKAGE / "old.py")]


def test_files_that_differ(tmp_path):
    path = str(tmp_path / "f")
    assert host_program.file_differs(path, 0o644, b"x")
    with open(path, "wb") as handle:
        handle.write(b"x")
    os.chmod(path, 0o644)
    root = os.getuid() == 0 and os.stat(path).st_gid == 0
    assert host_program.file_differs(path, 0o644, b"x") is not root
    assert host_program.file_differs(path, 0o600, b"x") and host_program.file_differs(path, 0o644, b"y")
    os.symlink(path, path + ".link")
    assert host_program.file_differs(path + ".link", 0o644, b"x"), "a link is not our file"
