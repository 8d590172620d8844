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
from tests.engine.places import Json

ROOT = Path(__file__).resolve().parents[2]
DEATHS = ",".join(KILLS)
MOMENTS = [
    ("manifest", "install", DEATHS, "85%"),
    ("manifest", "uninstall", DEATHS, "50%"),
    ("chart", "upgrade", DEATHS, "60%"),
    ("chart", "install", "lose,hang,stall", "60%"),
    ("kept", "upgrade", DEATHS, "70%"),
    ("kept", "uninstall", DEATHS, "70%"),
]


pytestmark = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="this system cannot fork, or has no files in memory"
)


@pytest.fixture(scope="module")
def told() -> list[Json]:
    """What was told of all walks, which begin in copies of one cluster."""
    words = [word for moment in MOMENTS for word in ("+", *moment, "3")][1:]
    command = [sys.executable, "-m", "tests.engine.misfortunes", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.xdist_group("killing")
@pytest.mark.parametrize(
    ("shape", "verb", "misfortunes"), [one[:3] for one in MOMENTS], ids=[f"{one[0]}-{one[1]}" for one in MOMENTS]
)
def test_what_is_cut_off_is_finished(shape: str, verb: str, misfortunes: str, told: list[Json]) -> None:
    lines = [line for line in told if line["walk"] == f"{shape}-{verb}" and "misfortune" in line]
    assert {line["misfortune"] for line in lines} <= set(misfortunes.split(","))
    assert any(line["met"] for line in lines), lines  # of a read, what is lost and what hangs are the same
    for line in lines:
        assert line["ended_well"], line
        assert line["differing"] == {}, line
