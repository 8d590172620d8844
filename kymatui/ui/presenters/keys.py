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
    """One line of help; `off` says why the key does nothing now, or is empty."""

    group: str
    keys: str
    label: str
    off: str = ""


def key_name(key: str) -> str:
    """As people write it: `ctrl-d`, `?`, `G`."""
    return NAMES.get(key) or key.replace("ctrl+", "ctrl-").replace("shift+", "shift-")


def joined(names: list[str]) -> str:
    """`j, down`; a run of digits becomes `0 … 9`."""
    if len(names) > 2 and all(name.isdigit() for name in names):
        return f"{min(names)} … {max(names)}"
    return ", ".join(names)


def group_of(binding_id: str | None, screen: str) -> str:
    prefix = (binding_id or "").partition(".")[0]
    return GROUPS.get(prefix, screen)


def grouped(keys: Iterable[KeyHelp]) -> list[tuple[str, list[KeyHelp]]]:
    """By group in order of appearance, the keys that work everywhere last."""
    groups: dict[str, list[KeyHelp]] = {}
    for key in keys:
        groups.setdefault(key.group, []).append(key)
    return sorted(groups.items(), key=lambda item: item[0] == GROUPS["app"])
