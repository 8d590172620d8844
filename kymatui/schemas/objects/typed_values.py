"""Values with schema: field sets, comparison, merge, removal (structured-merge-diff/typed)."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from kymatui.schemas.types.schema_node import ANY, Object, Schema
from kymatui.schemas.values.field_sets import FieldPath, FieldSet, compact

Form = Literal["map", "list", "scalar"]
ABSENT: Any = object()


class TypedValueError(ValueError):
    """A value that does not fit its schema; `problems` are (path, text)."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        lines = [f"{path}: {text}" if path else text for path, text in problems]
        super().__init__(lines[0] if len(lines) == 1 else "errors:" + "".join(f"\n  {line}" for line in lines))


def same_value(left: Any, right: Any) -> bool:
    """Return whether JSON values are equal: 1 equals 1.0, but not true."""
    if isinstance(left, dict):
        if not isinstance(right, dict) or left.keys() != right.keys():
            return False
        return all(same_value(value, right[name]) for name, value in left.items())
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        return all(same_value(one, other) for one, other in zip(left, right, strict=True))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def form(schema: Schema, value: Any) -> Form:
    """Return the shape of a value by its schema, or by the value itself if the schema allows any."""
    if schema.type == "object" or schema.properties or schema.additional is not None:
        return "map"
    if schema.type == "array":
        return "list"
    if schema.type or schema.int_or_string:
        return "scalar"
    if isinstance(value, list):
        return "list"
    return "map" if isinstance(value, dict) or value is None else "scalar"


def child_schema(schema: Schema, name: str) -> Schema:
    property_schema = schema.properties.get(name)
    if property_schema is not None:
        return property_schema
    return schema.additional if schema.additional is not None else ANY


def list_element(schema: Schema, item: Any) -> str:
    """Return the path element of an item of a set or list map. Raise ValueError if it has none."""
    if not schema.map_keys:
        return f"v:{compact(item)}"
    if not isinstance(item, dict):
        what = "a null element" if item is None else "non-map elements"
        raise ValueError(f"associative list with keys may not have {what}")
    keys: Object = {}
    for name in schema.map_keys:
        if name in item:
            keys[name] = item[name]
        else:
            known = schema.items.properties.get(name) if schema.items else None
            if known is not None and known.has_default:
                keys[name] = known.default
    if not keys:
        listed = json.dumps(list(schema.map_keys)).replace(", ", " ")
        raise ValueError(
            f"associative list with keys has an element that omits all key fields {listed} "
            "(and doesn't have default values for any key fields)"
        )
    return f"k:{compact(keys)}"


# -- field sets


def field_set(schema: Schema, value: Any) -> FieldSet:
    """Return the paths of all leaves and items of the value."""
    paths: set[FieldPath] = set()
    _walk(schema, value, (), paths)
    return frozenset(paths)


def _walk(schema: Schema, value: Any, path: FieldPath, paths: set[FieldPath]) -> None:
    shape = form(schema, value)
    if shape == "scalar" or schema.atomic or (shape == "list" and not schema.is_granular_list):
        paths.add(path)
    elif shape == "list":
        _walk_list(schema, value or (), path, paths)
    elif isinstance(value, dict):
        for name, item in value.items():
            below = (*path, f"f:{name}")
            _walk(child_schema(schema, name), item, below, paths)
            if item is None or item == {} or name not in schema.properties:
                paths.add(below)


def _walk_list(schema: Schema, items: Any, path: FieldPath, paths: set[FieldPath]) -> None:
    elements = [list_element(schema, item) for item in items]
    for element, item in zip(elements, items, strict=True):
        below = (*path, element)
        paths.add(below)
        if elements.count(element) == 1:
            _walk(schema.items or ANY, item, below, paths)


# -- comparing


class TypedComparison(Struct):
    """The paths that differ between two values."""

    removed: set[FieldPath] = field(default_factory=set)
    modified: set[FieldPath] = field(default_factory=set)
    added: set[FieldPath] = field(default_factory=set)


def compare(schema: Schema, old: Any, new: Any) -> TypedComparison:
    result = TypedComparison()
    _compare(schema, old, new, (), result)
    return result


