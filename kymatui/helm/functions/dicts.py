"""Functions on maps. `set`, `unset` and the merges change the map in place, for all references to it."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.casting import to_text
from kymatui.helm.functions.declaring import LIST_LIMIT, declare, hold_list, table
from kymatui.helm.functions.defaults import empty
from kymatui.helm.functions.strings import string_list
from kymatui.helm.govalues.bounding import hold_value
from kymatui.helm.govalues.budget import charge, watched
from kymatui.helm.govalues.comparing import is_nil
from kymatui.helm.govalues.types import MAP, FunctionError, Panic, TypedList, TypedMap, go_type, kind
from kymatui.helm.language.tables import Values

# Merge of maps as in dario.cat/mergo 1.0.2: in place and recursive; lists are not merged.


ENTRY: Final = 100
"""Bytes that an entry takes in a map."""


class MergeError(FunctionError):
    """Two values that mergo refuses to merge: `merge` returns "" then, `mustMerge` fails."""


def merge_into(target: dict[Any, Any], source: dict[Any, Any], *, overwrite: bool) -> None:
    """Set missing or empty keys of the target; with `overwrite`, all keys, even to nil or zero.

    A map that only the source has is shared afterwards, not copied.
    """
    _Merging(overwrite).maps(target, source, 0)


class _Merging:
    """One merge with its budget of keys: shared maps are visited repeatedly."""

    __slots__ = ("left", "overwrite")

    def __init__(self, overwrite: bool) -> None:
        self.overwrite = overwrite
        self.left = LIST_LIMIT

    def maps(self, target: dict[Any, Any], source: dict[Any, Any], depth: int) -> None:
        if depth > _DEEPEST:
            raise FunctionError(f"merge: the maps are nested more than {_DEEPEST} deep")
        self.left -= len(source)
        if self.left < 0:
            raise FunctionError(f"merge: the maps have more than {LIST_LIMIT} keys, which is the limit")
        charge(ENTRY * len(source))
        for key in watched(list(source)):
            incoming = source[key]
            if incoming is None:
                if self.overwrite:
                    target[key] = incoming
            elif isinstance(incoming, list):
                if self.overwrite or empty(target.get(key)):
                    target[key] = incoming
            else:
                self.value(target, key, incoming, depth)

    def value(self, target: dict[Any, Any], key: Any, incoming: Any, depth: int) -> None:
        present = target.get(key)
        if isinstance(incoming, dict):
            if isinstance(present, dict) and not is_nil(present):
                self.maps(present, incoming, depth + 1)
                if present:
                    return
            elif kind(present) == "ptr" and not self.overwrite:
                raise MergeError("src and dst must be of same type")
        if self.overwrite or key not in target or empty(present):
            target[key] = incoming


_DEEPEST: Final = 300


def make_dict(*pairs: Any) -> dict[str, Any]:
    """Return a map of alternating keys and values; a last key without value gets ""."""
    values = [*pairs, ""] if len(pairs) % 2 else pairs
    return {to_text(values[number]): values[number + 1] for number in range(0, len(values), 2)}


def get(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key, "")


def set_key(mapping: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    if is_nil(mapping):
        raise Panic("assignment to entry in nil map")
    charge(ENTRY)
    mapping[key] = value
    return mapping


def unset(mapping: dict[str, Any], key: str) -> dict[str, Any]:
    mapping.pop(key, None)
    return mapping


def has_key(mapping: dict[str, Any], key: str) -> bool:
    return key in mapping


def pluck(key: str, *mappings: dict[str, Any]) -> list[Any]:
    return [mapping[key] for mapping in mappings if key in mapping]


def keys(*mappings: dict[str, Any]) -> TypedList:
    """Return the keys in insertion order; Go's order is random, and this is the likeliest for small maps."""
    hold_list(sum(map(len, mappings)), "keys: the list")
    return string_list(key for mapping in mappings for key in mapping)


def values(mapping: dict[str, Any]) -> list[Any]:
    """Return the values in the order of `keys`."""
    return list(mapping.values())


def pick(mapping: dict[str, Any], *wanted_keys: str) -> dict[str, Any]:
    return {key: mapping[key] for key in wanted_keys if key in mapping}


