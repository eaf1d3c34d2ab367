"""The check of the other tests can fail: without the role's file it finds every setting wrong."""
from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))
from tests.support import boot  # noqa: E402  pylint: disable=wrong-import-position


def test_each_setting_is_found_wrong(plan, planted, now):
    found = boot.deviations(plan.settings, now["settings"])
    assert set(plan.settings) - set(found) == set(planted.cannot_be_wrong)


def test_the_earlier_file_is_what_counts_then(plan, planted, now):
    wrong = {name: planted.values[name] for name in plan.settings if name not in planted.cannot_be_wrong}
    assert {name: value for name, value in wrong.items() if now["settings"][name] != value} == {}
