"""Both sides of a runtime on one screen: keys pressed, and the screen read."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from tests.domain.test_pairs import World
from tests.ui.driving import table, text, until
from tests.ui.fleets import StillFleet, StillRuntime, fleet_app
from tests.ui.test_fleet_screens import there


@pytest.fixture
def app() -> FleetApp:
    """An app on the fleet that stands still."""
    return fleet_app(StillFleet())


def spoiled() -> World:
    world = World()
    world.runtime_kyma["status"]["state"] = "Warning"
    return world


async def test_the_equals_sign_compares_both_sides_and_what_differs_comes_first(
    pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(StillRuntime, "pair", lambda _: spoiled().pair(), raising=False)
    app = await there(pilot)
    await pilot.press("equals_sign")
    await until(pilot, lambda: isinstance(app.screen, CompareScreen) and bool(table(app).rows))
    first = table(app).rows[0]
    assert [first.cells[name].text for name in ("verdict", "subject", "field", "control", "runtime")] == [
        "✗ not intended",
        "status",
        "state",
        "Ready",
        "Warning",
    ]
    assert text(app, "#counts").startswith("1 not intended")
    assert "who acts: lifecycle-manager" in text(app, "#reason")
    differing = len(table(app).rows)
    await pilot.press("ctrl+z")
    assert len(table(app).rows) > differing, "what is the same is there, too"
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen))


async def test_compare_by_its_name_needs_a_runtime(pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StillRuntime, "pair", lambda _: World().pair(), raising=False)
    app = await there(pilot)
    await pilot.press("colon", *"compare", "enter")
    await pilot.pause()
    assert not isinstance(app.screen, CompareScreen)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
    await pilot.press("colon", *"compare", "enter")
    await until(pilot, lambda: isinstance(app.screen, CompareScreen))
