"""Menu of actions for the marked modules or the module under the cursor, with reasons if disabled."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import ClassVar

from msgspec import Struct
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.columns import Cell, Column
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.terminal.plain_widgets import Static, Vertical, with_tone
from kymatui.ui.viewmodels.display_text import as_screen_commands
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.widgets.plan_widgets import PlanTable
from kymatui.ui.widgets.row_table import RowTable

_AROUND, _WORDS, _LEAST = 9, 4, 4  # lines: frame and reason; manager of the cluster; shortest list


class MenuItem(Struct, frozen=True):
    """One action; `off` gives the reason if disabled, `key` starts it without the menu.

    The cursor never starts on an action that `destroys`, so that pressing Enter twice cannot delete.
    """

    id: str
    label: str
    key: str = ""
    off: str = ""
    destroys: bool = False


class MenuScreen(FirstPaintModal[str | None]):
    """Menu that returns the id of the chosen action, or None; `later` has the items that replace those of the start."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Run", id="menu.take"),
        Binding("escape,q,a", "dismiss(None)", "Back", id="menu.cancel"),
    ]

    def __init__(
        self, title: str, items: Sequence[MenuItem], words: str = "", later: Awaitable[Sequence[MenuItem]] | None = None
    ) -> None:
        super().__init__()
        self._title = title
        self._items = {item.id: item for item in items}
        self._words = words
        self._later = later

    @property
    def is_complete(self) -> bool:
        """Return whether the reasons of all items are known."""
        return self._later is None

    def compose(self) -> ComposeResult:
        with Vertical(id="menu") as box:
            box.border_title = sanitize(self._title)
            box.border_subtitle = "enter run · esc back"
            yield Static(with_tone(sanitize(self._words), "muted"), id="menu-words")
            yield PlanTable(_columns(self._items.values()), id="menu-items")
            yield Static("", id="menu-off")

    def on_mount(self) -> None:
        self._show_items()
        self.set_focus(self.query_one(PlanTable))
        self.on_resize()
        if self._later is not None:
            self.run_worker(self._complete(self._later))

    def _show_items(self, *, stay: bool = False) -> None:
        """Display the items, with the cursor on the first that can run and deletes nothing unless it may `stay`."""
        table = self.query_one(PlanTable)
        table.set_rows(map(_row, self._items.values()))
        first = next((item.id for item in self._items.values() if not item.off and not item.destroys), None)
        if first is not None and not stay:
            table.move_to(first)
        self._show_off()

    async def _complete(self, later: Awaitable[Sequence[MenuItem]]) -> None:
        """Replace the items once all reasons are known; an item that could run keeps the cursor."""
        items = {item.id: item for item in await later}
        before = self._chosen
        self._items, self._later = items, None
        self._show_items(stay=before is not None and not before.off)

    def on_resize(self) -> None:
        """Scroll the list if it has no room, so that the reason below it stays visible."""
        words = self.query_one("#menu-words")
        words.display = self.app.size.height >= len(self._items) + _AROUND + _WORDS
        room = self.app.size.height - _AROUND - (_WORDS if words.display else 0)
        self.query_one(PlanTable).styles.height = max(min(len(self._items) + 1, room), _LEAST)

    @property
    def _chosen(self) -> MenuItem | None:
        return self._items.get(self.query_one(PlanTable).cursor_key or "")

    @on(RowTable.Highlighted)
    def _show_off(self) -> None:
        """Display the whole reason, which the list may clip."""
        item = self._chosen
        note = (
            with_tone(as_screen_commands(sanitize(f"disabled: {item.off}")), "warning")
            if item is not None and item.off
            else Content()
        )
        self.query_one("#menu-off", Static).update(note)

    def action_take(self) -> None:
        item = self._chosen
        if item is not None and not item.off:
            self.dismiss(item.id)


def _columns(items: Iterable[MenuItem]) -> tuple[Column, ...]:
    """Return columns that never clip the action; reasons get the remaining width."""
    label = max((len(item.label) for item in items), default=0)
    return (Column("key", "", 6), Column("label", "", label), Column("off", "", 12, flex=1, priority=1))


def _row(item: MenuItem) -> Row:
    tone = "muted" if item.off else ""
    cells = {"key": Cell(item.key, tone or "accent"), "label": Cell(item.label, tone)}
    return Row(item.id, {**cells, "off": Cell(as_screen_commands(sanitize(item.off)), "muted")})
