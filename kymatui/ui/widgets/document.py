"""Long text that draws only its visible lines, with a search that marks every match."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from kymatui.domain.kubernetes.terminal_text import format_count, sanitize
from kymatui.ui.terminal.file_saving import copy_text
from kymatui.ui.terminal.plain_widgets import ScrollView, VerticalScroll

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


_YAML_KEY = re.compile(r"^(\s*(?:- )*)([^\s:#][^:#]*)(:)(?=\s|$)")


class Document(ScrollView, can_focus=True):
    """Read-only lines of YAML. `find` marks matches; n and N move between them."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"document--key", "document--match", "document--current"}

    BINDINGS: ClassVar[list[BindingType]] = [
        *SCROLL_KEYS,
        Binding("n", "next(1)", "Next match", show=False, id="document.next"),
        Binding("N", "next(-1)", "Previous match", show=False, id="document.before"),
    ]

    class Moved(Message):
        """Message: the current match or the pattern changed."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._lines: Sequence[str] = ()
        self._pattern: re.Pattern[str] | None = None
        self._matches: list[int] = []
        self._current = -1

    @property
    def lines(self) -> Sequence[str]:
        return self._lines

    @property
    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def copy(self) -> None:
        """Send the text to the clipboard."""
        copy_text(self.app, self.text, format_count(len(self._lines), "line"))

    @property
    def filter_text(self) -> str:
        """Return the pattern, "" without a search."""
        return self._pattern.pattern if self._pattern is not None else ""

    @property
    def place(self) -> str:
        """Return the position of the current match such as `2 of 5`, or "no match"."""
        return f"{self._current + 1} of {len(self._matches)}" if self._matches else "no match"

    def show(self, text: str) -> None:
        """Display a new text and keep the scroll position."""
        lines = tuple(sanitize(line) for line in text.splitlines())
        if lines == self._lines:
            return
        self._lines = lines
        width = max((cell_len(line) for line in lines), default=0)
        self.virtual_size = Size(width + 2, len(lines))
        self._search()

    def set_filter(self, text: str) -> str:
        """Mark every match of a pattern; return the problem with it, or ""."""
        try:
            self._pattern = re.compile(text, re.IGNORECASE) if text else None
        except re.error as error:
            return f"invalid regular expression: {error}"
        self._current = -1
        self._search()
        if self._matches:
            self.action_next(1)
        else:
            self.post_message(self.Moved())
        return "" if self._matches or not text else "no match"

    def _search(self) -> None:
        pattern = self._pattern
        self._matches = [n for n, line in enumerate(self._lines) if pattern.search(line)] if pattern else []
        self._current = min(self._current, len(self._matches) - 1)
        self.refresh()

    def action_next(self, by: int) -> None:
        if not self._matches:
            return
        self._current = (self._current + by) % len(self._matches)
        line = self._matches[self._current]
        self.scroll_to(y=max(line - self.size.height // 2, 0), animate=False)
        self.refresh()
        self.post_message(self.Moved())

    def render_line(self, y: int) -> Strip:
        left_edge, top = round(self.scroll_offset.x), round(self.scroll_offset.y)
        number, width = top + y, self.scrollable_content_region.width
        base = self.rich_style
        if number >= len(self._lines):
            return Strip.blank(width, base)
        segments = [Segment(" ", base), *self._segments(number, base)]
        return Strip(segments).crop_extend(left_edge, left_edge + width, base)

    def _segments(self, number: int, base: Style) -> Iterator[Segment]:
        line = self._lines[number]
        marked = self._pattern.finditer(line) if self._pattern else iter(())
        here = bool(self._matches) and self._current >= 0 and self._matches[self._current] == number
        style = self.get_component_rich_style("document--current" if here else "document--match")
        position = 0
        for match in marked:
            yield from self._coloured(line[position : match.start()], base, position == 0)
            yield Segment(match.group(), style)
            position = match.end()
        yield from self._coloured(line[position:], base, position == 0)

    def _coloured(self, text: str, base: Style, from_start: bool) -> Iterator[Segment]:
        key = _YAML_KEY.match(text) if from_start else None
        if key is None:
            yield Segment(text, base)
            return
        colour = self.get_component_rich_style("document--key").color
        yield Segment(key[1], base)
        yield Segment(key[2], base + Style(color=colour))
        yield Segment(text[key.end(2) :], base)
