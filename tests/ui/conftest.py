"""Every test has an app of its own. Pictures are drawn on one version of Python, and compared on it alone."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.content import Content
from textual.pilot import Pilot

from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.ui.driving import SIZE, Size, Walk, drawn, ready
from tests.ui.parsing import parse_once
from tests.ui.worlds import StillSession, app_on, world

DRAWN_ON = (3, 11)

SnapCompare = Callable[..., bool]
Compare = Callable[[KymatuiApp, Size, Walk], bool]
"""Whether an app displays at the end of a walk what its picture of this test displays."""


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--snapshot-update", default=False) and sys.version_info[:2] != DRAWN_ON:
        raise pytest.UsageError(f"snapshots are drawn on Python {DRAWN_ON[0]}.{DRAWN_ON[1]} only")


@pytest.fixture(autouse=True)
def _parse_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parse_once(monkeypatch)


@pytest.fixture(autouse=True)
def _no_journals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of other tests, of other runs and of the person's own kymatui are reported on no screen."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture(autouse=True)
def _no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that a test displays is parsed as markup: it may be a name of a cluster."""
    parse = Content.from_markup

    def parse_no_text(markup: str | Content, **variables: object) -> Content:
        assert not (isinstance(markup, str) and "[" in markup), f"parsed as markup: {markup}"
        return parse(markup, **variables)

    monkeypatch.setattr(Content, "from_markup", parse_no_text)


@pytest.fixture
def size() -> Size:
    """The size of the terminal that the `pilot` has."""
    return SIZE


@pytest.fixture
def app() -> KymatuiApp:
    """What the `pilot` drives."""
    return app_on(StillSession(world()))


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """The event loop of a test with a `pilot`."""
    with asyncio.Runner() as found:
        yield found


@pytest.fixture
def pilot(app: KymatuiApp, size: Size, runner: asyncio.Runner) -> Iterator[Pilot[Any]]:
    """A person at an `app` that has just started, and displays the cluster."""
    running = contextlib.AsyncExitStack()
    found: Pilot[Any] = runner.run(running.enter_async_context(app.run_test(size=size)))
    try:
        runner.run(ready(found))
        yield found
    finally:
        runner.run(running.aclose())


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs an `async def` test with a `pilot` on the loop of its app."""
    runner = pyfuncitem.funcargs.get("runner")
    if not isinstance(runner, asyncio.Runner) or not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    runner.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def compare(snap_compare: SnapCompare) -> Compare:
    """Compares pictures, and draws them with `--snapshot-update`."""

    def made(app: KymatuiApp, size: Size, walk: Walk) -> bool:
        async def walked(pilot: Pilot[Any]) -> None:
            await walk(pilot)
            await drawn(pilot)

        return snap_compare(app, terminal_size=size, run_before=walked)

    return made
