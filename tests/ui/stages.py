"""Apps that stay on from one test to the next: to start one costs more than all that most tests do with it.

Whoever steps on a stage finds the app as if it had just been started: its first screen, made anew, no way behind it,
nothing that was told or marked or copied. The world stands still; a test that changes the cluster starts its own app.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

from kymatui.ui.app import KymatuiApp
from kymatui.ui.desk import JOBS, Desk
from kymatui.ui.fleet_app import FleetApp
from kymatui.ui.fleet_view import RuntimeViews
from kymatui.ui.presenters.catalog_columns import ALL, chosen
from kymatui.ui.presenters.tables import Sort
from kymatui.ui.screens.catalog import CatalogScreen
from kymatui.ui.ways import Ways
from kymatui.ui.widgets.prompt import Prompt
from tests.ui.settling import settled

Made = TypeVar("Made")
Size = tuple[int, int]


class Stage:
    """One app, and the loop that it lives in, which stands still between two tests."""

    def __init__(self, made: Callable[[], KymatuiApp], size: Size) -> None:
        self._runner = asyncio.Runner()
        self._playing = contextlib.AsyncExitStack()
        self._app = made()
        self._number = 0  # of the visit
        self.pilot: Pilot[Any] = self.run(self._playing.enter_async_context(self._app.run_test(size=size)))

    def run(self, coroutine: Coroutine[Any, Any, Made]) -> Made:
        return self._runner.run(coroutine)

    @property
    def is_on(self) -> bool:
        """Whether the app could go on; the last test may have ended it."""
        return self._app.is_running and not self._app._exit and self._app._exception is None

    async def begin(self) -> Pilot[Any]:
        if self._number:
            await self._clear()
        self._number += 1
        return self.pilot

    async def _clear(self) -> None:
        app = self._app
        app.workers.cancel_all()
        self._new_desk()
        app.ways = Ways(app)
        app.clear_notifications()
        app.problems.clear()
        app.copy_to_clipboard("")
        app._ascii.enabled = app.settings.ascii
        app.theme = f"kymatui-{app.settings.theme}"
        app.view._looked_at.clear()
        if self._as_at_first(app.screen_stack[0]):
            await self._back_to_the_first_screen()
        else:
            await self._first_screen_anew()
        if isinstance(app, FleetApp):
            app.runtimes.close()
            app.runtimes = RuntimeViews(app._mailbox, app.clock)
            assert app.shown is not None
            app.shown.catch_up()
        await settled()

    def _new_desk(self) -> None:
        """What jobs of the last test still have to say is not told to the next."""
        app = self._app
        app.desk._publish = lambda *_: None
        app.desk.close()
        app._mailbox._values.pop(JOBS, None)
        app.desk = Desk(app, app._mailbox.put)

    def _as_at_first(self, screen: Screen[Any]) -> bool:
        """Whether nothing of the first screen was changed but the place of its cursor."""
        if not isinstance(screen, CatalogScreen) or any(prompt.display for prompt in screen.query(Prompt)):
            return False
        table, settings = screen.main_widget(), self._app.settings
        found = (screen._view, screen._only_problems, table.filter.text, table.order, table.columns, table.marked)
        return found == (ALL, False, "", Sort(settings.sort), tuple(chosen(settings.columns)), frozenset())

    async def _back_to_the_first_screen(self) -> None:
        app = self._app
        while len(app.screen_stack) > 1:
            await app.pop_screen()
        screen = app.screen
        assert isinstance(screen, CatalogScreen)
        table = screen.main_widget()
        table._list._anchor = None
        if table.rows:
            table.move_to(table.rows[0].key)
        table.focus()

    async def _first_screen_anew(self) -> None:
        app, before = self._app, self._app.current_mode

        def first() -> Screen[Any]:
            screen = app.get_default_screen()
            screen._css_update_count = app._css_update_count  # else all styles are parsed once more
            return screen

        app.add_mode(f"visit {self._number}", first)
        await app.switch_mode(f"visit {self._number}")
        if before != app.DEFAULT_MODE:
            await app.remove_mode(before)

    def close(self) -> None:
        try:
            self.run(self._playing.aclose())
        finally:
            self._runner.close()


class Stages:
    """One stage for each kind of app that somebody asked for."""

    def __init__(self) -> None:
        self._open: dict[object, Stage] = {}

    def at(self, size: Size, made: Callable[[], KymatuiApp], *kind: object) -> Stage:
        """The stage of this size with what `made` makes; `kind` tells what it makes from what others make."""
        if (size, *kind) in self._open and not self._open[size, *kind].is_on:
            self._open.pop((size, *kind)).close()
        if (size, *kind) not in self._open:
            self._open[size, *kind] = Stage(made, size)
        return self._open[size, *kind]

    def close(self) -> None:
        for stage in self._open.values():
            stage.close()
