"""Whatever happens once at a request, the cluster becomes what it would have been, by the same run or by the next.

A sample; every request is walked through by tests/benchmarks/kill_walk.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.misfortunes import KILLS

ROOT = Path(__file__).resolve().parents[2]
DEATHS = ",".join(KILLS)
MOMENTS = [
    ("manifest", "install", DEATHS, "85%"),
    ("manifest", "uninstall", DEATHS, "50%"),
    ("chart", "upgrade", DEATHS, "60%"),
    ("chart", "install", "lose,hang,stall", "60%"),
]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="this system cannot fork, or has no files in memory")
@pytest.mark.parametrize(
    ("shape", "verb", "misfortunes", "which"), MOMENTS, ids=[f"{one[0]}-{one[1]}-{one[2][:4]}" for one in MOMENTS]
)
def test_what_is_cut_off_is_finished(shape: str, verb: str, misfortunes: str, which: str) -> None:
    command = [sys.executable, "-m", "tests.engine.misfortunes", shape, verb, misfortunes, which, "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    _, *told = (json.loads(line) for line in done.stdout.splitlines())
    assert any(line["met"] for line in told), done.stdout  # of a read, what is lost and what hangs are the same
    for line in told:
        assert line["ended_well"], line
        assert line["differing"] == {}, line
