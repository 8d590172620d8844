"""A living cluster for each test."""

from __future__ import annotations

import pytest

from tests.sandbox.living import Living


@pytest.fixture
def living() -> Living:
    return Living()
