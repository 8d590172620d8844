"""Help texts of keys, in groups by task; bindings with the same action share one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from textual.binding import Binding

from kymatui.errors import did_you_mean, nearest_names

NAMES = {
    "question_mark": "?",
    "slash": "/",
    "full_stop": ".",
    "equals_sign": "=",
    "colon": ":",
    "comma": ",",
    "escape": "esc",
    "asterisk": "*",
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
PLUGINS = "Your plugins"

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
    "table.mark-all": KEEP,
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
    "module.restart": CHANGE,
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
    "plugin.": PLUGINS,
    "fleet.": FLEET,
    "fleet.sort-": VIEW,
    "fleet.group": VIEW,
}
_ORDER = (MOVE, FIND, LOOK, CHANGE, PLUGINS, FLEET, OPEN, VIEW, KEEP, LEAVE)


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


# Validation of configured keys: unknown ids, and conflicts within one screen.


KeyScope = Mapping[str, tuple[str, ...]]
"""Keys by the ids of the bindings that work at the same time."""


def key_scope(*owners: type) -> KeyScope:
    """Return the bindings of the classes and of their bases."""
    keys: dict[str, tuple[str, ...]] = {}
    for kind in (kind for owner in owners for kind in _heritage(owner)):
        for binding in vars(kind).get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id:
                keys[binding.id] = tuple(key.strip() for key in binding.key.split(","))
    return keys


def _heritage(owner: type) -> Iterator[type]:
    """Yield the classes whose bindings this class inherits, by Textual's rules."""
    for kind in owner.__mro__:
        yield kind
        if vars(kind).get("_inherit_bindings") is False:
            return


def keymap_problems(keys: Mapping[str, str], scopes: Iterable[KeyScope]) -> Iterator[str]:
    """Yield the problems of the configured keys, each once."""
    scopes = list(scopes)
    known = {name for entry in scopes for name in entry}
    for name in keys.keys() - known:
        hint = did_you_mean(nearest_names(name, known, 1)) or "; press i in the help (?) to see the ids"
        yield f'keys: no binding "{name}"{hint}'
    reported = set()
    for scope in scopes:
        for clash in _clashes(keys, scope):
            if clash not in reported:
                reported.add(clash)
                yield clash


def _clashes(keys: Mapping[str, str], scope: KeyScope) -> Iterator[str]:
    by_key: dict[str, list[str]] = {}
    for name, default in scope.items():
        for key in (part.strip() for part in keys[name].split(",")) if name in keys else default:
            by_key.setdefault(key, []).append(name)
    for key, names in by_key.items():
        if len(names) > 1 and any(name in keys for name in names):
            yield f"keys: {key_name(key)} is assigned to both {' and '.join(sorted(names))}; only one of them works"
