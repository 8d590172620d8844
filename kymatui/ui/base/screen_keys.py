"""Keys of a screen: history keys and the text of the help."""

from __future__ import annotations

from typing import Any, Final, Protocol

from textual import events
from textual.actions import parse
from textual.binding import Binding
from textual.screen import Screen, ScreenResultType

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.first_paint import FirstPaintScreen
from kymatui.ui.navigation.history import VisitHistory
from kymatui.ui.navigation.key_help import KeyHelp, group_of, join_keys, key_name


class WhyOff(Protocol):
    """Source of the reason why an action with its first parameter is disabled, "" where it is enabled."""

    def __call__(self, action: str, choice: object = "") -> str: ...


def action_of(binding: Binding) -> tuple[str, object]:
    """Return the action of a binding and its first parameter, "" without one."""
    _, action, parameters = parse(binding.action)
    return action, parameters[0] if parameters else ""


def why_no_step(visits: VisitHistory, step: object) -> str:
    """Return why a step of the history is impossible, "" where it is possible."""
    if step == "back":
        return "" if visits.can_go(-1) else "no earlier view"
    if step == "forward":
        return "" if visits.can_go(1) else "no later view"
    return "" if visits.can_toggle else "no other view yet"


def key_for(screen: Screen[Any], binding_id: str) -> str:
    """Return the name of the first active key of a binding, as the keymap has it; "" without one."""
    keys = (key for key, active in screen.active_bindings.items() if active.binding.id == binding_id)
    return next(map(key_name, keys), "")


def key_help(screen: Screen[Any], name: str, why_off: WhyOff) -> list[KeyHelp]:
    """Return one help line per action with its bindings joined; `name` is the screen's own group."""
    bindings: dict[tuple[str, str, str], tuple[list[str], Binding]] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if binding.system or not binding.description or not binding.id:
            continue
        line = (group_of(binding.id, name), binding.description, binding.action.partition("(")[0])
        names, _ = bindings.setdefault(line, ([], binding))
        names.append(key_name(key))
    return [
        KeyHelp(group, join_keys(names), label, why_off(*action_of(binding)), binding.id or "")
        for (group, label, _), (names, binding) in bindings.items()
    ]


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
