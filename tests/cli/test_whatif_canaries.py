"""The canaries of `kymatui whatif` and the campaign that their command runs, on a control plane and its runtime."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.test_whatif import Fleet
from tests.sandboxes.starting import ready_sandbox

MODULE, TODAY, NEXT = "transparent-proxy", "1.5.2", "1.6.0"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Fleet]:
    """A sandbox of its own: lifecycle-manager does not take an upgrade back."""
    with ready_sandbox("kcp", "skr", empty=False, settled=True) as running:
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("KUBECONFIG", str(running.kubeconfig))
        yield Fleet(tmp_path, capsys)


def test_the_command_of_the_canaries_runs_the_campaign(fleet: Fleet) -> None:
    path = fleet.write(fleet.with_channels(MODULE, NEXT))
    words = ("-f", path, "--module", MODULE, "--canaries")
    (edit,) = fleet.answer(*words)["edits"]
    assert (edit["channel"], edit["version"], edit["runtimes"]) == ("fast", NEXT, ["skr"])
    assert f"  {edit['command']}" in fleet.run("whatif", *words)[1].splitlines()
    program, *command = shlex.split(edit["command"])
    assert (program, fleet.reported(MODULE)) == ("kymatui", {"skr": TODAY})
    assert fleet.run(*command, "--dry-run")[0] == 0
    assert Fleet(fleet.folder, fleet.capsys).reported(MODULE) == {"skr": TODAY}
    status, out, err = fleet.run(*command, "--yes", "-o", "json")
    assert (status, json.loads(out)["counts"]) == (0, {"done": 1}), err
    assert "skr; stop on failure" in err
    assert Fleet(fleet.folder, fleet.capsys).reported(MODULE) == {"skr": NEXT}
    assert fleet.answer(*words)["canaries"] == []
    _stops_at_an_unreachable_canary(fleet)


def _stops_at_an_unreachable_canary(fleet: Fleet) -> None:
    """The runtimes of the small fleet have no server: the campaign names them and edits none."""
    path = fleet.write(fleet.with_channels("istio", "1.12.0"), name="istio.yaml")
    before = fleet.reported("istio")
    names = [name for name, version in before.items() if version == "1.11.0" and name != "skr"][:2]
    chosen = [word for name in names for word in ("--runtime", name)]
    edits = fleet.answer("-f", path, "--module", "istio", *chosen, "--canaries")["edits"]
    for edit in edits:
        _, *command = shlex.split(edit["command"])
        found = [name for option, name in pairwise(command) if option == "--runtime"]
        assert found == edit["runtimes"]
        assert command[command.index("--canaries") + 1] == str(len(found))
        status, _, err = fleet.run(*command, "--yes")
        assert (status, "cannot be changed" in err) == (2, True), err
    assert edits
    assert Fleet(fleet.folder, fleet.capsys).reported("istio") == before
