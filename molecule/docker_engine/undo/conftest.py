"""Which of the two servers a test is for."""
from __future__ import annotations

import pytest


@pytest.fixture
def live(host):
    if not host.file("/root/somebody").exists:
        pytest.skip("for the server that had Docker")
    return host


@pytest.fixture
def bare(host):
    if host.file("/root/somebody").exists:
        pytest.skip("for the server that the role brought Docker to")
    return host
