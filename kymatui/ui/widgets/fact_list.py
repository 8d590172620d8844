"""Labels with aligned texts; long texts wrap under their own start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.style import Style

from kymatui.ui.terminal.plain_widgets import PlainText, with_tone
from kymatui.ui.viewmodels.display_text import Fact, fit_to_width

_WIDEST = 44  # cells of the labels' column; longer labels are shortened
_LEAST = 12  # cells of a text at least, also in a narrower terminal


class Facts(PlainText):
    """List of facts without the empty ones."""

    def __init__(
        self, *, id: str | None = None, classes: str | None = None, title: str = "", labels: str = "$foreground-muted"
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._facts: tuple[Fact, ...] = ()
        self._at: Callable[[float], Iterable[Fact]] | None = None
        self._wrapped: dict[int, Sequence[Content]] = {}  # by width; a layout queries the height repeatedly
        self.border_title = title
        self._label_style = labels

    @property
    def facts(self) -> tuple[Fact, ...]:
        return self._facts

    def show(self, facts: Iterable[Fact]) -> None:
        shown = tuple(fact for fact in facts if fact.text)
        if shown != self._facts:
            self._facts = shown
            self._wrapped.clear()
            self.refresh(layout=True)

    def show_at(self, now: float, facts: Callable[[float], Iterable[Fact]]) -> None:
        """Show facts with ages, from a function of the time."""
        self._at = facts
        self.show(facts(now))

    def advance(self, now: float) -> None:
        """Advance the ages; paint nothing while all read the same."""
        if self._at is not None:
            self.show(self._at(now))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.size.width))

    def _lines(self, width: int) -> Sequence[Content]:
        if width not in self._wrapped:
            self._wrapped[width] = tuple(self._wrap(width))
        return self._wrapped[width]

    def _wrap(self, width: int) -> Iterator[Content]:
        labels = max((cell_len(fact.label) for fact in self._facts), default=0)
        gutter = min(labels, _WIDEST, max(width // 2, 1)) + 2 if labels else 0
        for fact in self._facts:
            label = Content.styled(fit_to_width(fact.label, gutter - 2) + "  " if gutter else "", self._label_style)
            text = with_tone(fact.text, fact.tone)
            if fact.link:
                text = text.stylize(Style(link=fact.link))
            lines = text.wrap(max(width - gutter, _LEAST))
            for number, line in enumerate(lines):
                yield Content.assemble(label if number == 0 else " " * gutter, line)
