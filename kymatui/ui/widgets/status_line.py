"""The lines below a table: a sentence that changes with every move of the cursor, and the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events
from textual.content import Content
from textual.css.scalar import Scalar

from kymatui.ui.navigation.key_help import key_name
from kymatui.ui.terminal.plain_widgets import PlainText, Static

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


GAP = "  "
_KEPT = ("Back", "Help", "Quit")


def _width(entries: list[tuple[str, str]]) -> int:
    return 1 + sum(len(key) + 1 + len(description) + len(GAP) for key, description in entries)


class KeyBar(PlainText):
    """Bar of the enabled keys; the help has disabled keys with the reason. A click presses the key.

    Actions in a screen's `LEADING_KEYS` are hidden last.
    """

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def _shown(self) -> list[tuple[str, str]]:
        """Return keys and descriptions that fit; the last keys are hidden first."""
        entries: dict[str, tuple[str, str]] = {}
        for key, active in self.screen.active_bindings.items():
            binding = active.binding
            if active.enabled and binding.show and binding.description and binding.action not in entries:
                entries[binding.action] = (key_name(key), binding.description)
        leading = getattr(self.screen, "LEADING_KEYS", ())
        order = sorted(entries, key=lambda action: (action not in leading, entries[action][1] in _KEPT))
        shown = [entries[action] for action in order]
        while len(shown) > 1 and _width(shown) > self.size.width:
            shown.pop(next((n for n in reversed(range(len(shown))) if shown[n][1] not in _KEPT), 0))
        return shown

    def render(self) -> Content:
        parts = [Content(" ")]
        for key, description in self._shown():
            parts.append(Content.styled(key, "bold $accent"))
            parts.append(Content(f" {description}{GAP}"))
        return Content.assemble(*parts)

    async def on_click(self, event: events.Click) -> None:
        left = 1
        for key, description in self._shown():
            right = left + len(key) + 1 + len(description) + len(GAP)
            if left <= event.x < right - len(GAP):
                self.app.simulate_key(next((k for k in self.screen.active_bindings if key_name(k) == key), key))
                return
            left = right
