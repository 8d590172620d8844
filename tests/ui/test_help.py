"""The help groups keys by task, fits a small terminal by scrolling, and is searched with `/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from textual.binding import Binding
from textual.pilot import Pilot

from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.panes.pane import Pane
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.prompt import Prompt
from tests.ui.driving import ready, text, until
from tests.ui.worlds import StillSession, app_on, world


async def opened(pilot: Pilot[Any]) -> KymatuiApp:
    app = await ready(pilot)
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen) and app.screen.query_one("#help").has_focus)
    return app


def groups(app: KymatuiApp) -> list[str]:
    return [str(title.render()) for title in app.screen.query(".help-group") if title.display]


def lines(app: KymatuiApp) -> list[str]:
    return [" ".join(f"{fact.label} {fact.text}".split()) for one in app.screen.query(Facts) for fact in one.facts]


async def test_keys_are_grouped_by_task_and_scroll_on_a_small_terminal() -> None:
    async with app_on(StillSession(world())).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        assert groups(app) == [
            "Move",
            "Find",
            "Inspect a module",
            "Change modules",
            "Open another screen",
            "View",
            "Mark, copy and save",
            "Leave",
            "Commands (type : first)",
        ]
        box = app.screen.query_one("#help")
        assert app.screen.region.contains_region(box.region)
        assert not box.max_scroll_x
        titles = app.screen.query(".help-group")
        assert box.region.contains_region(titles.first().region)
        await pilot.press("G")
        await until(pilot, lambda: box.max_scroll_y > 0 and box.scroll_offset.y == box.max_scroll_y)
        assert titles.first().region.bottom < box.region.y
        assert box.region.contains_point(app.screen.query(Facts).last().region.bottom_right_inclusive)


async def test_the_help_is_searched_and_escape_clears_the_search_first() -> None:
    async with app_on(StillSession(world())).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        screen = app.screen
        whole = lines(app)
        await pilot.press("slash", *"Sort")
        await until(pilot, lambda: len(lines(app)) < len(whole))
        assert groups(app) == ["View", "Commands (type : first)"]
        assert "N Sort by name" in lines(app)
        assert ":sort sort the lines by a column :sort COLUMN[:desc]" in lines(app)
        await pilot.press("enter", "i")
        await until(pilot, lambda: any("catalog.sort-name" in line for line in lines(app)))
        assert len(groups(app)) == 2, "the search stays while it is read"
        await pilot.press("escape")
        await until(pilot, lambda: len(lines(app)) == len(whole))
        assert app.screen is screen
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen))


async def test_a_search_without_a_result_is_reported() -> None:
    async with app_on(StillSession(world())).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press("slash", *"zzz", "q")
        await until(pilot, lambda: not groups(app))
        assert text(app, "#help-nothing") == "No key or command matches “zzzq”. Press esc to clear the search."
        await pilot.press("escape")
        await until(pilot, lambda: len(groups(app)) == 9)
        assert not app.screen.query_one(Prompt).display


async def test_keys_and_names_of_commands_are_found() -> None:
    async with app_on(StillSession(world())).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        await pilot.press("slash", *"ctrl-d")
        await until(pilot, lambda: lines(app) == ["ctrl-d Delete step by step"])
        await pilot.press(*["backspace"] * 6, *":xray")
        await until(pilot, lambda: len(lines(app)) == 0)
        await pilot.press(*["backspace"] * 5, *"xray")
        await until(pilot, lambda: lines(app) == [":tree (xray) show the resources of a module as a tree :tree NAME"])


SAME_EVERYWHERE = {
    "d": {"Overview", "Describe", "Describe the selected object or the module"},
    "equals_sign": {"Compare"},
    "l": {"Logs"},
    "y": {"YAML"},
}
"""Keys that mean the same on every screen: what each is called there."""


def screens_and_panes() -> Iterator[type[FramedScreen] | type[Pane]]:
    found: list[type[Any]] = [FramedScreen, Pane, FleetScreen, ModuleScreen, ObjectScreen]
    for kind in found:
        found += kind.__subclasses__()
        yield kind


def test_a_key_means_the_same_on_every_screen() -> None:
    meanings: dict[str, set[str]] = {key: set() for key in SAME_EVERYWHERE}
    for kind in screens_and_panes():
        for binding in Binding.make_bindings(kind.__dict__.get("BINDINGS", ())):
            if binding.key in meanings:
                meanings[binding.key].add(binding.description)
    assert {key: {one.split(" of ")[0] for one in found} for key, found in meanings.items()} == SAME_EVERYWHERE
