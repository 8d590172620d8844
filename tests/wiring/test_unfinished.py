"""What was cut off is found in the journals, and offered; what still runs, or ended, is not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kymatui.engine.identities import own_identity
from kymatui.engine.journals import Journal, Mark
from kymatui.wiring.engine import journal_path
from kymatui.wiring.unfinished import cut_off

LINE = "Deployment kyma-system/keda-manager"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def dead() -> str:
    """The identity of a process of this machine that is gone."""
    words = "from kymatui.engine.identities import own_identity; print(own_identity())"
    return subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True).stdout.strip()


def write(name: str, run: str, *lines: tuple[Mark, str]) -> None:
    journal = Journal(journal_path("prod-eu", "kyma-system", name), run, lambda: 1_000.0)
    for mark, what in lines:
        journal.write(mark, what, LINE)
    journal.close()


def test_a_run_that_was_killed_in_a_step_is_found(dead: str) -> None:
    write("keda", dead, (Mark.BEGUN, "create"), (Mark.DONE, "create"), (Mark.BEGUN, "change"))
    write("nats", dead, (Mark.BEGUN, "delete"), (Mark.DONE, "delete"), (Mark.BEGUN, "let go"))
    found = {one.name: one for one in cut_off("prod-eu")}
    assert {name: one.deletion for name, one in found.items()} == {"keda": False, "nats": True}
    assert found["keda"].steps == (f"change {LINE}",)
    assert (found["keda"].namespace, found["keda"].began) == ("kyma-system", 1_000.0)
    assert cut_off("prod-us") == ()


def test_what_ended_failed_or_still_runs_is_left_alone(dead: str) -> None:
    write("done", dead, (Mark.BEGUN, "create"), (Mark.DONE, "create"))
    write("failed", dead, (Mark.BEGUN, "create"), (Mark.FAILED, "create"))
    write("running", own_identity(), (Mark.BEGUN, "create"))
    write("again", dead, (Mark.BEGUN, "create"))
    write("again", own_identity(), (Mark.BEGUN, "create"), (Mark.DONE, "create"))
    assert cut_off("prod-eu") == ()
