"""Parts of a plan: its objects, the difference of one object, and the consents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.content import Content

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.lists.columns import Cell, Column
from kymatui.ui.terminal.plain_widgets import Static, with_tone
from kymatui.ui.viewmodels.display_text import as_screen_commands
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.widgets.document import SCROLL_KEYS, Document
from kymatui.ui.widgets.row_table import RowTable

TONES = {
    PlannedChange.DELETE: "error",
    PlannedChange.CONFLICT: "warning",
    PlannedChange.CHANGE: "accent",
    PlannedChange.CREATE: "ready",
    PlannedChange.SAME: "muted",
}

_MOVES = ("table.down", "table.up", "table.page-down", "table.page-up", "table.first", "table.last")
_MOVE_KEYS = [binding for binding in RowTable.BINDINGS if isinstance(binding, Binding) and binding.id in _MOVES]


def line_columns(lines: Sequence[PreviewLine]) -> tuple[Column, ...]:
    """Return columns for names and notes that share the width by need."""
    name = max((len(line.name) for line in lines), default=1)
    note = max((len(line.note or line.mark.word) for line in lines), default=1)
    return (
        Column("mark", "", 1),
        Column("name", "OBJECT", min(name, 24), flex=max(name - 24, 0), wraps=True),
        Column("note", "CHANGE", min(note, 12), flex=max(note - 12, 0), priority=1, wraps=True),
    )


class PlanTable(RowTable, inherit_bindings=False):
    """Table of the objects of a plan, without marks and without opening."""

    BINDINGS: ClassVar[list[BindingType]] = [*_MOVE_KEYS]

    def show_lines(self, lines: Sequence[PreviewLine], *, only_changes: bool) -> None:
        """Display the lines; row keys are places in `lines`, so that equal names stay apart."""
        self.set_rows(
            _line(str(number), line)
            for number, line in enumerate(lines)
            if not only_changes or line.mark is not PlannedChange.SAME
        )


def _line(key: str, line: PreviewLine) -> Row:
    cells = {
        "mark": Cell(line.mark.value, TONES[line.mark]),
        "name": Cell(sanitize(line.name), "muted" if line.mark is PlannedChange.SAME else ""),
        "note": Cell(sanitize(line.note) or line.mark.word, "muted"),
    }
    return Row(key, cells)


class DiffView(Document, inherit_bindings=False):
    """Difference with coloured `+ ` and `- ` lines; Space ticks a consent here too."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"diff--added", "diff--removed"}
    BINDINGS: ClassVar[list[BindingType]] = [
        replace(binding, key="ctrl+f,pagedown") if binding.id == "document.page-down" else binding
        for binding in SCROLL_KEYS
    ]

    def show_line(self, line: PreviewLine | None) -> None:
        """Display the whole text of a line, which the table may clip, and its changes."""
        if line is None:
            self.show("")
            return
        note = f": {line.note}" if line.note else ""
        self.show("\n".join((f"  {line.name}", f"  {line.mark.word}{note}", "", *line.diff)))
        self.scroll_home(animate=False)

    def _coloured(self, text: str, base: Style, from_start: bool) -> Iterator[Segment]:
        name = {"+": "diff--added", "-": "diff--removed"}.get(text[:1] if from_start else "")
        yield Segment(text, base + Style(color=self.get_component_rich_style(name).color) if name else base)


class Tick(Static, can_focus=True):
    """Consent that Space ticks; long texts wrap."""

    def __init__(self, consent: Consent) -> None:
        super().__init__(classes="plan-tick")
        self.consent = consent
        self.agreed = False

    def on_mount(self) -> None:
        self._draw()

    def _draw(self) -> None:
        sign = with_tone("[x] " if self.agreed else "[ ] ", "ready" if self.agreed else "warning", bold=True)
        self.update(Content.assemble(sign, sanitize(self.consent.message)))

    def toggle(self) -> None:
        self.agreed = not self.agreed
        self._draw()

    def on_click(self) -> None:
        self.toggle()


def plan_summary(preview: Preview) -> Content:
    """Return who manages the module, and how many objects change in which way."""
    parts = [with_tone(sanitize(preview.management), "muted"), Content("\n")] if preview.management else []
    summary = [with_tone(sanitize(text), TONES[mark], bold=True) for mark, text in preview.summary_parts]
    return Content.assemble(*parts, Content(", ").join(summary))


def plan_notes(preview: Preview) -> Content:
    """Return what to read before the plan is applied: refusals, missing permissions, warnings, new permissions."""
    notes = [("refused: ", as_screen_commands(text), "error") for text in preview.refusals]
    notes += [("missing permission: ", str(right), "error") for right in preview.missing]
    notes += [("", f"{preview.role}; R saves what is missing", "muted")] if preview.missing else []
    notes += [("▲ ", text, "warning") for text in preview.warnings]
    notes += [("▲ grants new permissions: ", text, "warning") for text in preview.grants]
    return Content("\n").join([with_tone(before + sanitize(text), tone) for before, text, tone in notes])
