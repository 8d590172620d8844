"""Screens are drawn on one version of Python only: elsewhere pictures could differ in nothing that matters."""

from __future__ import annotations

import sys

import pytest

DRAWN_ON = (3, 11)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--snapshot-update", default=False) and sys.version_info[:2] != DRAWN_ON:
        raise pytest.UsageError(f"snapshots are drawn on Python {DRAWN_ON[0]}.{DRAWN_ON[1]} only")
