"""Screens are drawn on one version of Python only: elsewhere pictures could differ in nothing that matters."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.ui.driving import SIZE, ready
from tests.ui.pictures import Pictures, SnapCompare
from tests.ui.settling import paint_every_frame, settle_at_once
from tests.ui.stages import Stage, Stages
from tests.ui.worlds import StillSession, app_on, world

DRAWN_ON = (3, 11)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--snapshot-update", default=False) and sys.version_info[:2] != DRAWN_ON:
        raise pytest.UsageError(f"snapshots are drawn on Python {DRAWN_ON[0]}.{DRAWN_ON[1]} only")


@pytest.fixture(autouse=True)
def _settle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    settle_at_once(monkeypatch)


@pytest.fixture
def _every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    paint_every_frame(monkeypatch)


@pytest.fixture(scope="session")
def stages() -> Iterator[Stages]:
    """Apps that stay on until all tests of this process are done."""
    with contextlib.closing(Stages()) as found:
        yield found


@pytest.fixture
def stage(stages: Stages) -> Stage:
    """An app on the still world."""
    return stages.at(SIZE, lambda: app_on(StillSession(world())), "still")


@pytest.fixture
def pilot(stage: Stage) -> Pilot[Any]:
    """Somebody at the app of the `stage`, which is as if it had just been started."""
    found = stage.run(stage.begin())
    stage.run(ready(found))
    return found


@pytest.fixture
def pictures(stages: Stages, snap_compare: SnapCompare, monkeypatch: pytest.MonkeyPatch) -> Pictures:
    return Pictures(stages, snap_compare, monkeypatch)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an `async def` test with a `pilot` on the loop of its app."""
    stage = pyfuncitem.funcargs.get("stage")
    if (
        "pilot" not in pyfuncitem.funcargs
        or not isinstance(stage, Stage)
        or not inspect.iscoroutinefunction(pyfuncitem.obj)
    ):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    stage.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
