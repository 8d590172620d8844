"""Strategic merge patch: lists merge as the kind's Go types define.

Source: k8s.io/apimachinery/pkg/util/strategicpatch.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kymatui.sandbox.patching.json_patch import PatchFailedError
from kymatui.schemas.objects.typed_values import same_value
from kymatui.schemas.types.schema_node import ANY, Object, Schema, child
from kymatui.schemas.values.field_errors import go_text
from kymatui.schemas.values.field_sets import copy_json

DIRECTIVE = "$patch"
RETAIN = "$retainKeys"
ORDER = "$setElementOrder/"
DELETE_FROM = "$deleteFromPrimitiveList/"


def apply_strategic_patch(schema: Schema, original: Object, patch: Object) -> Object:
    """Return the patched object; both arguments are unchanged. Raise `PatchFailedError`."""
    return _merge_map(schema, copy_json(original), copy_json(patch))


def _merge_map(schema: Schema, original: Object, patch: Object) -> Object:
    if DIRECTIVE in patch:
        return _directed(patch)
    _retain(original, patch)
    _order_lists(schema, original, patch)
    for name, value in patch.items():
        _merge_field(schema, original, name, value)
    return original


def _directed(patch: Object) -> Object:
    directive = patch.pop(DIRECTIVE)
    if directive == "replace":
        return patch
    if directive == "delete":
        return {}
    raise PatchFailedError(f"unknown patch type: {directive} in map: {go_text({**patch, DIRECTIVE: directive})}", 500)


def _retain(original: Object, patch: Object) -> None:
    """Apply $retainKeys: drop unlisted fields; fields that the patch sets must be listed."""
    if RETAIN not in patch:
        return
    kept = patch.pop(RETAIN)
    if not isinstance(kept, list):
        raise PatchFailedError("invalid patch format of retainKeys", 400)
    for name, value in patch.items():
        if value is not None and not name.startswith((DELETE_FROM, ORDER)) and name not in kept:
            raise PatchFailedError("invalid patch format of retainKeys", 400)
    for name in list(original):
        if name not in kept:
            del original[name]


def _merge_field(schema: Schema, original: Object, name: str, value: Any) -> None:
    deleting = name.startswith(DELETE_FROM)
    name = name.removeprefix(DELETE_FROM)
    if value is None:
        original.pop(name, None)
        return
    known: Any = original.get(name)
    if name not in original or type(known) is not type(value):
        if not deleting:
            original[name] = _plain(value)
        return
    below = child(schema, name)
    if isinstance(value, dict):
        original[name] = value if "replace" in below.patch_strategy else _merge_map(below, known, value)
    elif isinstance(value, list):
        if "merge" in below.patch_strategy or deleting:
            original[name] = _merge_list(below, known, value, deleting=deleting)
        else:
            original[name] = value
    else:
        original[name] = value


def _plain(value: Any) -> Any:
    """Return the value without nulls and directives, for a field that has no old value to merge with."""
    if isinstance(value, dict):
        return {
            name: _plain(item)
            for name, item in value.items()
            if item is not None and name != DIRECTIVE and not name.startswith((ORDER, DELETE_FROM))
        }
    if isinstance(value, list):
        return [_plain(item) for item in value if not (isinstance(item, dict) and DIRECTIVE in item)]
    return value


# -- lists


def _merge_list(schema: Schema, original: list[Any], patch: list[Any], *, deleting: bool = False) -> list[Any]:
    if not original and not patch:
        return original
    if not _of_maps(original, patch):
        if deleting:
            return [item for item in original if not any(same_value(item, gone) for gone in patch)]
        merged = _unique([*original, *patch])
        listed = patch
    else:
        key = schema.merge_key
        if not key:
            raise PatchFailedError(f"cannot merge lists without merge key for {schema.go_type}", 500)
        original, listed, replaced = _special_items(original, patch, key)
        if replaced:
            return listed
        merged = _merge_items(schema.items or ANY, list(original), listed, key)
    return _in_order(merged, listed, original, schema.merge_key)


def _of_maps(original: list[Any], patch: list[Any]) -> bool:
    """Return whether the items are objects. Raise `PatchFailedError` for mixed types."""
    items = [*original, *patch]
    if any(isinstance(item, list) for item in items) and all(isinstance(item, list) for item in items):
        raise PatchFailedError("lists of lists are not supported", 422)
    if len({type(item) for item in items}) > 1:
        raise PatchFailedError(f"list element types are not identical: [{go_text(original)} {go_text(patch)}]", 500)
    return isinstance(items[0], dict)


def _unique(items: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if not any(same_value(item, known) for known in distinct):
            distinct.append(item)
    return distinct


def _special_items(original: list[Any], patch: list[Any], key: str) -> tuple[list[Any], list[Any], bool]:
    """Apply `$patch` of items; return (remaining original, ordinary items, whether they replace all)."""
    ordinary: list[Any] = []
    replaced = False
    for item in patch:
        directive = item.get(DIRECTIVE)
        if directive is None:
            ordinary.append(item)
        elif directive == "delete":
            if key not in item:
                raise _no_key(item, key)
            original = [known for known in original if not same_value(known.get(key), item[key])]
        elif directive == "replace":
            replaced = True
        elif directive == "merge":
            raise PatchFailedError("merging lists cannot yet be specified in the patch", 500)
        else:
            raise PatchFailedError(f"unknown patch type: {directive} in map: {go_text(item)}", 500)
    return original, ordinary, replaced


def _no_key(item: Object, key: str) -> PatchFailedError:
    return PatchFailedError(f"map: {go_text(item)} does not contain declared merge key: {key}", 500)


def _merge_items(schema: Schema, merged: list[Any], patch: list[Any], key: str) -> list[Any]:
    for item in patch:
        if key not in item:
            raise _no_key(item, key)
        index = next((index for index, known in enumerate(merged) if same_value(known.get(key), item[key])), None)
        if index is None:
            merged.append(_plain(item))
        else:
            merged[index] = _merge_map(schema, merged[index], copy_json(item))
    return merged


# -- the order of lists


def _identity(key: str) -> Callable[[Any], str]:
    def identify(item: Any) -> str:
        value = item.get(key) if key and isinstance(item, dict) else item
        return json.dumps(value, sort_keys=True)

    return identify


def _in_order(merged: list[Any], patch: list[Any], server: list[Any], key: str) -> list[Any]:
    """Order the patch's items as in the patch and the server's as before, each near its old place."""
    identify = _identity(key)
    patch_order = {identify(item): index for index, item in reversed(list(enumerate(patch)))}
    server_order = {identify(item): index for index, item in reversed(list(enumerate(server)))}
    from_patch = sorted((i for i in merged if identify(i) in patch_order), key=lambda item: patch_order[identify(item)])
    end = len(server)
    own = sorted(
        (i for i in merged if identify(i) not in patch_order), key=lambda item: server_order.get(identify(item), end)
    )
    out: list[Any] = []
    while own and from_patch:
        left, right = server_order.get(identify(own[0])), server_order.get(identify(from_patch[0]))
        out.append(own.pop(0) if left is not None and right is not None and left < right else from_patch.pop(0))
    return out + own + from_patch


def _order_lists(schema: Schema, original: Object, patch: Object) -> None:
    """Apply $setElementOrder: merge its list, then order it."""
    for directive in [name for name in patch if name.startswith(ORDER)]:
        order = patch.pop(directive)
        name = directive.removeprefix(ORDER)
        _need_list(order)
        has_original, has_patch = name in original, name in patch
        known, patch_list = original.get(name), patch.pop(name, None)
        if has_original and known is not None:
            _need_list(known)
        if has_patch and patch_list is not None:
            _need_list(patch_list)
            _check_order(patch_list, order, child(schema, name).merge_key)
        if not has_original and not has_patch:
            continue
        if has_patch and patch_list is None:
            original.pop(name, None)
            continue
        original[name] = _ordered_list(child(schema, name), known, patch_list, order)


def _ordered_list(schema: Schema, known: Any, patch_list: Any, order: list[Any]) -> list[Any]:
    server: list[Any] = known or []
    if patch_list is None:
        merged = known or []
    elif known is None:
        merged = _plain(patch_list)
    elif "merge" in schema.patch_strategy:
        server = _reused(known, patch_list, schema.merge_key)
        merged = _merge_list(schema, list(known), patch_list)
    else:
        merged = patch_list
    return _in_order(merged, order, server, schema.merge_key)


def _reused(known: list[Any], patch_items: list[Any], key: str) -> list[Any]:
    """Return the list as the server's library sees it: new items fill the places of deleted ones."""
    identify = _identity(key)
    items = [item for item in patch_items if isinstance(item, dict)]
    gone = {identify(item) for item in items if item.get(DIRECTIVE) == "delete"}
    remaining = [item for item in known if identify(item) not in gone]
    if len(remaining) == len(known):
        return known
    kept = {identify(item) for item in remaining}
    fresh = [item for item in items if DIRECTIVE not in item and identify(item) not in kept]
    return [*remaining, *fresh][: len(known)]


def _need_list(value: Any) -> None:
    if not isinstance(value, list):
        names = {str: "string", bool: "bool", dict: "map[string]interface {}", int: "int64", float: "float64"}
        received = names.get(type(value), "nil")
        raise PatchFailedError(f"expected a []interface {{}}, but received a {received}", 500)


def _check_order(patch_list: list[Any], order: list[Any], key: str) -> None:
    """Raise `PatchFailedError` unless the patch's items are listed in its $setElementOrder, in that order."""
    if not patch_list or not order:
        return
    identify = _identity(key)
    positions = {identify(item): index for index, item in enumerate(order)}
    last = -1
    for item in patch_list:
        if isinstance(item, dict) and item.get(DIRECTIVE) == "delete":
            continue
        position = positions.get(identify(item), -1)
        if position < last or position < 0:
            complaint = f"The order in patch list:\n{go_text(patch_list)}\n doesn't match $setElementOrder list:\n"
            raise PatchFailedError(f"{complaint}{go_text(order)}\n", 500)
        last = position
