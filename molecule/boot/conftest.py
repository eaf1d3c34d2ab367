"""What the plays of this scenario kept: ``before`` the role, as ``planned`` right after it, and ``now``, after the last boot."""
from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import boot  # noqa: E402  pylint: disable=wrong-import-position

FOLDER = pathlib.Path(os.environ.get("MOLECULE_EPHEMERAL_DIRECTORY", "."))


def _kept(name):
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def plan():
    return boot.Plan.read(FOLDER)


@pytest.fixture(scope="session")
def planted():
    return boot.Planted.read()


@pytest.fixture(scope="session")
def before():
    return _kept("before")


@pytest.fixture(scope="session")
def now():
    return _kept("now")
