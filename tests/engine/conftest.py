"""A real server of the sandbox for all tests of a process; every test has a namespace and a group of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.places import Place
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def engine_sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox("engine", "old", "new", viewer_token="viewer") as running:
        yield running


@pytest.fixture
def place(engine_sandbox: ReadySandbox, tmp_path: Path) -> Iterator[Place]:
    found = Place(engine_sandbox.kubeconfig, f"t{os.getpid() % 1000}-{next(_NUMBERS)}", tmp_path)
    try:
        yield found
    finally:
        found.close()
