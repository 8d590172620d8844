"""Screens that report why a disabled key does nothing."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.screen import Screen, ScreenResultType

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.first_paint import FirstPaintScreen
from kymatui.ui.base.screen_keys import action_of

_SILENT: Final = frozenset({"back"})  # users press Escape to reach the first screen for sure


class DisabledKeysScreen(FirstPaintScreen[ScreenResultType]):
    """Screen that finds the disabled action by its binding; subclasses return the reason."""

    def why_off(self, action: str, choice: object = "") -> str:
        """Return why an action with its first parameter is disabled now; "" where it is enabled."""
        del action, choice
        return ""

    def on_key(self, event: events.Key) -> None:
        """Report the reason of a disabled key; pass enabled keys on."""
        active = self.active_bindings.get(event.key)
        if active is None or active.enabled or not isinstance(active.node, Screen):
            return
        action, choice = action_of(active.binding)
        reason = self.why_off(action, choice) if action not in _SILENT else ""
        if reason:
            event.stop()
            label = active.binding.description
            self.notify(sanitize(f"{label} is disabled: {reason}"), severity="warning", timeout=5)
