"""The recorded conversations with a real API server: the sandbox answers each of them alike."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sandbox.conftest import VIEWER_TOKEN
from tests.sandboxes.starting import ReadySandbox


@pytest.mark.xdist_group("replay")
def test_every_recorded_exchange_agrees(sandbox: ReadySandbox, shared: Path) -> None:
    command = [
        sys.executable,
        str(shared / "kube" / "replay.py"),
        str(sandbox.kubeconfig),
        "--viewer-token",
        VIEWER_TOKEN,
    ]
    found = subprocess.run(command, capture_output=True, text=True, timeout=110)
    assert found.returncode == 0, found.stdout + found.stderr
