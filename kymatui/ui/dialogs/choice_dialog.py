"""Questions with a few answers, such as channel or policy or yes and no; the cursor marks the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.lists.columns import Cell, Column
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.terminal.plain_widgets import Static, Vertical, with_tone
from kymatui.ui.viewmodels.columns import GAP
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.widgets.plan_widgets import PlanTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.status_line import TargetLine

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


_AROUND, _LEAST = 7, 4  # lines around the questions, and of the shortest list: its title, two answers, a gap


class ChoiceScreen(FirstPaintModal[dict[str, str] | None]):
    """Dialog that returns the chosen values by question id, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Continue", id="choice.take"),
        Binding("tab", "other(1)", "Next question", id="choice.next"),
        Binding("shift+tab", "other(-1)", "Previous question", id="choice.before"),
        Binding("escape,q", "dismiss(None)", "Back", id="choice.cancel"),
    ]

    def __init__(self, title: str, questions: Sequence[Question]) -> None:
        super().__init__()
        self._title = title
        self._questions = tuple(questions)

    def compose(self) -> ComposeResult:
        with Vertical(id="choice") as box:
            box.border_title = sanitize(self._title)
            several = " · tab next" if len(self._questions) > 1 else ""
            box.border_subtitle = f"j k select{several} · enter continue · esc back"
            for question in self._questions:
                yield PlanTable(_columns(question), id=f"choice-{question.id}")
            yield Static("", id="choice-note")

    def on_mount(self) -> None:
        for question, table in zip(self._questions, self.query(PlanTable), strict=True):
            table.set_rows(_row(option) for option in question.options)
            table.move_to(question.chosen)
        self.on_resize()
        self.set_focus(self.query(PlanTable).first())

    def on_resize(self) -> None:
        """Keep every question visible: scroll the longest lists if there is no room for all answers."""
        tables = list(self.query(PlanTable))
        heights = [len(question.options) + 2 for question in self._questions]
        while sum(heights) > self.app.size.height - _AROUND and max(heights) > _LEAST:
            heights[heights.index(max(heights))] -= 1
        for table, height in zip(tables, heights, strict=False):
            table.styles.height = height
        self.call_after_refresh(self._show_note)

    @on(RowTable.Highlighted)
    def _show_note(self) -> None:
        """Display the whole note of the answer under the cursor, which the list may clip."""
        for question, table in zip(self._questions, self.query(PlanTable), strict=False):
            if table.has_focus:
                note = next((option.note for option in question.options if option.value == table.cursor_key), "")
                is_cut = len(note) > table.size.width - _columns(question)[0].width - GAP
                self.query_one("#choice-note", Static).update(with_tone(sanitize(note), "muted") if is_cut else "")

    def on_descendant_focus(self) -> None:
        self._show_note()

    def action_take(self) -> None:
        tables = self.query(PlanTable)
        self.dismiss(
            {question.id: table.cursor_key or "" for question, table in zip(self._questions, tables, strict=True)}
        )

    def action_other(self, by: int) -> None:
        tables = list(self.query(PlanTable))
        number = next((number for number, table in enumerate(tables) if table.has_focus), 0)
        self.set_focus(tables[(number + by) % len(tables)])  # at once: queued keys may be meant for it


def _columns(question: Question) -> tuple[Column, ...]:
    longest = max(len(question.title), *(len(option.label) for option in question.options))
    return (Column("label", question.title.upper(), longest + 1), Column("note", "", 10, flex=1, priority=1))


def _row(option: ChoiceOption) -> Row:
    return Row(option.value, {"label": Cell(sanitize(option.label)), "note": Cell(sanitize(option.note), "muted")})


class ConfirmScreen(FirstPaintModal[bool]):
    """`await app.push_screen_wait(ConfirmScreen("Quit?", "1 job is running"))`: True only for y."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Confirm", id="confirm.yes"),
        Binding("n,escape", "answer(False)", "Cancel", id="confirm.no"),
    ]

    def __init__(
        self, question: str, words: str = "", *, alarming: bool = False, targets: Sequence[ClusterTarget] = ()
    ) -> None:
        super().__init__()
        self._targets = targets
        self._question = question
        self._words = words
        self._alarming = alarming

    def compose(self) -> ComposeResult:
        with Vertical(id="confirm", classes="-alarming" if self._alarming else "") as box:
            box.border_title = sanitize(self._question)
            box.border_subtitle = "y confirm · any other key cancel"
            yield TargetLine(*self._targets)
            yield Static(Content("\n".join(map(sanitize, self._words.splitlines()))), id="confirm-words")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)

    def on_key(self, event: events.Key) -> None:
        """Answer no to every key but y."""
        if event.key not in ("y", "n", "escape", "ctrl+c"):
            event.stop()
            self.dismiss(False)
