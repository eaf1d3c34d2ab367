"""Entry of the test suite: ``run.py STAGE...`` or ``run.py --exec COMMAND...``; see ``make help``."""
from __future__ import annotations

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "machines")]

from runner import cli  # noqa: E402  pylint: disable=wrong-import-position

if __name__ == "__main__":
    sys.exit(cli.main(sys.argv[1:]))
