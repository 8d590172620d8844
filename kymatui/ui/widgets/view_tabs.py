"""Line of views under the top line; a key or a click selects one."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from rich.cells import cell_len
from textual import events
from textual.content import Content
from textual.message import Message

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.terminal.plain_widgets import PlainText
from kymatui.ui.viewmodels.display_text import clip
from kymatui.ui.widgets.top_line import spread_parts

_LAYOUTS = ((3, 99), (2, 99), (1, 99), (1, 8), (1, 6), (1, 4))
"""From roomy to tight: cells between two views, letters of a word."""


class Tab(Struct, frozen=True):
    """Key and label of a view."""

    key: str
    label: str


class ViewTabs(PlainText):
    """Views as `0 all  1 regular  2 fast`, the current one marked, and the filter at the right."""

    class Chosen(Message):
        """Message: a click on a view."""

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._views: tuple[Tab, ...] = ()
        self._current = ""
        self._note = ""

    def show(self, views: Sequence[Tab], current: str, note: str = "") -> None:
        shown = (tuple(views), current, note)
        if shown != (self._views, self._current, self._note):
            self._views, self._current, self._note = shown
            self.refresh()

    def render(self) -> Content:
        labels, gap = self._laid_out()
        parts = []
        for view, label in zip(self._views, labels, strict=True):
            here = view.label == self._current
            parts.append(Content.styled(f"{view.key} ", "$text-accent"))
            parts.append(Content.styled(label, "bold reverse" if here else "$foreground-muted"))
            parts.append(Content(" " * gap))
        parts = parts[:-1]  # the last gap would be clipped
        note = Content.styled(sanitize(self._note), "bold $text-warning") if self._note else Content("")
        return spread_parts(Content.assemble(*parts), note, self.size.width)

    def _laid_out(self) -> tuple[list[str], int]:
        """Return the labels and the space between them; a narrow line shrinks the space, then clips labels."""
        full = [sanitize(view.label) for view in self._views]
        space = self.size.width - (cell_len(self._note) + 2 if self._note else 0)
        for gap, letters in _LAYOUTS:
            labels = [
                label if view.label == self._current else clip(label, letters)
                for view, label in zip(self._views, full, strict=True)
            ]
            keys = sum(len(view.key) + 1 + gap for view in self._views)
            if keys + sum(map(cell_len, labels)) - gap <= space:
                break
        return labels, gap

    def on_click(self, event: events.Click) -> None:
        labels, gap = self._laid_out()
        left = 1  # the padding
        for number, (view, label) in enumerate(zip(self._views, labels, strict=True)):
            right = left + len(view.key) + 1 + cell_len(label)
            if left <= event.x < right:
                self.post_message(self.Chosen(number))
                return
            left = right + gap
