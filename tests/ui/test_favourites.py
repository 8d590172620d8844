"""Modules that are pinned to the top: by context, in a file on this machine, also in an audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.adapters.files.context_memory import MOST_PINNED, ContextMemory, RememberedView
from kymatui.lists.columns import Cell
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.flows.flow_app import note_screen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.panes.catalog_pane import CatalogPane
from kymatui.ui.terminal.text_filters import ascii_only
from kymatui.ui.viewmodels.row_filter import parse_filter
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder, arrange_rows
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import PINNED
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, shown, table, until
from tests.ui.worlds import StillSession, app_on, world


def row(key: str, age: str, *, pinned: bool = False) -> Row:
    return Row(key, {"name": Cell(key), "age": Cell(age)}, pinned=pinned)


ROWS = [row("a", "3"), row("b", ""), row("c", "1", pinned=True), row("d", "2"), row("e", "9", pinned=True)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (None, "ceabd"),
        (SortOrder("name", descending=True), "ecdba"),
        (SortOrder("age"), "cedab"),
        (SortOrder("age", descending=True), "ecadb"),
    ],
)
def test_pinned_rows_come_first_in_every_order(order: SortOrder | None, expected: str) -> None:
    assert "".join(one.key for one in arrange_rows(ROWS, parse_filter(""), order)) == expected


def lines(app: KymatuiApp) -> list[str]:
    """The lines of the table as they are drawn, without the title."""
    found = table(app)
    return ["".join(part.text for part in found.render_line(number)) for number in range(1, 4)]


async def pinned(pilot: Pilot[Any], *keys: str) -> KymatuiApp:
    app = await ready(pilot)
    await until(pilot, lambda: app.view.place is not None and bool(table(app).rows))
    before = app.favourites.names
    await pilot.press(*keys)
    await until(pilot, lambda: app.favourites.names != before)
    return app


async def test_a_module_is_pinned_and_stays_so(tmp_path: Path) -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await pinned(pilot, "j", "j", "f")
        assert shown(app)[:2] == ["cloud-logging", "api-gateway"]
        assert table(app).cursor_key == "cloud-logging"
        assert [line[0] for line in lines(app)] == [PINNED, " ", " "], "also without colour"
        assert "written" not in app.problems
        await pilot.press("S")
        assert shown(app)[0] == "cloud-logging", "in every order"
        await pilot.press("slash", *"istio", "enter")
        assert shown(app) == ["istio"], "a filter hides it"
    assert ContextMemory().of("prod-eu").pinned == ("cloud-logging",)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: shown(app)[:1] == ["cloud-logging"])
        app = await pinned(pilot, "g", "f")
        assert shown(app)[0] == "api-gateway"
    assert ContextMemory().of("prod-eu").pinned == ()


def test_the_sign_has_a_form_in_ascii() -> None:
    assert ascii_only(PINNED) not in ("?", " ", "*")


async def test_an_audit_pins_and_says_where_that_is_written() -> None:
    audit = KymatuiApp(lambda: StillSession(world()), audit=True, clock=lambda: b.NOW)
    async with audit.run_test(size=SIZE) as pilot:
        app = await pinned(pilot, "f")
        (said,) = [one.message for one in app._notifications]
        assert said.startswith("api-gateway pinned to the top; ")
        assert said.endswith("written to a file on this machine only, the cluster is not changed")


async def test_more_than_the_limit_and_an_unwritable_folder_are_reported(tmp_path: Path) -> None:
    ContextMemory().pin("prod-eu", [f"m{number}" for number in range(MOST_PINNED)])
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: len(app.favourites.names) == MOST_PINNED)
        await pilot.press("f")
        await until(pilot, lambda: bool(app.problems))
        assert app.problems == [f"{MOST_PINNED} modules are pinned; unpin another one first"]
        app.favourites.names = ()
        folder = ContextMemory()._folder
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        folder.write_text("a file")
        await pilot.press("f")
        await until(pilot, lambda: len(app.problems) == 2)
        assert "cannot be written" in app.problems[1]
        assert app.favourites.names == ()


# how lists were left


def live(app: KymatuiApp) -> LiveTable:
    found = table(app)
    assert isinstance(found, LiveTable)
    return found


def set_filter(app: KymatuiApp, text: str) -> None:
    live(app).set_filter(text)


def filter_text(app: KymatuiApp) -> str:
    return live(app).filter_text


def order(app: KymatuiApp) -> SortOrder | None:
    return live(app).order


async def left(pilot: Pilot[Any]) -> KymatuiApp:
    app = await ready(pilot)
    await until(pilot, lambda: app.favourites.view is not None and bool(table(app).rows))
    return app


async def test_order_filter_and_columns_are_those_that_the_context_was_left_with() -> None:
    async with app_on(StillSession(world()), remembers=True).run_test(size=SIZE) as pilot:
        app = await left(pilot)
        await pilot.press("S")
        set_filter(app, "ready")
        app.screen.query_one(CatalogPane)._choose_columns(["name", "state", "newest"])
        expected = RememberedView("state", "ready", ("name", "state", "newest"))
        await until(pilot, lambda: ContextMemory().of(app.favourites._context).view == expected)
    async with app_on(StillSession(world()), remembers=True).run_test(size=SIZE) as pilot:
        app = await left(pilot)
        await until(pilot, lambda: filter_text(app) == "ready")
        assert order(app) == SortOrder("state")
        assert [column.id for column in table(app).grid.columns] == ["name", "state", "newest"]
        await pilot.press("escape")
        await until(pilot, lambda: ContextMemory().of(app.favourites._context).view.filter == "")


async def test_the_screen_that_was_left_is_opened_again() -> None:
    async with app_on(StillSession(world()), remembers=True).run_test(size=SIZE) as pilot:
        app = await left(pilot)
        note_screen(app, app.ways.framed[0].step)
        await pilot.press("P")
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "problems")
        note_screen(app, ScreenStep("problems"))
        await until(pilot, lambda: ContextMemory().of(app.favourites._context).view.screen == "problems")
    async with app_on(StillSession(world()), remembers=True).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: app.shown is not None and app.shown.step.kind == "problems")
        await pilot.press("escape")
        await until(pilot, lambda: app.ways.depth == 1)
        await until(pilot, lambda: ContextMemory().of(app.favourites._context).view.screen == "")


async def test_filters_are_saved_under_names_for_every_context() -> None:
    async with app_on(StillSession(world()), remembers=True).run_test(size=SIZE) as pilot:
        app = await left(pilot)
        run = {command.name: command.run for command in app.commands()}["filters"]
        run(["save", "mine"])
        assert app.problems[-1] == "filter the list first (/)"
        set_filter(app, "!ready")
        run(["save", "not", "ready"])
        await until(pilot, lambda: app.favourites.filters == {"not ready": "!ready"})
        set_filter(app, "")
        run(["not", "ready"])
        assert filter_text(app) == "!ready"
        run(["nope"])
        assert app.problems[-1].startswith('no saved filter "nope"')
        run(["delete", "not", "ready"])
        await until(pilot, lambda: app.favourites.filters == {})


def test_what_no_view_can_be_is_not_read(tmp_path: Path) -> None:
    memory = ContextMemory(tmp_path)
    memory.leave("a", RememberedView("state:desc", "x"))
    path = next(tmp_path.glob("*.json"))
    body = json.loads(path.read_text())
    path.write_text(
        json.dumps({**body, "view": {"sort": 3, "filter": "y" * 5000, "columns": "no", "screen": "module"}})
    )
    assert memory.of("a").view == RememberedView(screen="module")
    memory.note_use("a", 5.0)
    memory.pin("a", ["keda"])
    assert memory.of("a").view.screen == "module"
    for number in range(120):
        memory.save_filter(f"f{number}", "x")
    assert len(memory.filters) == 100
