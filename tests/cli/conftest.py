"""Sandboxes that tests of several files share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sandboxes.starting import ready_sandbox, told_sandbox


@pytest.fixture(scope="session")
def two_clusters() -> Iterator[Path]:
    """The kubeconfig of a control plane with a small fleet, and of the runtime that is really there."""
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        yield running.kubeconfig


@pytest.fixture(scope="session")
def installing() -> Iterator[Path]:
    """The kubeconfig of a sample world in which modules are installed, upgraded and deleted directly."""
    with told_sandbox() as running:
        yield running.kubeconfig
