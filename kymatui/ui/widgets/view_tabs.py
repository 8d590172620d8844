"""The line of views under the top line; a key or a click chooses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from kymatui.ui.text import plain
from kymatui.ui.widgets.frame import spread


@dataclass(frozen=True, slots=True)
class Tab:
    """The key that chooses, and the word."""

    key: str
    label: str


class ViewTabs(Widget):
    """`0 all  1 regular  2 fast`, the current one marked, and at the right what is filtered."""

    class Chosen(Message):
        """A click on a view."""

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
        parts = []
        for view in self._views:
            here = view.label == self._current
            parts.append(Content.styled(f"{view.key} ", "$text-accent"))
            label = plain(view.label)
            parts.append(Content.styled(label, "bold reverse" if here else "$foreground-muted"))
            parts.append(Content("   "))
        note = Content.styled(plain(self._note), "bold $text-warning") if self._note else Content("")
        return spread(Content.assemble(*parts), note, self.size.width - 2)

    def on_click(self, event: events.Click) -> None:
        left = 1  # the padding
        for number, view in enumerate(self._views):
            right = left + len(view.key) + 1 + len(view.label)
            if left <= event.x < right:
                self.post_message(self.Chosen(number))
                return
            left = right + 3
