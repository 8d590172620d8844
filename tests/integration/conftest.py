"""An embedded API server on a socket, one for all tests of a process; each test gets a clean pair of clusters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.embedded import LOOSE, STRICT, VIEWER, Embedded
from tests.sandboxes.starting import ReadySandbox, ready_sandbox


@pytest.fixture(autouse=True)
def _own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[ReadySandbox]:
    with ready_sandbox(STRICT, LOOSE, viewer_token=VIEWER) as running:
        yield running


@pytest.fixture
def strict(sandbox: ReadySandbox, tmp_path: Path) -> Iterator[Embedded]:
    """A cluster with Kyma's own definitions."""
    with Embedded.on(sandbox, STRICT, tmp_path) as cluster:
        cluster.define_kyma()
        yield cluster


@pytest.fixture
def loose(sandbox: ReadySandbox, tmp_path: Path) -> Iterator[Embedded]:
    """A cluster whose definitions of the same kinds allow anything."""
    with Embedded.on(sandbox, LOOSE, tmp_path) as cluster:
        cluster.define_anything()
        yield cluster
