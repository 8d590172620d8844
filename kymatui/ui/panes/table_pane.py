"""Base of the panes with views, one table, and the reason of the line under its cursor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widget import Widget

from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.screen_app import ScreenApp
from kymatui.ui.navigation.command_table import ScreenCommand, unknown_name
from kymatui.ui.presenters.catalog.table_notices import TableNotice
from kymatui.ui.terminal.plain_widgets import Box, Static, Vertical, with_tone
from kymatui.ui.viewmodels.row_list import rows_with
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine
from kymatui.ui.widgets.view_tabs import Tab, ViewTabs


def view_keys(ids: str, number: int, text: str) -> Iterator[Binding]:
    """Yield the keys of so many views, the first of which is 0."""
    for n in range(number):
        yield Binding(str(n), f"view({n})", text, show=False, id=f"{ids}-{n}")


def sort_keys(ids: str) -> Iterator[Binding]:
    """Yield the keys that sort by the columns that every list of modules or runtimes has."""
    for key, column in (("N", "name"), ("S", "state"), ("A", "age"), ("D", "drift")):
        yield Binding(key, f"sort('{column}')", f"Sort by {column}", show=False, id=f"{ids}.sort-{column}")


class TablePane(Vertical):
    """Table whose rows a view, a filter and the key for problems narrow; it names what hides rows.

    Subclasses return the table, the views, the reason of a line, and draw the rows. `only_problems` hides rows without
    a problem.
    """

    def __init__(self) -> None:
        super().__init__()
        self.only_problems = False

    # for subclasses

    def new_table(self) -> LiveTable:
        """Return the table, which the pane composes once."""
        raise AssertionError(f"{type(self).__name__} has no table")

    def draw(self) -> None:
        """Draw the current state of the app."""
        raise AssertionError(f"{type(self).__name__} draws nothing")

    def show_view(self, number: int) -> None:
        """Display another view; ignore a number without one."""
        raise AssertionError(f"{type(self).__name__} has no views")

    def reason(self) -> Content:
        """Return the reason of the line under the cursor."""
        raise AssertionError(f"{type(self).__name__} has no reasons")

    def show_around(self) -> None:
        """Draw what depends on the filtered rows; called after each change of the filter or the order."""
        raise AssertionError(f"{type(self).__name__} draws nothing")

    def note_view(self) -> None:
        """Remember how the list is arranged."""

    def commands(self) -> Sequence[ScreenCommand]:
        """Return the commands of the pane."""
        return ()

    # common

    def compose(self) -> ComposeResult:
        yield ViewTabs(id="views")
        with Box(id="catalog-body"):
            yield self.new_table()
            yield Static("", id="notice")
        yield StatusLine(id="reason")

    @property
    def table(self) -> LiveTable:
        return self.query_one(LiveTable)

    @property
    def is_composed(self) -> bool:
        return bool(self.query(ViewTabs))

    def show_views(self, tabs: Sequence[Tab], current: str, hidden_by: Iterable[str], total: int) -> None:
        """Draw the views, and at the right what hides rows of the `total`, and how many are marked."""
        table = self.table
        hiding = [*([f"/{table.filter_text}"] if table.filter_text else ()), *hidden_by]
        hidden = len(table.marked) - len(rows_with(table.marked, table.rows))
        unseen = f", {hidden} of them hidden" if hidden else ""
        parts = [*hiding, *([f"{len(table.marked)} marked{unseen}"] if table.marked else ())]
        parts += [f"{len(table.rows)} of {total}"] if hiding else []
        self.query_one(ViewTabs).show(tabs, current, "  ".join(parts))

    def show_notice(self, notice: TableNotice | None) -> None:
        """Display a notice instead of the table, or the table and the reason of its line."""
        body = self.query_one("#catalog-body")
        returns = notice is None and body.has_class("-notice")
        show_notice(body, notice)
        self.show_reason()
        if returns:
            self.call_after_refresh(self._focus_table)

    def _focus_table(self) -> None:
        """Give the focus back to the table, which lost it while it was hidden."""
        if self.is_attached and self.screen.focused is None:
            self.screen.set_focus(self.table)

    @on(RowTable.Highlighted)
    def show_reason(self) -> None:
        """Display the reason of the line under the cursor."""
        self.query_one(StatusLine).show(self.reason())

    @on(RowTable.Marked)
    @on(LiveTable.Arranged)
    def _arranged(self) -> None:
        self.show_around()
        self.note_view()

    @on(ViewTabs.Chosen)
    def _view_chosen(self, event: ViewTabs.Chosen) -> None:
        self.show_view(event.number)

    # user input

    def action_view(self, number: int) -> None:
        self.show_view(number)

    def choose_view(self, what: str, names: Sequence[str], words: Sequence[str], usage: str) -> None:
        """Display the view of a command's first word; say what the word can be where it is none of the views."""
        numbers = {name: number for number, name in enumerate(names)}
        if words and words[0] in numbers:
            self.show_view(numbers[words[0]])
        else:
            cast("ScreenApp", self.app).problem(unknown_name(what, words[0] if words else "", numbers, usage))

    def toggle_problems(self) -> None:
        """Hide rows without a problem, or show them again."""
        self.only_problems = not self.only_problems
        self.draw()

    def action_sort(self, column: str) -> None:
        """Sort by the column; by the same column again in reverse."""
        self.table.sort_by(column)


class PaneScreen(FramedScreen):
    """Screen of one pane, whose table has the focus."""

    _pane: TablePane

    def body(self) -> ComposeResult:
        yield self._pane

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.main_widget())
        self.show_catalog()

    def main_widget(self) -> LiveTable:
        return self._pane.table

    def show_catalog(self) -> None:
        if self._pane.is_composed:
            self._pane.draw()

    def action_problems(self) -> None:
        self._pane.toggle_problems()

    def commands(self) -> Sequence[ScreenCommand]:
        return self._pane.commands()


def show_notice(body: Widget, notice: TableNotice | None) -> None:
    """Display the notice instead of the table in `body`, or the table where there is none."""
    body.set_class(notice is not None, "-notice")
    if notice is not None:
        lines = [with_tone(notice.title, notice.tone, bold=True)]
        lines += [Content(f"\n{notice.body}")] if notice.body else []
        lines += [Content.styled(f"\n\n{notice.hint}", "$foreground-muted")] if notice.hint else []
        body.query_one("#notice", Static).update(Content.assemble(*lines))
