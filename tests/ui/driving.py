"""Driving an app as a person does: waiting for what is displayed, and reading it.

A test waits for a condition that can be observed (`until`, `ready`), never for "nothing is left to do": a busy machine
looks idle from inside a process that gets no time. What is read from a widget holds once `until` returned; a picture is
taken with `drawn`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.row_table import RowTable

Size = tuple[int, int]
Walk = Callable[[Pilot[Any]], Awaitable[None]]
"""What leads from the first screen to what a test is about."""

SIZE: Size = (120, 40)
_SECONDS = 60.0  # longer than any wait takes on a machine that does something else


async def ready(pilot: Pilot[Any]) -> KymatuiApp:
    """Return the app once it knows something of the cluster, or why not."""
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    await until(pilot, lambda: app.catalog is not None or app.view.failure is not None or _is_filled(app))
    return app


def _is_filled(app: KymatuiApp) -> bool:
    """Return whether a fleet is on the screen."""
    return isinstance(app, FleetApp) and app.fleet is not None and bool(app.fleet.rows) and bool(table(app).rows)


async def until(pilot: Pilot[Any], holds: Callable[[], bool], about: Callable[[], object] = lambda: "") -> None:
    """Wait until something holds, and what follows from it is handled and laid out. `about` explains a failure."""
    end = time.monotonic() + _SECONDS
    while not holds():
        assert time.monotonic() < end, f"it never came to hold {about()}".rstrip()
        await asyncio.sleep(0.02)
    await pilot.pause()


async def typing(pilot: Pilot[Any]) -> None:
    """Wait until the field that has the keyboard, if one has, is laid out; its cursor stands still for a picture."""
    field = pilot.app.focused
    if isinstance(field, Input | TextArea):
        await until(pilot, lambda: bool(field.region), lambda: f"{field} is not on the screen")
        field.cursor_blink = False
        field.notify_style_update()  # a text area keeps lines from when its cursor was not visible


async def drawn(pilot: Pilot[Any]) -> str:
    """Return the picture of the screen, once all that is to be handled changes it no more."""
    end = time.monotonic() + _SECONDS
    await typing(pilot)
    before = ""
    while time.monotonic() < end:
        await pilot.wait_for_scheduled_animations()
        found = pilot.app.export_screenshot(title=pilot.app.title, simplify=True)
        if found == before:
            return found
        before = found
    raise AssertionError("the picture never stood still")


async def picture(app: KymatuiApp, size: Size, walk: Walk) -> str:
    """Return what an app of its own displays at the end of a walk."""
    async with app.run_test(size=size) as pilot:
        await walk(pilot)
        return await drawn(pilot)


def table(app: KymatuiApp) -> RowTable:
    return app.screen.query_one(RowTable)


def shown(app: KymatuiApp) -> list[str]:
    return [row.key for row in table(app).rows]


def cell(app: KymatuiApp, key: str, column: str) -> str:
    return next(row for row in table(app).rows if row.key == key).cells[column].text


def text_of(facts: Facts) -> str:
    return "\n".join(f"{fact.label}  {fact.text}".strip() for fact in facts.facts)


def text(app: KymatuiApp, selector: str) -> str:
    found = app.screen.query_one(selector)
    return text_of(found) if isinstance(found, Facts) else str(found.render())
