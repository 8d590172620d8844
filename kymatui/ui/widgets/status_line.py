"""A sentence under a table that changes with every move of the cursor."""

from __future__ import annotations

from textual.content import Content
from textual.css.scalar import Scalar
from textual.widgets import Static


class StatusLine(Static):
    """Lays the screen out again only where the new sentence needs another height: that is half of what a key costs."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id)
        self._said: tuple[str, str] = ("", "")
        self._shape: tuple[int, int] = (0, 0)

    def say(self, content: Content) -> None:
        """Shows it; the same again costs nothing."""
        said = content.plain, repr(content.spans)  # contents are equal whatever their styles
        if said == self._said:
            return
        self._said = said
        width = max(self.content_size.width, 1)
        shape = width, self._height(content.get_height({}, width))
        self.update(content, layout=shape != self._shape)
        self._shape = shape

    def _height(self, lines: int) -> int:
        """The lines that the sheet of styles grants."""
        least, most = _cells(self.styles.min_height, 0), _cells(self.styles.max_height, lines)
        return max(least, min(lines, most))


def _cells(scalar: Scalar | None, default: int) -> int:
    return scalar.cells or default if scalar is not None else default
