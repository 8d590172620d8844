"""The last line: what the keys do here. One widget, where Textual's footer is one a key, which costs at every start."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.widget import Widget

from kymatui.ui.presenters.keys import key_name


class KeyBar(Widget):
    """The bindings that are shown, those that are off dimmed; a click presses the key."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda _: self.refresh())

    def _shown(self) -> list[tuple[str, str, bool]]:
        """Key, description and whether it does something, one an action."""
        found: dict[str, tuple[str, str, bool]] = {}
        for key, active in self.screen.active_bindings.items():
            binding = active.binding
            if binding.show and binding.description and binding.action not in found:
                found[binding.action] = (key, binding.description, active.enabled)
        return list(found.values())

    def render(self) -> Content:
        parts = [Content(" ")]
        for key, description, enabled in self._shown():
            style = "bold $accent" if enabled else "$foreground-muted"
            parts.append(Content.styled(key_name(key), style))
            parts.append(Content.styled(f" {description}   ", "" if enabled else "$foreground-muted"))
        return Content.assemble(*parts)

    async def on_click(self, event: events.Click) -> None:
        left = 1
        for key, description, _ in self._shown():
            right = left + len(key_name(key)) + len(description) + 4
            if left <= event.x < right - 2:
                self.app.simulate_key(key)
                return
            left = right