def _compare(schema: Schema, old: Any, new: Any, path: FieldPath, result: TypedComparison) -> None:
    shape = form(schema, old if new is ABSENT else new)
    in_leaf = False
    if old is not ABSENT and new is not ABSENT and old is not None and new is not None:
        other = form(schema, old)
        if other != shape:
            in_leaf = _compare_as(other, schema, old, new, path, result)
    in_leaf = _compare_as(shape, schema, old, new, path, result) or in_leaf
    if not in_leaf:
        if old is ABSENT:
            result.added.add(path)
        elif new is ABSENT:
            result.removed.add(path)


def _compare_as(shape: Form, schema: Schema, old: Any, new: Any, path: FieldPath, result: TypedComparison) -> bool:
    """Compare as map, list or scalar; return whether the value is a leaf here."""
    if shape == "scalar" or schema.atomic or (shape == "list" and not schema.is_granular_list):
        return _leaf(old, new, path, result)
    kind = dict if shape == "map" else list
    left = old if isinstance(old, kind) else None
    right = new if isinstance(new, kind) else None
    if not left and not right:
        return _leaf(old, new, path, result)
    if shape == "map":
        _compare_maps(schema, left or {}, right or {}, path, result)
    else:
        _compare_lists(schema, left or [], right or [], path, result)
    return False


def _leaf(old: Any, new: Any, path: FieldPath, result: TypedComparison) -> bool:
    if old is ABSENT:
        result.added.add(path)
    elif new is ABSENT:
        result.removed.add(path)
    elif not same_value(old, new):
        result.modified.add(path)
    return True


def _surely_same(left: Any, right: Any) -> bool:
    """Return True for values that are surely equal, the common case; False decides nothing.

    To Python 1 equals true, so containers are compared as JSON too.
    """
    if type(left) is str:
        return bool(left == right)
    return type(left) in (dict, list) and left == right and msgspec.json.encode(left) == msgspec.json.encode(right)


def _compare_maps(schema: Schema, left: Any, right: Any, path: FieldPath, result: TypedComparison) -> None:
    for name, value in left.items():
        other = right.get(name, ABSENT)
        if other is not value and not _surely_same(value, other):
            _compare(child_schema(schema, name), value, other, (*path, f"f:{name}"), result)
    for name, value in right.items():
        if name not in left:
            _compare(child_schema(schema, name), ABSENT, value, (*path, f"f:{name}"), result)


def _compare_lists(schema: Schema, left: Any, right: Any, path: FieldPath, result: TypedComparison) -> None:
    olds, news = _grouped(schema, left), _grouped(schema, right)
    items = schema.items or ANY
    for element in {**olds, **news}:
        old, new = olds.get(element, []), news.get(element, [])
        below = (*path, element)
        if len(old) == len(new) == 1 and _surely_same(old[0], new[0]):
            continue
        if len(old) <= 1 and len(new) <= 1:
            _compare(items, old[0] if old else ABSENT, new[0] if new else ABSENT, below, result)
        elif len(old) > 1 and len(new) > 1:
            if not same_value(old, new):
                result.modified.add(below)
        elif len(old) > 1:
            if new:
                _compare(items, ABSENT, new[0], below, result)
            result.removed.add(below)
        else:
            if old:
                _compare(items, old[0], ABSENT, below, result)
            result.added.add(below)


