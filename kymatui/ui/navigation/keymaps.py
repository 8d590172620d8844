"""Validation of configured keys: unknown ids, and conflicts within one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from textual.binding import Binding

from kymatui.errors import did_you_mean, nearest_names
from kymatui.ui.navigation.key_help import key_name

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
