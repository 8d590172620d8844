"""Help texts of keys, in groups by task; bindings with the same action share one line."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

NAMES = {
    "question_mark": "?",
    "slash": "/",
    "full_stop": ".",
    "equals_sign": "=",
    "colon": ":",
    "comma": ",",
    "escape": "esc",
    "ctrl+@": "ctrl-space",
    "ctrl+backslash": "ctrl-\\",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "minus": "-",
    "ampersand": "&",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "pagedown": "page down",
    "pageup": "page up",
}

MOVE, FIND, LOOK, CHANGE = "Move", "Find", "Inspect a module", "Change modules"
FLEET, OPEN, VIEW, KEEP, LEAVE = "Fleet", "Open another screen", "View", "Mark, copy and save", "Leave"

_IDS = {
    "app.command": FIND,
    "app.filter": FIND,
    "app.help": FIND,
    "app.palette": FIND,
    "app.channels": OPEN,
    "app.problem-list": OPEN,
    "app.changes": OPEN,
    "app.jobs": OPEN,
    "app.refresh": VIEW,
    "app.save": KEEP,
    "table.mark": KEEP,
    "table.mark-range": KEEP,
    "table.unmark": KEEP,
    "table.copy": KEEP,
    "table.copy-as": KEEP,
    "table.sort-next": VIEW,
    "table.sort-turn": VIEW,
    "document.next": FIND,
    "document.before": FIND,
    "catalog.columns": VIEW,
    "catalog.pin": KEEP,
    "catalog.problems": FIND,
    "channels.differences": FIND,
    "compare.whole": VIEW,
    "compare.sync": FLEET,
    "fleet.problems": FIND,
    "whatif.moves": FIND,
    "fleet.edit": CHANGE,
    "module.act": CHANGE,
    "module.manage": CHANGE,
    "module.install": CHANGE,
    "module.upgrade": CHANGE,
    "module.delete": CHANGE,
    "module.edit": CHANGE,
    "module.copy-yaml": KEEP,
    "module.link": OPEN,
    "object.copy": KEEP,
    "object.logs": OPEN,
    "object.yaml": VIEW,
    "object.describe": VIEW,
    "delete.logs": OPEN,
    "problems.logs": OPEN,
    "log.left": MOVE,
    "log.right": MOVE,
    "logs.filter": FIND,
    "logs.copy": KEEP,
}
_BEGINNINGS = {  # the longest beginning of an id decides
    "app.": LEAVE,
    "table.": MOVE,
    "document.": MOVE,
    "matrix.": MOVE,
    "catalog.": LOOK,
    "catalog.view-": VIEW,
    "catalog.sort-": VIEW,
    "module.": LOOK,
    "fleet.": FLEET,
    "fleet.sort-": VIEW,
    "fleet.group": VIEW,
}
_ORDER = (MOVE, FIND, LOOK, CHANGE, FLEET, OPEN, VIEW, KEEP, LEAVE)


class KeyHelp(Struct, frozen=True):
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
    """Return the group of a binding: its task, or `screen` for the keys of one screen alone."""
    known = binding_id or ""
    beginnings = [begins for begins in _BEGINNINGS if known.startswith(begins)]
    return _IDS.get(known) or (_BEGINNINGS[max(beginnings, key=len)] if beginnings else screen)


def group_keys(keys: Iterable[KeyHelp]) -> list[tuple[str, list[KeyHelp]]]:
    """Return the groups: the keys of the screen alone first, then the tasks in a fixed order."""
    groups: dict[str, list[KeyHelp]] = {}
    for key in keys:
        groups.setdefault(key.group, []).append(key)
    return sorted(groups.items(), key=lambda item: _ORDER.index(item[0]) + 1 if item[0] in _ORDER else 0)
