"""The words of the tables: what each means, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.content import Content

from kymatui.domain.catalog.glossary import GLOSSARY
from kymatui.lists.columns import Cell, Column
from kymatui.ui.base.framed_screen import ListScreen
from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import StatusLine

COLUMNS: Final = (
    Column("word", "WORD", 22),
    Column("subject", "SUBJECT", 24, flex=1, priority=1),
    Column("meaning", "MEANING", 40, flex=4, wraps=True),
    Column("advice", "WHAT TO DO", 30, flex=3, priority=2, wraps=True),
)


class GlossaryScreen(ListScreen):
    """Table of words; `:glossary WORD` opens it with that word as the filter."""

    TABLE_OPENS: ClassVar[bool] = False
    KIND = "glossary"
    name_in_help: ClassVar[str] = "Glossary"

    def __init__(self, word: str = "") -> None:
        super().__init__()
        self._word = word

    def body(self) -> ComposeResult:
        yield LiveTable(COLUMNS, id="glossary", sort=SortOrder(), copied="word", opens=self.TABLE_OPENS)
        yield Static(Content("No word matches."), id="nothing", classes="nothing")
        yield StatusLine(id="reason")

    def on_mount(self) -> None:
        super().on_mount()
        if self._word:
            self.filter_line.set(self._word)

    def show_catalog(self) -> None:
        if self.query(LiveTable):
            self.main_widget().show(list(glossary_rows()))

    @on(RowTable.Highlighted)
    def _highlighted(self) -> None:
        row = self.main_widget().current
        texts = [row.cells[name].text for name in ("meaning", "advice")] if row is not None else []
        self.query_one(StatusLine).show(Content(" ".join(filter(None, texts))))


def glossary_rows() -> Iterator[Row]:
    """Yield one row per word, in the order of the glossary."""
    for title, terms in GLOSSARY:
        subject = title.partition(" (")[0]
        for word, term in terms:
            name = word.value or "(empty)"
            cells = {
                "word": Cell(name, "strong"),
                "subject": Cell(subject, "muted"),
                "meaning": Cell(term.meaning.replace("`", "")),
                "advice": Cell(term.advice.replace("`", "")),
            }
            yield Row(f"{title}\0{name}", cells)
