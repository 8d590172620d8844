"""Keys of a screen: history keys and the text of the help."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kymatui.ui.navigation.key_help import KeyHelp, group_of, join_keys, key_name

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.ui.navigation.history import VisitHistory


def why_no_step(visits: VisitHistory, action: str) -> str:
    """Return why a history step is impossible; "" where it is possible or `action` is no such step."""
    if action == "history_back":
        return "" if visits.can_go(-1) else "no earlier view"
    if action == "history_forward":
        return "" if visits.can_go(1) else "no later view"
    if action == "history_toggle":
        return "" if visits.can_toggle else "no other view yet"
    return ""


def key_help(screen: Screen[Any], name: str, why_off: Callable[[str], str]) -> list[KeyHelp]:
    """Return one help line per action with its bindings joined; `name` is the screen's own group."""
    found: dict[tuple[str, str, str], tuple[list[str], str]] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if binding.system or not binding.description or not binding.id:
            continue
        group, action = group_of(binding.id, name), binding.action.partition("(")[0]
        names, _ = found.setdefault((group, binding.description, action), ([], binding.id))
        names.append(key_name(key))
    return [
        KeyHelp(group, join_keys(names), label, why_off(action.rpartition(".")[2]), binding_id)
        for (group, label, action), (names, binding_id) in found.items()
    ]
