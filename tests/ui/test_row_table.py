"""The table keeps its cursor and marks on keys while rows change underneath."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip

from kymatui.lists.columns import Cell, Column
from kymatui.ui.viewmodels.row_list import Row, displayed_first, rows_with
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable

COLUMNS = (Column("name", "NAME", 12, flex=1), Column("state", "STATE", 10), Column("age", "AGE", 5, priority=1))


def rows(*names: str, state: str = "Ready") -> list[Row]:
    return [Row(n, {"name": Cell(n), "state": Cell(state, "ready"), "age": Cell("1d")}) for n in names]


class TableApp(App[None]):
    def __init__(self, content: Sequence[Row]) -> None:
        super().__init__()
        self.content = content
        self.highlights: list[str | None] = []
        self.chosen: list[str] = []

    def compose(self) -> ComposeResult:
        yield RowTable(COLUMNS)

    def on_mount(self) -> None:
        table = self.table
        table.set_rows(self.content)
        table.focus()

    @property
    def table(self) -> RowTable:
        return self.query_one(RowTable)

    def on_row_table_highlighted(self, event: RowTable.Highlighted) -> None:
        self.highlights.append(event.key)

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self.chosen.append(event.key)

    def line(self, y: int) -> str:
        return self.table.render_line(y).text


async def test_the_first_row_is_under_the_cursor_and_keys_move_it() -> None:
    app = TableApp(rows("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        assert app.table.cursor_key == "a"
        await pilot.press("j", "down", "k", "enter")
        assert app.table.cursor_key == "b"
        assert app.chosen == ["b"]
        await pilot.press("G")
        assert app.table.cursor_key == "c"
        await pilot.press("g")
        assert app.table.cursor_key == "a"


async def test_the_cursor_follows_its_row_when_others_come_and_go() -> None:
    app = TableApp(rows("b", "c", "d"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("j")
        app.table.set_rows(rows("a", "aa", "b", "c"))
        assert app.table.cursor_key == "c"
        app.table.set_rows(rows("a", "b"))
        assert app.table.cursor_key == "b", "where its row went, the cursor stays near"
        app.table.set_rows([])
        assert app.table.cursor_key is None


async def test_a_row_that_vanishes_is_announced() -> None:
    app = TableApp(rows("a", "b"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        app.table.set_rows([])
        await pilot.pause()
        assert app.highlights[-1] is None


async def test_marks_follow_keys_and_vanish_with_their_rows() -> None:
    app = TableApp(rows("a", "b", "c", "d"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("space", "j", "ctrl+@")
        assert app.table.marked == {"a", "b", "c"}
        app.table.set_rows(rows("c", "d"))
        assert app.table.marked == {"c"}
        await pilot.press("ctrl+backslash")
        assert app.table.marked == frozenset()


class LiveApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LiveTable(COLUMNS, sort=SortOrder("name"))


async def test_marks_outlive_a_filter_and_not_their_rows() -> None:
    app = LiveApp()
    async with app.run_test(size=(40, 10)) as pilot:
        table = app.query_one(LiveTable)
        table.focus()
        table.show(rows("alpha", "beta", "gamma"))
        await pilot.press("space")
        table.set_filter("gamma")
        assert table.marked == {"alpha"}
        assert list(rows_with(table.marked, table.rows)) == []
        await pilot.press("space")
        assert displayed_first(table.marked, table.rows) == ("gamma", "alpha")
        table.set_filter("")
        assert displayed_first(table.marked, table.rows) == ("alpha", "gamma")
        table.show(rows("beta", "gamma"))
        assert table.marked == {"gamma"}


async def test_every_row_that_the_filter_shows_is_marked() -> None:
    app = LiveApp()
    async with app.run_test(size=(40, 10)) as pilot:
        table = app.query_one(LiveTable)
        table.show(rows("alpha", "beta", "gamma"))
        table.set_filter("beta|gamma")
        await pilot.press("*")
        assert table.marked == {"beta", "gamma"}
        table.set_filter("alpha")
        await pilot.press("*")
        assert table.marked == {"alpha", "beta", "gamma"}, "what a filter hides stays marked"


async def test_lines_show_header_and_cells_and_fold_where_it_is_narrow() -> None:
    app = TableApp(rows("serverless"))
    async with app.run_test(size=(40, 10)) as pilot:
        assert app.line(0).split() == ["NAME", "STATE", "AGE"]
        assert app.line(1).split() == ["serverless", "Ready", "1d"]
        await pilot.resize_terminal(28, 10)
        assert app.table.grid.shown == ("name", "state")
        assert app.line(0).split() == ["NAME", "STATE"]


async def test_the_sorted_column_carries_an_arrow() -> None:
    app = TableApp(rows("a"))
    async with app.run_test(size=(40, 10)):
        app.table.set_sort("name", descending=True)
        assert "NAME ▾" in app.line(0)


async def test_a_long_list_scrolls_with_the_cursor_and_draws_only_what_is_seen() -> None:
    app = TableApp(rows(*(f"row-{n:05}" for n in range(20_000))))
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.press("G")
        assert app.table.cursor_key == "row-19999"
        assert "row-19999" in app.line(app.table.size.height - 1)
        await pilot.press("pageup", "pageup")
        assert app.table.cursor_key == "row-19979"


async def test_a_click_moves_the_cursor_and_a_double_click_opens() -> None:
    app = TableApp(rows("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.click(RowTable, offset=(3, 3))
        assert app.table.cursor_key == "c"
        await pilot.click(RowTable, offset=(3, 3), times=2)
        assert app.chosen == ["c"]


def drawn(app: TableApp) -> list[Strip]:
    return app.table.render_lines(app.table.size.region)


async def test_what_is_drawn_is_kept_until_it_changes() -> None:
    """Lines that say the same are the same strips, also where the list was handed over anew."""
    app = TableApp(rows("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        before = drawn(app)
        app.table.set_rows(rows("a", "b", "c"))
        again = drawn(app)
        assert [one is other for one, other in zip(before[1:4], again[1:4], strict=True)] == [True, True, True]
        app.table.set_rows([*rows("a"), *rows("b", state="Error"), *rows("c")])
        changed = drawn(app)
        assert [one is other for one, other in zip(again[1:4], changed[1:4], strict=True)] == [True, False, True]
        assert "Error" in changed[2].text


async def test_a_change_of_the_columns_widths_draws_every_line_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row with a longer text moves the cells of all others, and of the titles."""
    app = TableApp(rows("a", "b", "c"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        before = app.table.grid.fitted
        asked: list[tuple[Region, ...]] = []
        monkeypatch.setattr(app.table, "refresh", lambda *regions, **_: asked.append(regions))
        app.table.set_rows([*rows("a"), *rows("b", state="is being installed for a long time"), *rows("c")])
        assert app.table.grid.fitted != before
        assert () in asked, "the whole table"


async def test_another_theme_draws_every_line_anew() -> None:
    app = TableApp(rows("a", "b"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause()
        before = drawn(app)
        app.theme = "textual-light"
        await pilot.pause()
        after = drawn(app)
        assert [one.text for one in before] == [one.text for one in after]
        assert all(list(one) != list(other) for one, other in zip(before, after, strict=True))


async def test_a_table_with_padding_is_drawn_as_wide_as_it_is() -> None:
    app = TableApp(rows("a", "b"))
    async with app.run_test(size=(40, 10)) as pilot:
        app.table.styles.padding = (1, 2)
        await pilot.pause()
        strips = drawn(app)
        assert {strip.cell_length for strip in strips} == {app.table.size.width}
        assert strips[0].text.strip() == ""
        assert "NAME" in strips[1].text


async def test_a_text_that_does_not_fit_continues_where_the_screen_has_room() -> None:
    columns = (Column("name", "NAME", 6), Column("why", "WHY", 14, wraps=True))
    long = "the image is not in the registry"
    app = TableApp([])
    async with app.run_test(size=(24, 12)) as pilot:
        app.table.set_columns(columns)
        content = [
            Row("a", {"name": Cell("a"), "why": Cell(long)}),
            Row("b", {"name": Cell("b"), "why": Cell("short")}),
        ]
        app.table.set_rows(content)
        await pilot.pause()
        lines = [app.line(y).split() for y in range(1, 6)]
        assert lines == [["a", "the", "image", "is"], ["not", "in", "the"], ["registry"], ["b", "short"], []]
        await pilot.press("j")
        assert app.table.cursor_key == "b"
        await pilot.click(RowTable, offset=(9, 3))  # the last line of the first row
        assert app.table.cursor_key == "a"
        app.table.set_rows([*content, *(Row(f"c{n}", {"name": Cell(f"c{n}")}) for n in range(9))])
        await pilot.pause()
        assert app.line(2).split() == ["b", "short"], "a list that fills the screen has one line for each row"
