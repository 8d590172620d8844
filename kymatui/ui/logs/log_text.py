"""Lines of a log: only the rows that fit are drawn, with the container's label in its colour and marked matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct
from rich.cells import cell_len, chop_cells
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from kymatui.domain.logs.log_lines import LogRing, PodLogLine
from kymatui.domain.logs.log_sources import LogSource
from kymatui.ui.logs.log_labels import LogMarks
from kymatui.ui.logs.log_link import LogLink
from kymatui.ui.terminal.plain_widgets import PlainText
from kymatui.ui.viewmodels.row_filter import RowFilter, parse_filter
from kymatui.ui.widgets.document import SCROLL_KEYS

_COLOURS = 6  # colours in the stylesheet; the next container uses the first one again
_WHEEL = 3  # rows
_SIDEWAYS = 20  # cells


class LogText(PlainText, can_focus=True):
    """Text over the ring of a link. `/` marks matches, the filter hides lines."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log-text--match",
        "log-text--current",
        *(f"log-text--source-{number}" for number in range(_COLOURS)),
    }

    BINDINGS: ClassVar[list[BindingType]] = [
        *SCROLL_KEYS,
        Binding("left", "sideways(-1)", "Left", show=False, id="log.left"),
        Binding("right", "sideways(1)", "Right", show=False, id="log.right"),
        Binding("n", "next(1)", "Next match", show=False, id="document.next"),
        Binding("N", "next(-1)", "Previous match", show=False, id="document.before"),
    ]

    class Moved(Message):
        """Message: the following, the match or the filter changed."""

    def __init__(self, link: LogLink, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._link = link
        self.window = LogWindow(link.ring)
        self.filter: RowFilter = parse_filter("")
        self._labels: Mapping[LogSource, str] = {}
        self._colours: dict[LogSource, int] = {}
        self._left = 0
        self._pattern: re.Pattern[str] | None = None
        self._current: PodLogLine | None = None
        self._rows: list[LogRow] = []

    # content

    def label(self, labels: Mapping[LogSource, str]) -> None:
        """Display these labels; a container keeps its colour."""
        for source in labels:
            self._colours.setdefault(source, len(self._colours) % _COLOURS)
        if labels != self._labels:
            self._labels = labels
            self.refresh()

    def hide_unmatched(self, text: str) -> str:
        """Display only lines that a filter accepts; return the problem with it, or ""."""
        row_filter = parse_filter(text)
        if not row_filter.problem:
            self.filter = row_filter
            with self._link.lock:
                self._link.ring.filter((lambda line: row_filter.accepts(line.text, {})) if row_filter else None)
            self.refresh()
            self.post_message(self.Moved())
        return row_filter.problem

    def visible_text(self) -> str:
        """Return the lines that are on the screen, whole."""
        lines = dict.fromkeys(id(row.line) for row in self._rows)
        by_id = {id(row.line): row.line for row in self._rows}
        return "\n".join(self.window.text_of(by_id[key]) for key in lines)

    @property
    def marks(self) -> LogMarks:
        has_match = self._current is not None
        return LogMarks(self.window.is_following, self.filter.text.strip(), self.filter_text, has_match)

    # search, as the prompt of a screen uses it

    @property
    def filter_text(self) -> str:
        """Return the searched pattern, "" without a search."""
        return self._pattern.pattern if self._pattern is not None else ""

    def set_filter(self, text: str) -> str:
        """Mark every match of a pattern; return the problem with it, or ""."""
        try:
            self._pattern = re.compile(text, re.IGNORECASE) if text else None
        except re.error as error:
            return f"invalid regular expression: {error}"
        self._current = None
        self.action_next(-1)  # the newest match is the next one upwards
        return "" if self._current is not None or not text else "no match"

    def action_next(self, by: int) -> None:
        if self._pattern is not None:
            with self._link.lock:
                self._current = self.window.find(self._pattern, self._current, by)
                if self._current is not None:
                    self.window.reveal(self._current)
        self._moved()

    # drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        size = self.scrollable_content_region.size
        wide = max((cell_len(label) for label in self._labels.values()), default=0)
        gutter = wide + 1 if wide else 0
        window = self.window
        window.width, window.height = max(size.width - gutter - 1, 1), max(size.height, 1)
        with self._link.lock:
            self._rows = window.rows()
        base = self.rich_style
        strips = [self._strip(y, gutter, size.width, base) for y in crop.line_range]
        background, filters = self.background_colors[1], self.get_line_filters()
        for line_filter in filters:
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        return strips if crop.column_span == (0, size.width) else [strip.crop(*crop.column_span) for strip in strips]

    def _strip(self, y: int, gutter: int, width: int, base: Style) -> Strip:
        if y >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[y]
        label = self._labels.get(row.line.source, "") if row.is_first else ""
        colour = self._colours.get(row.line.source, 0)
        style = base + self.get_component_rich_style(f"log-text--source-{colour}", partial=True)
        head = [Segment(" ", base), *([Segment(label + " " * (gutter - cell_len(label)), style)] if gutter else [])]
        text = Strip([*self._segments(row, base)])
        room = width - gutter - 1
        return Strip([*head, *text.crop_extend(self._left, self._left + room, base)])

    def _segments(self, row: LogRow, base: Style) -> Iterator[Segment]:
        here = row.line is self._current
        style = self.get_component_rich_style("log-text--current" if here else "log-text--match")
        position = 0
        for match in self._pattern.finditer(row.text) if self._pattern is not None else ():
            if match.start() > position:
                yield Segment(row.text[position : match.start()], base)
            if match.group():
                yield Segment(match.group(), style)
            position = match.end()
        yield Segment(row.text[position:], base)

    # movement

    def _moved(self) -> None:
        self.refresh()
        self.post_message(self.Moved())

    def _scroll(self, by: int) -> None:
        with self._link.lock:
            self.window.move(by)
        self._moved()

    def action_scroll_down(self) -> None:
        self._scroll(1)

    def action_scroll_up(self) -> None:
        self._scroll(-1)

    def action_page_down(self) -> None:
        self._scroll(max(self.window.height - 1, 1))

    def action_page_up(self) -> None:
        self._scroll(-max(self.window.height - 1, 1))

    def action_scroll_home(self) -> None:
        with self._link.lock:
            self.window.first()
        self._moved()

    def action_scroll_end(self) -> None:
        self.window.last()
        self._moved()

    def action_sideways(self, by: int) -> None:
        self._left = 0 if self.window.is_wrapped else max(self._left + by * _SIDEWAYS, 0)
        self.refresh()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(_WHEEL)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-_WHEEL)


