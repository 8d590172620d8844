"""An intruder between every plan of the screen and its yes: nothing that the plan did not display is touched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.sessions.cluster.session_options import SessionOptions
from tests.cli.intruding import Stage
from tests.sandboxes.starting import told_sandbox
from tests.ui.driving import SIZE
from tests.ui.test_toggling import Person, app_of
from tests.ui.unseen import ScreenWalk, Watch, walk, walks

pytestmark = pytest.mark.xdist_group("unseen-screens")  # one sandbox for all of them

# `tests/cli/test_unseen.py` has every sort over the same actions; `tests/benchmarks/unseen_walk.py` has every sort
# on the screen, too.
SORTS = ("create", "replace")
CASES = [pytest.param(flow, sort, id=f"{flow.name}-{sort}") for flow, sort in walks() if sort in SORTS]


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def stage(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stage:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.chdir(tmp_path)
    found = Stage(kubeconfig, tmp_path)
    found.number = abs(hash(request.node.name)) % 10**9
    return found


@pytest.mark.parametrize(("flow", "sort"), CASES)
async def test_what_an_intruder_does_before_the_yes_is_left_as_it_is(
    flow: ScreenWalk, sort: str, stage: Stage, kubeconfig: Path
) -> None:
    watch = Watch()
    flow.prepare(stage)
    with watch.watching():
        async with app_of(SessionOptions(str(kubeconfig))).run_test(size=SIZE) as pilot:
            wrong = await walk(flow, sort, Person(pilot), stage, watch)
    assert wrong == ""
