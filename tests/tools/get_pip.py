"""Stands in for the get-pip.py that ansible-test downloads: the pip that Python ships, then the asked-for release of it.

ansible-test fetches the original from a host that closed networks do not reach; everything else it needs is on PyPI.
"""
from __future__ import annotations

import subprocess
import sys

arguments = [argument for argument in sys.argv[1:] if argument not in ("--no-setuptools", "--no-wheel")]
subprocess.check_call([sys.executable, "-m", "ensurepip", "--default-pip"], stdout=subprocess.DEVNULL)
subprocess.check_call([sys.executable, "-m", "pip", "install", "-qq", *arguments])