def _grouped(schema: Schema, items: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for item in items:
        try:
            groups.setdefault(list_element(schema, item), []).append(item)
        except ValueError:
            continue
    return groups


# -- merging


def merge(schema: Schema, live: Any, desired: Any) -> Any:
    """Merge `desired` into `live`; return ABSENT if neither has a value."""
    if desired is ABSENT:
        return live
    if live is ABSENT:
        return desired
    shape = form(schema, desired)
    if shape == "scalar" or schema.atomic or (shape == "list" and not schema.is_granular_list):
        return desired
    if shape == "map":
        left = live if isinstance(live, dict) else {}
        right = desired if isinstance(desired, dict) else {}
        return _merge_maps(schema, left, right) if left or right else desired
    lefts = live if isinstance(live, list) else []
    rights = desired if isinstance(desired, list) else []
    return _merge_lists(schema, lefts, rights) if lefts or rights else desired


def _merge_maps(schema: Schema, left: Object, right: Object) -> Object:
    out: Object = {}
    for name in {**left, **right}:
        out[name] = merge(child_schema(schema, name), left.get(name, ABSENT), right.get(name, ABSENT))
    return out


def _merge_lists(schema: Schema, left: list[Any], right: list[Any]) -> list[Any]:
    """Return the items in the order of `right`; items only in `left` stay near their place."""
    items = schema.items or ANY
    left_keys = [list_element(schema, item) for item in left]
    right_keys = [list_element(schema, item) for item in right]
    olds = {key: (ABSENT if left_keys.count(key) > 1 else left[index]) for index, key in enumerate(left_keys)}
    news = dict(zip(right_keys, right, strict=True))
    shared = [key for key in right_keys if key in olds]
    out: list[Any] = []
    done: set[str] = set()
    at_left = at_right = 0

    def take(key: str) -> None:
        done.add(key)
        out.append(merge(items, olds.get(key, ABSENT), news[key]))
        if shared and shared[0] == key:
            shared.pop(0)

    while at_left < len(left) or at_right < len(right):
        if at_left < len(left) and at_right < len(right):
            key = left_keys[at_left]
            if key == right_keys[at_right]:
                take(key)
                at_left, at_right = at_left + 1, at_right + 1
                continue
            if key in news and shared and shared[0] != key:
                at_left += 1
                continue
        if at_left < len(left):
            key = left_keys[at_left]
            if key not in news:
                out.append(left[at_left])
                at_left += 1
                continue
            if key in done:
                at_left += 1
        if at_right < len(right):
            take(right_keys[at_right])
            at_right += 1
    return out


# -- removing


def remove(schema: Schema, value: Any, paths: FieldSet) -> Any:
    """Return the value without the fields and items of `paths`, None if nothing is left."""
    return _remove(schema, value, _tree(paths)) if paths else value


def _tree(paths: FieldSet) -> dict[str, Any]:
    """Return a tree from path elements to [is member, subtree]."""
    root: dict[str, Any] = {}
    for path in paths:
        node = root
        for element in path[:-1]:
            node = node.setdefault(element, [False, {}])[1]
        if path:
            node.setdefault(path[-1], [False, {}])[0] = True
    return root


def _remove(schema: Schema, value: Any, tree: dict[str, Any]) -> Any:
    shape = form(schema, value)
    if shape == "scalar":
        return value
    if not isinstance(value, (dict, list)) or not value or schema.atomic:
        return None
    if isinstance(value, list):
        return _remove_items(schema, value, tree) if schema.is_granular_list else None
    out: Object = {}
    matched = False
    for name, item in value.items():
        member, below = tree.get(f"f:{name}", (False, None))
        if member:
            continue
        if below:
            matched = True
            item = _inside(child_schema(schema, name), item, below)
        out[name] = item
    return out if out or matched else None


def _inside(schema: Schema, item: Any, below: dict[str, Any]) -> Any:
    """Remove fields below an item; a map or list stays one even when empty."""
    remainder = _remove(schema, item, below)
    if remainder is None and isinstance(item, (dict, list)):
        return type(item)()
    return remainder


def _remove_items(schema: Schema, value: Any, tree: dict[str, Any]) -> Any:
    out: list[Any] = []
    matched = False
    for item in value:
        member, below = tree.get(list_element(schema, item), (False, None))
        if member:
            continue
        if below:
            matched = True
            item = _inside(schema.items or ANY, item, below)
        out.append(item)
    return out if out or matched else None


def with_named_fields(schema: Schema, paths: FieldSet) -> FieldSet:
    """Add the struct fields that lead to a path (not map entries, not items)."""
    named = set(paths)
    for path in paths:
        node: Schema | None = schema
        for depth, element in enumerate(path[:-1]):
            if node is None:
                break
            if element[0] == "f":
                name = element[2:]
                if name in node.properties:
                    named.add(path[: depth + 1])
                node = child_schema(node, name)
            else:
                node = node.items
    return frozenset(named)
