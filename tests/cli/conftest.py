"""Two clusters for all tests of commands that need a control plane and a runtime."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.sandbox.process import start_sandbox


@pytest.fixture(scope="session")
def two_clusters() -> Iterator[Path]:
    """The kubeconfig of a control plane with a small fleet, and of the runtime that is really there."""
    with start_sandbox(clusters=("kcp", "skr"), settled=True) as running:
        yield running.kubeconfig
