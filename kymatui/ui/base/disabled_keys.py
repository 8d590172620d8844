"""Screens whose keys never do nothing in silence: one that is off says why."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.screen import Screen, ScreenResultType

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.first_paint import FirstPaintScreen

_SILENT: Final = frozenset({"back"})  # escape on the first screen is pressed to be sure that it is the first


class DisabledKeysScreen(FirstPaintScreen[ScreenResultType]):
    """Subclasses give the reason of an action that is off; its key is found by the binding."""

    def why_off(self, action: str) -> str:
        """Why an action can do nothing now; empty where it can."""
        del action
        return ""

    def on_key(self, event: events.Key) -> None:
        """Say the reason; keys that are on go their way."""
        active = self.active_bindings.get(event.key)
        if active is None or active.enabled or not isinstance(active.node, Screen):
            return
        action = active.binding.action.partition("(")[0]
        reason = self.why_off(action) if action not in _SILENT else ""
        if reason:
            event.stop()
            label = active.binding.description
            self.notify(sanitize(f"{label} is off: {reason}"), severity="warning", markup=False, timeout=5)
