"""A few questions with a few answers each: which channel, which policy. The line under the cursor is the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from kymatui.ui.text import plain
from kymatui.ui.widgets.columns import Column
from kymatui.ui.widgets.plan_parts import PlanTable
from kymatui.ui.widgets.row_list import Cell, Row

_AROUND, _LEAST = 5, 4  # lines around the questions, and of the shortest list: its title, two answers, a gap


@dataclass(frozen=True, slots=True)
class Option:
    """One answer; `value` is what the caller gets."""

    value: str
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question; `chosen` is the value of the answer that is proposed."""

    id: str
    title: str
    options: tuple[Option, ...]
    chosen: str = ""


class ChoiceScreen(ModalScreen[dict[str, str] | None]):
    """`await app.push_screen_wait(ChoiceScreen("enable keda", questions))`: values by the questions' ids, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Go on", id="choice.take", priority=True),
        Binding("tab", "other(1)", "Next question", id="choice.next", priority=True),
        Binding("shift+tab", "other(-1)", "Question before", id="choice.before", priority=True),
        Binding("escape,q", "dismiss(None)", "Back", id="choice.cancel"),
    ]

    def __init__(self, title: str, questions: Sequence[Question]) -> None:
        super().__init__()
        self._title = title
        self._questions = tuple(questions)

    def compose(self) -> ComposeResult:
        with Vertical(id="choice") as box:
            box.border_title = plain(self._title)
            box.border_subtitle = "j and k choose, tab next question, enter goes on"
            for question in self._questions:
                columns = (
                    Column("label", question.title.upper(), 20, flex=1),
                    Column("note", "", 10, flex=2, priority=1),
                )
                yield PlanTable(columns, id=f"choice-{question.id}")

    def on_mount(self) -> None:
        for question, table in zip(self._questions, self.query(PlanTable), strict=True):
            table.set_rows(_row(option) for option in question.options)
            table.move_to(question.chosen)
        self.on_resize()
        self.query(PlanTable).first().focus()

    def on_resize(self) -> None:
        """Every question stays in sight: where there is no room for all answers, the longest lists scroll."""
        tables = list(self.query(PlanTable))
        heights = [len(question.options) + 2 for question in self._questions]
        while sum(heights) > self.app.size.height - _AROUND and max(heights) > _LEAST:
            heights[heights.index(max(heights))] -= 1
        for table, height in zip(tables, heights, strict=False):
            table.styles.height = height

    def action_take(self) -> None:
        tables = self.query(PlanTable)
        self.dismiss({one.id: table.cursor_key or "" for one, table in zip(self._questions, tables, strict=True)})

    def action_other(self, by: int) -> None:
        tables = list(self.query(PlanTable))
        place = next((number for number, table in enumerate(tables) if table.has_focus), 0)
        tables[(place + by) % len(tables)].focus()


def _row(option: Option) -> Row:
    return Row(option.value, {"label": Cell(plain(option.label)), "note": Cell(plain(option.note), "muted")})
