"""An intruder between every plan and its yes: nothing that the plan did not display is touched."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.intruding import FUNCTION, Ended, Stage, asked_for, make_function, run
from tests.sandboxes.starting import told_sandbox

pytestmark = pytest.mark.xdist_group("unseen")  # one sandbox for all of them


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[Path]:
    with told_sandbox() as running:
        yield running.kubeconfig


@pytest.fixture
def stage(kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Stage:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    found = Stage(kubeconfig, tmp_path)
    found.number = abs(hash(request.node.name)) % 10**9
    return found


class _Answer:
    """A terminal on which the intruder acts before the yes is typed."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        self._act()
        return "y\n"


def answered(words: list[str], act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> Ended:
    monkeypatch.setattr(sys, "stdin", _Answer(act))
    return run(words)


def test_a_function_created_after_the_plan_is_left(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for(stage)
    words = ["delete", "serverless", "--cascade", "--no-backup", "--timeout", "20"]
    ended = answered(words, lambda: make_function(stage), monkeypatch)
    assert stage.cluster.get(FUNCTION) is not None
    assert ended.status == 2
    assert "Function default/theirs" in ended.err