def omit(mapping: dict[str, Any], *unwanted: str) -> dict[str, Any]:
    omitted = frozenset(unwanted)
    return {key: value for key, value in mapping.items() if key not in omitted}


def merge(target: dict[str, Any], *sources: dict[str, Any]) -> Any:
    return _merged(target, sources, overwrite=False)


def merge_overwrite(target: dict[str, Any], *sources: dict[str, Any]) -> Any:
    return _merged(target, sources, overwrite=True)


def _merged(target: dict[str, Any], sources: tuple[dict[str, Any], ...], *, overwrite: bool) -> Any:
    try:
        return must_merged(target, sources, overwrite=overwrite)
    except MergeError:
        return ""


def must_merge(target: dict[str, Any], *sources: dict[str, Any]) -> Any:
    return must_merged(target, sources, overwrite=False)


def must_merge_overwrite(target: dict[str, Any], *sources: dict[str, Any]) -> Any:
    return must_merged(target, sources, overwrite=True)


def must_merged(target: dict[str, Any], sources: tuple[dict[str, Any], ...], *, overwrite: bool) -> dict[str, Any]:
    for source in sources:
        if is_nil(target) and not is_nil(source):
            target = {}
        merge_into(target, source, overwrite=overwrite)
    return target


def dig(*arguments: Any) -> Any:
    """Evaluate dig KEY… DEFAULT MAP: the value at the keys, or the default if a key is missing."""
    if len(arguments) < 3:
        raise Panic("dig needs at least three arguments")
    *path, fallback, value = arguments
    value = _as_map(value)
    for key in path:
        if not isinstance(key, str):
            raise Panic(f"interface conversion: interface {{}} is {_named(key)}, not string")
    for number, key in enumerate(path):
        if key not in value:
            return fallback
        value = value[key] if number == len(path) - 1 else _as_map(value[key])
    return value


def _as_map(value: Any) -> Any:
    if go_type(value) != MAP:
        raise Panic(f"interface conversion: interface {{}} is {_named(value)}, not {MAP}")
    return value


def _named(value: Any) -> str:
    return "nil" if value is None else go_type(value)


def deep_copy(value: Any) -> Any:
    """Return copystructure's deep copy of maps and lists."""
    if value is None:
        raise Panic("reflect: call of reflect.Value.Type on zero Value")
    hold_value(value, "deepCopy: the copy")
    return _copied(value, 0)


def _copied(value: Any, depth: int) -> Any:
    if isinstance(value, (list, dict)):
        charge(ENTRY * len(value))
    if depth > _DEEPEST:
        raise FunctionError(f"deepCopy: the value is nested more than {_DEEPEST} deep")
    if isinstance(value, Values):
        return Values({key: _copied(item, depth + 1) for key, item in value.items()})
    if isinstance(value, TypedMap):
        same = TypedMap(value.go_type, is_nil=value.is_nil)
        same.update({key: _copied(item, depth + 1) for key, item in value.items()})
        return same
    if isinstance(value, dict):
        return {key: _copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, TypedList):
        return TypedList(value.go_type, [_copied(item, depth + 1) for item in value], is_nil=value.is_nil)
    if isinstance(value, list):
        return [_copied(item, depth + 1) for item in value]
    # Immutable values need no copy, but copystructure drops unexported fields.
    copy = getattr(value, "go_copy", None)
    return copy() if copy else value


FUNCTIONS: Final = table(
    (
        declare("dict(...any)", make_dict),
        declare("get(map, string)", get),
        declare("set(map, string, any)", set_key),
        declare("unset(map, string)", unset),
        declare("hasKey(map, string)", has_key),
        declare("pluck(string, ...map)", pluck),
        declare("keys(...map)", keys),
        declare("values(map)", values),
        declare("pick(map, ...string)", pick),
        declare("omit(map, ...string)", omit),
        declare("merge(map, ...map)", merge),
        declare("mergeOverwrite(map, ...map)", merge_overwrite),
        declare("mustMerge(map, ...map)", must_merge),
        declare("mustMergeOverwrite(map, ...map)", must_merge_overwrite),
        declare("dig(...any)", dig),
        declare("deepCopy(any)", deep_copy),
        declare("mustDeepCopy(any)", deep_copy),
    )
)
