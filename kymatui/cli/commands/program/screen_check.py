"""Opens the screen where nobody sees it, and tells what it shows: the check that an installation is whole."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from kymatui.errors import KymatuiError

if TYPE_CHECKING:
    from kymatui.actions.session import Session
    from kymatui.ui.application.fleet_app import FleetApp
    from kymatui.ui.application.kymatui_app import KymatuiApp
    from kymatui.ui.connection.fleet_view import FleetSource
    from kymatui.ui.screens.catalog_screen import CatalogScreen

App = TypeVar("App", bound="KymatuiApp")
PATIENCE_SECONDS = 30.0  # until the screen has to display what it waits for
_SIZE = (120, 40)  # columns and lines of the terminal that the check draws on


def require_screen(connect: Callable[[], Session]) -> None:
    """Raise KymatuiError where the first screen does not come to show every row of the catalog."""
    from kymatui.ui.application.kymatui_app import KymatuiApp

    _require(KymatuiApp(connect), _check_screen)


def require_fleet(connect: Callable[[], FleetSource], timeout: float = PATIENCE_SECONDS) -> None:
    """Raise KymatuiError where the first screen does not come to show every runtime within `timeout` seconds."""
    from kymatui.ui.application.fleet_app import FleetApp

    _require(FleetApp(connect), partial(_look_at_fleet, timeout))


def _require(app: App, check: Callable[[App], Coroutine[Any, Any, None]]) -> None:
    from textual.css.errors import StylesheetError
    from textual.css.stylesheet import Stylesheet

    try:
        # a screen whose styles cannot be read never starts, and whoever waits for it waits half a minute
        sheet = Stylesheet(variables=app.get_css_variables())
        sheet.read_all(app.css_path)
        sheet.parse()
        asyncio.run(check(app))
    except StylesheetError as error:
        raise KymatuiError(f"invalid stylesheets: {_places(error)}", hint="install kymatui again") from error


def _places(error: Exception) -> str:
    """Return file and line of every error that the parser of the stylesheets found."""
    rules = getattr(getattr(error, "errors", None), "rules", ())
    tokens = [token for rule in rules for token, _ in rule.errors]
    return ", ".join(f"{token.read_from[0]}, line {token.location[0] + 1}" for token in tokens) or str(error)


async def _check_screen(app: KymatuiApp) -> None:
    from kymatui.ui.screens.catalog_screen import CatalogScreen

    deadline = time.monotonic() + PATIENCE_SECONDS
    async with app.run_test(size=_SIZE) as pilot:
        while time.monotonic() < deadline:
            if app.view.failure is not None:
                raise app.view.failure
            if isinstance(app.screen, CatalogScreen) and app.view.connection.word == "live" and _agree(app, app.screen):
                return
            await pilot.pause(0.05)
    raise KymatuiError(f"the screen did not show the modules within {PATIENCE_SECONDS:g} s")


async def _look_at_fleet(timeout: float, app: FleetApp) -> None:
    deadline = time.monotonic() + timeout
    async with app.run_test(size=_SIZE) as pilot:
        while time.monotonic() < deadline:
            if app.view.failure is not None:
                raise app.view.failure
            table = app.shown.filter_line.table if app.shown is not None else None
            known = len(app.fleet.picture.runtimes) if app.fleet is not None else 0
            if known and app.view.connection.word == "live" and table is not None and len(table.rows) == known:
                return
            await pilot.pause(0.05)
    raise KymatuiError(f"the screen did not show the fleet within {timeout:g} s")


def _agree(app: KymatuiApp, screen: CatalogScreen) -> bool:
    """Return whether the table has the rows that the catalog has."""
    names = {row.name for row in app.catalog.rows} if app.catalog is not None else set()
    table = screen.filter_line.table
    return bool(names) and table is not None and {row.key for row in table.rows} == names
