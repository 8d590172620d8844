"""Every key that does something here, grouped, with the reason where one is off."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from kymatui.ui.presenters.keys import KeyHelp, grouped


class HelpScreen(ModalScreen[None]):
    """Closed by the key that opened it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,escape,q", "dismiss", "Close", id="help.close"),
        Binding("down,j", "scroll(1)", show=False),
        Binding("up,k", "scroll(-1)", show=False),
    ]

    def __init__(self, title: str, keys: Iterable[KeyHelp]) -> None:
        super().__init__()
        self._title = title
        self._keys = tuple(keys)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help") as box:
            box.border_title = self._title
            box.border_subtitle = "? or esc closes"
            for group, keys in grouped(self._keys):
                yield Static(Content.styled(group, "bold $primary"), classes="help-group")
                yield Static(_lines(keys), classes="help-keys")

    def action_scroll(self, by: int) -> None:
        self.query_one("#help").scroll_relative(y=by, animate=False)


def _lines(keys: Iterable[KeyHelp]) -> Content:
    lines = []
    for key in keys:
        style = "$foreground-muted" if key.off else "$text-accent"
        line = [Content.styled(f"  {key.keys:<18}", style), Content(key.label)]
        if key.off:
            line.append(Content.styled(f"  (off: {key.off})", "$foreground-muted"))
        lines.append(Content.assemble(*line))
    return Content("\n").join(lines)
