"""What the screens of a fleet look like."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshots import Feed, FeedState
from kymatui.ui.fleet_app import FleetApp
from kymatui.ui.screens.comparing import CompareScreen
from tests.domain import builders as b
from tests.ui.driving import table, until
from tests.ui.fleets import CONTROL, KYMAS, StillFleet, StillRuntime, fleet_app, two_sides
from tests.ui.test_snapshots import SnapCompare

ERROR = KYMAS[2]["metadata"]["name"]
UNREACHABLE = Feed(FeedState.FAILED, b.NOW, f"{ERROR} did not answer within 10 s")


def pressing(*keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Waits for the fleet, then presses the keys; for a runtime's catalog, too, where they lead there."""

    async def before(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, FleetApp)
        await until(pilot, lambda: app.fleet is not None and app.shown is not None and bool(app.shown.table))
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
        if app.runtime_key is not None:
            await until(pilot, lambda: app.catalog is not None)
            await until(pilot, lambda: not isinstance(app.screen, CompareScreen) or bool(table(app).rows))
        await pilot.pause()

    return before


SCREENS = {
    "fleet": ("j",),
    "groups": ("g",),
    "narrowed": ("1", "enter", "space", "space"),
    "matrix": ("m", "j", "right"),
    "waits": ("w", "j"),
    "recent": ("h",),
    "runtime": ("j", "enter"),
    "unreachable": ("enter",),
    "compare": ("j", "d", "j"),
}


@pytest.fixture(autouse=True)
def _two_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StillRuntime, "pair", lambda _: two_sides(), raising=False)


def source() -> StillFleet:
    found = StillFleet()
    found.answers[CONTROL, ERROR] = UNREACHABLE
    return found


@pytest.mark.parametrize("name", list(SCREENS))
def test_screen(snap_compare: SnapCompare, name: str) -> None:
    assert snap_compare(fleet_app(source()), terminal_size=(120, 24), run_before=pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["fleet", "matrix", "compare"])
def test_a_small_terminal(snap_compare: SnapCompare, name: str) -> None:
    assert snap_compare(fleet_app(source()), terminal_size=(80, 24), run_before=pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["fleet", "matrix"])
def test_without_colour(snap_compare: SnapCompare, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(fleet_app(source(), ascii=True), terminal_size=(120, 24), run_before=pressing(*SCREENS[name]))
