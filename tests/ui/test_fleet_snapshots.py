"""What the screens of a fleet look like."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from kymatui.ui.screens.fleet.control_plane_screens import ReportScreen
from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen
from kymatui.ui.widgets.row_table import RowTable
from tests.domain import builders as b
from tests.ui.conftest import Compare
from tests.ui.driving import Walk, table, typing, until
from tests.ui.fleets import CHANGED, CONTROL, KYMAS, StillFleet, StillRuntime, fleet_app, two_sides

ERROR = KYMAS[2]["metadata"]["name"]
THREADED = (CompareScreen, ReportScreen, WhatIfScreen)
UNREACHABLE = Feed(FeedState.FAILED, b.NOW, f"{ERROR} did not answer within 10 s")


def _filled(app: FleetApp) -> bool:
    if isinstance(app.screen, WhatIfScreen):
        return bool(app.screen.query(RowTable)) and bool(app.screen.main_widget().rows)
    return bool(app.screen.query(RowTable)) and bool(table(app).rows)


def pressing(*keys: str) -> Walk:
    """Waits for the fleet, then presses the keys; for a runtime's catalog, too, where they lead there."""

    async def before(pilot: Pilot[Any]) -> None:
        app = pilot.app
        assert isinstance(app, FleetApp)
        await until(
            pilot, lambda: app.fleet is not None and app.shown is not None and bool(app.shown.filter_line.table)
        )
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            await until(pilot, lambda: not isinstance(app.screen, THREADED) or _filled(app))
        if app.runtime_key is not None:
            await until(pilot, lambda: app.catalog is not None)
        await typing(pilot)

    return before


SCREENS = {
    "fleet": ("j",),
    "groups": ("B",),
    "narrowed": ("1", "enter", "space", "space"),
    "matrix": ("v", "j", "right"),
    "waits": ("w", "j"),
    "recent": ("h",),
    "runtime": ("j", "enter"),
    "unreachable": ("enter",),
    "compare": ("j", "equals_sign", "j"),
    "sync": ("j", "equals_sign", "T"),
    "windows": ("colon", *"windows", "enter"),
    "whatif": ("colon", *"whatif catalog", "enter", *"jjj"),
    "whatif-runtimes": ("colon", *"whatif catalog", "enter", *"jjj", "enter"),
    "watchers": ("j", "enter", "colon", *"watchers", "enter", "j", "j", "j", "j"),
}


@pytest.fixture(autouse=True)
def _two_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StillRuntime, "pair", lambda _: two_sides(), raising=False)


@pytest.fixture(autouse=True)
def _catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_catalog(tmp_path, monkeypatch)


def put_catalog(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder with a changed catalog the working directory."""
    (folder / "catalog").mkdir()
    (folder / "catalog" / "release.yaml").write_text(CHANGED)
    monkeypatch.chdir(folder)


def source() -> StillFleet:
    found = StillFleet()
    found.answers[CONTROL, ERROR] = UNREACHABLE
    return found


@pytest.mark.parametrize("name", list(SCREENS))
def test_screen(compare: Compare, name: str) -> None:
    assert compare(fleet_app(source()), (120, 24), pressing(*SCREENS[name]))


TABLES = ("fleet", "groups", "matrix", "waits", "recent", "compare", "sync", "windows", "watchers")


@pytest.mark.parametrize("columns", [60, 80, 160, 200])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_terminals_of_other_widths(compare: Compare, name: str, columns: int) -> None:
    assert compare(fleet_app(source()), (columns, 24), pressing(*SCREENS[name]))


@pytest.mark.parametrize("columns", [60, 80, 160, 200])
@pytest.mark.parametrize("name", ["whatif", "whatif-runtimes"])
def test_a_forecast_in_terminals_of_other_widths(compare: Compare, name: str, columns: int) -> None:
    assert compare(fleet_app(source()), (columns, 24), pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["fleet", "matrix", "compare"])
def test_a_small_terminal(compare: Compare, name: str) -> None:
    assert compare(fleet_app(source()), (80, 24), pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["fleet", "matrix", "whatif"])
def test_without_colour(compare: Compare, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert compare(fleet_app(source(), ascii=True), (120, 24), pressing(*SCREENS[name]))
