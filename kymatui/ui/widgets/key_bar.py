"""Key bar in the last line. One widget, since Textual's footer has one per key and slows the start."""

from __future__ import annotations

from textual import events
from textual.content import Content

from kymatui.ui.navigation.key_help import key_name
from kymatui.ui.terminal.plain_widgets import PlainText

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
