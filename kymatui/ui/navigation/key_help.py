"""What the help says about keys: bindings with the same action are one line."""

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
    """One line of help; `off` says why the key does nothing now, or is empty. By its `id` a key is remapped."""

    group: str
    keys: str
    label: str
    off: str = ""
    id: str = ""


def key_name(key: str) -> str:
    """As people write it: `ctrl-d`, `?`, `G`."""
    return NAMES.get(key) or key.replace("ctrl+", "ctrl-").replace("shift+", "shift-")


def join_keys(names: list[str]) -> str:
    """`j, down`; a run of digits becomes `0 … 9`."""
    if len(names) > 2 and all(name.isdigit() for name in names):
        return f"{min(names)} … {max(names)}"
    return ", ".join(names)


def group_of(binding_id: str | None, screen: str) -> str:
    prefix = (binding_id or "").partition(".")[0]
    return GROUPS.get(prefix, screen)


def group_keys(keys: Iterable[KeyHelp]) -> list[tuple[str, list[KeyHelp]]]:
    """The keys of the screen first, then those that move, and last those that work everywhere."""
    groups: dict[str, list[KeyHelp]] = {}
    for key in keys:
        groups.setdefault(key.group, []).append(key)
    last = (GROUPS["table"], GROUPS["app"])
    return sorted(groups.items(), key=lambda item: last.index(item[0]) + 1 if item[0] in last else 0)
