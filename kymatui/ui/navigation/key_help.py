"""Help texts of keys: bindings with the same action share one line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

NAMES = {
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
    "escape": "esc",
    "ctrl+@": "ctrl-space",
    "ctrl+backslash": "ctrl-\\",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "minus": "-",
    "pagedown": "page down",
    "pageup": "page up",
}

GROUPS = {"table": "Moving and marking", "app": "Everywhere"}


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """One line of the help; `off` is the reason if disabled, `id` is the key's name in the keymap."""

    group: str
    keys: str
    label: str
    off: str = ""
    id: str = ""


def key_name(key: str) -> str:
    """Return the key as people write it: `ctrl-d`, `?`, `G`."""
    return NAMES.get(key) or key.replace("ctrl+", "ctrl-").replace("shift+", "shift-")


def join_keys(names: list[str]) -> str:
    """Return the keys as `j, down`; digits in sequence become `0 … 9`."""
    if len(names) > 2 and all(name.isdigit() for name in names):
        return f"{min(names)} … {max(names)}"
    return ", ".join(names)


def group_of(binding_id: str | None, screen: str) -> str:
    prefix = (binding_id or "").partition(".")[0]
    return GROUPS.get(prefix, screen)


def group_keys(keys: Iterable[KeyHelp]) -> list[tuple[str, list[KeyHelp]]]:
    """Return the groups: the keys of the screen first, then movement, then global keys."""
    groups: dict[str, list[KeyHelp]] = {}
    for key in keys:
        groups.setdefault(key.group, []).append(key)
    last = (GROUPS["table"], GROUPS["app"])
    return sorted(groups.items(), key=lambda item: last.index(item[0]) + 1 if item[0] in last else 0)
