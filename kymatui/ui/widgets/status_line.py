"""Sentence under a table that changes with every move of the cursor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content
from textual.css.scalar import Scalar

from kymatui.ui.terminal.plain_widgets import Static

if TYPE_CHECKING:
    from kymatui.domain.plans.cluster_target import ClusterTarget


class StatusLine(Static):
    """Line that triggers a layout only for a new height, since layout is half the cost of a key."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("", id=id)
        self._said: tuple[str, str] = ("", "")
        self._shape: tuple[int, int] = (0, 0)

    def show(self, content: Content) -> None:
        """Display the content; ignore the same content."""
        shown = content.plain, repr(content.spans)  # Content ignores styles when it compares
        if shown == self._said:
            return
        self._said = shown
        width = max(self.content_size.width, 1)
        shape = width, self._height(content.get_height({}, width))
        self.update(content, layout=shape != self._shape)
        self._shape = shape

    def _height(self, lines: int) -> int:
        """Return the height within the limits of the stylesheet."""
        least, most = _cells(self.styles.min_height, 0), _cells(self.styles.max_height, lines)
        return max(least, min(lines, most))


def _cells(scalar: Scalar | None, default: int) -> int:
    return scalar.cells or default if scalar is not None else default


class TargetLine(Static):
    """Context, server, namespace, access and edited Kyma: the first lines of every screen that leads to a write."""

    DEFAULT_CSS = "TargetLine { height: auto; }"

    def __init__(self, *targets: ClusterTarget) -> None:
        super().__init__(_lines(targets), classes="target")

    def show_targets(self, *targets: ClusterTarget) -> None:
        self.update(_lines(targets))


def _lines(targets: tuple[ClusterTarget, ...]) -> Content:
    return Content("\n".join(line for target in targets for line in target.lines) or "Cluster: not connected")