# The part of a ring that a screen displays: at its end, or at a line that stays while others come and go.


_SEARCHED = 4096  # characters of a line: the rest of a longer one is rarely read, and never searched


class LogRow(Struct, frozen=True):
    """One row of the screen; a wrapped line has several, of which the first one has the label."""

    line: PodLogLine
    text: str
    is_first: bool


class LogWindow:
    """Position and size over a ring. Every method reads the ring: hold its lock."""

    def __init__(self, ring: LogRing) -> None:
        self._ring = ring
        self.width, self.height = 80, 24
        self.is_wrapped = False
        self.has_times = False
        self.is_following = True
        self._top: tuple[PodLogLine, int] | None = None  # a line, and how many of its rows are above the window

    @property
    def lines(self) -> Sequence[PodLogLine]:
        return self._ring.shown

    def rows(self) -> list[LogRow]:
        """Return the rows of the window from top to bottom."""
        index, skipped = self._place()
        visible: list[LogRow] = []
        while index < len(self.lines) and len(visible) < self.height:
            line = self.lines[index]
            rows = [LogRow(line, text, number == 0) for number, text in enumerate(self._texts(line))]
            visible += rows[skipped:]
            index, skipped = index + 1, 0
        return visible[: self.height]

    def text_of(self, line: PodLogLine) -> str:
        """Return a line with its time, if times are displayed."""
        return f"{line.stamp} {line.text}" if self.has_times and line.stamp else line.text

    # movement

    def move(self, by: int) -> None:
        """Scroll by rows; stop at both ends. Upwards ends the following."""
        index, skipped = self._place()
        self.is_following = self.is_following and by >= 0
        if not self.lines or self.is_following:
            return
        skipped += by
        while skipped < 0 and index > 0:
            index -= 1
            skipped += len(self._texts(self.lines[index]))
        while index < len(self.lines) - 1 and skipped >= (rows := len(self._texts(self.lines[index]))):
            index, skipped = index + 1, skipped - rows
        self._stand(*min((index, max(skipped, 0)), self._bottom()))

    def first(self) -> None:
        self.is_following = False
        self._stand(0, 0)

    def last(self) -> None:
        """Go to the newest line and follow."""
        self.is_following = True

    def stop_following(self) -> None:
        """Keep the lines that are displayed now."""
        position = self._place()
        self.is_following = False
        self._stand(*position)

    def reveal(self, line: PodLogLine) -> None:
        """Scroll to a line, to the middle of the window if it is outside."""
        self.stop_following()
        if any(row.line is line for row in self.rows()):
            return
        self._stand(self._ring.place(line), 0)
        self.move(-(self.height // 2))

    # search

    def find(self, pattern: re.Pattern[str], start: PodLogLine | None, by: int) -> PodLogLine | None:
        """Return the next match after a line (`by` 1) or before it (-1), from the other end if there is none."""
        lines = self.lines
        if not lines:
            return None
        at = self._ring.place(start) if start is not None else (len(lines) if by < 0 else -1)
        order = [*range(at + 1, len(lines)), *range(at + 1)] if by > 0 else [*range(at - 1, -1, -1)]
        order += [] if by > 0 else [*range(len(lines) - 1, at - 1, -1)]
        return next((lines[n] for n in order if 0 <= n < len(lines) and self.matches(pattern, lines[n])), None)

    def matches(self, pattern: re.Pattern[str], line: PodLogLine) -> bool:
        return pattern.search(self.text_of(line)[:_SEARCHED]) is not None

    # rows of lines

    def _texts(self, line: PodLogLine) -> list[str]:
        text = self.text_of(line)
        if not self.is_wrapped or len(text) * 2 <= self.width or cell_len(text) <= self.width:
            return [text]
        if text.isascii():
            return [text[start : start + self.width] for start in range(0, len(text), self.width)]
        return chop_cells(text, max(self.width, 2))

    def _place(self) -> tuple[int, int]:
        """Return the index of the top line, and how many of its rows are above the window."""
        if self.is_following or self._top is None:
            return self._bottom()
        line, skipped = self._top
        index = self._ring.place(line)
        if index >= len(self.lines) or self.lines[index] is not line:
            skipped = 0
        return min((index, skipped), self._bottom())

    def _bottom(self) -> tuple[int, int]:
        """Return the place at which the newest row is the last one of the window."""
        index, room = len(self.lines), self.height
        while index > 0 and room > 0:
            index -= 1
            room -= len(self._texts(self.lines[index]))
        return index, max(-room, 0)

    def _stand(self, index: int, skipped: int) -> None:
        self._top = (self.lines[index], skipped) if index < len(self.lines) else None
        if self._top is None:
            self.is_following = self.is_following or not self.lines
