"""The kill test: whenever the process dies, the next run makes the cluster what it would have been.

A sample; all requests are walked through by tests/benchmarks/kill_walk.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kymatui.sandbox.process import RunningSandbox

ROOT = Path(__file__).resolve().parents[2]
MOMENTS = [
    ("manifest", "install", ["62%"]),
    ("manifest", "uninstall", ["50%"]),
    ("chart", "install", ["50%"]),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize(("shape", "verb", "moments"), MOMENTS, ids=[f"{one[0]}-{one[1]}" for one in MOMENTS])
def test_what_is_killed_is_finished_by_running_it_again(
    engine_sandbox: RunningSandbox, shape: str, verb: str, moments: list[str]
) -> None:
    words = [str(engine_sandbox.kubeconfig), shape, verb, *moments]
    command = [sys.executable, "-m", "tests.engine.killing", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
    assert done.returncode == 0, done.stderr
    _, *deaths = (json.loads(line) for line in done.stdout.splitlines())
    assert len(deaths) == 2 * len(moments), done.stdout
    for death in deaths:
        assert death["killed"], death
        assert death["ended_well"], death
        assert death["differing"] == {}, death
