"""The sandbox in a process of its own, for tests that come over the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kymatui.sandbox.process import RunningSandbox, start_sandbox

VIEWER_TOKEN = "viewer-token"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[RunningSandbox]:
    """An empty cluster with its controllers, started once for all tests of a worker."""
    with start_sandbox(empty=True, viewer_token=VIEWER_TOKEN) as running:
        yield running
