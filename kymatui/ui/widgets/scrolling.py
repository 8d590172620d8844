"""Scroll keys for texts, the same everywhere."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from kymatui.ui.terminal.plain_widgets import VerticalScroll

SCROLL_KEYS: tuple[Binding, ...] = (
    Binding("j,down", "scroll_down", "Down", show=False, id="document.down"),
    Binding("k,up", "scroll_up", "Up", show=False, id="document.up"),
    Binding("ctrl+f,pagedown,space", "page_down", "Page down", show=False, id="document.page-down"),
    Binding("ctrl+b,pageup", "page_up", "Page up", show=False, id="document.page-up"),
    Binding("g,home", "scroll_home", "First line", show=False, id="document.begin"),
    Binding("G,end", "scroll_end", "Last line", show=False, id="document.end"),
)


class TextScroll(VerticalScroll, can_focus=True):
    """Scroll container for widgets that are longer than the screen."""

    BINDINGS: ClassVar[list[BindingType]] = [*SCROLL_KEYS]
