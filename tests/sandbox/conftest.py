"""The sandbox in a process of its own, for tests that come over the network."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sandboxes.starting import ReadySandbox, ready_sandbox

VIEWER_TOKEN = "viewer-token"


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ReadySandbox]:
    """An empty cluster with its controllers, started once for all tests of a worker."""
    with ready_sandbox(viewer_token=VIEWER_TOKEN) as running:
        yield running
