"""A real server of the sandbox for all tests of a process; every test has a namespace and a group of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.sandbox.process import RunningSandbox, start_sandbox
from tests.engine.places import Place

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def engine_sandbox() -> Iterator[RunningSandbox]:
    with start_sandbox(clusters=("engine", "old", "new"), empty=True, viewer_token="viewer") as running:
        yield running


@pytest.fixture
def place(engine_sandbox: RunningSandbox, tmp_path: Path) -> Iterator[Place]:
    found = Place(engine_sandbox.kubeconfig, f"t{os.getpid() % 1000}-{next(_NUMBERS)}", tmp_path)
    try:
        yield found
    finally:
        found.close()
