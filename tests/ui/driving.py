"""Driving an app as a person does: waiting for what is shown, and reading it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

from kymatui.ui.app import KymatuiApp
from kymatui.ui.fleet_app import FleetApp
from kymatui.ui.widgets.facts import Facts
from kymatui.ui.widgets.row_table import RowTable

SIZE = (120, 40)


async def ready(pilot: Pilot[Any]) -> KymatuiApp:
    """The app, once it knows something of the cluster, or why not."""
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    for _ in range(1500):
        if app.catalog is not None or app.failure is not None or _is_filled(app):
            break
        await asyncio.sleep(0.02)
    await pilot.pause()
    return app


def _is_filled(app: KymatuiApp) -> bool:
    """Whether a fleet is on the screen."""
    return isinstance(app, FleetApp) and app.fleet is not None and bool(app.fleet.rows) and bool(table(app).rows)


async def until(pilot: Pilot[Any], holds: Callable[[], bool]) -> None:
    for _ in range(1500):
        if holds():
            await pilot.pause()
            return
        await asyncio.sleep(0.02)  # a pause of the pilot asks every widget, which is work
    raise AssertionError("it never came to hold")


def table(app: KymatuiApp) -> RowTable:
    return app.screen.query_one(RowTable)


def shown(app: KymatuiApp) -> list[str]:
    return [row.key for row in table(app).rows]


def cell(app: KymatuiApp, key: str, column: str) -> str:
    return next(row for row in table(app).rows if row.key == key).cells[column].text


def text(app: KymatuiApp, selector: str) -> str:
    found = app.screen.query_one(selector)
    return found.words if isinstance(found, Facts) else str(found.render())
