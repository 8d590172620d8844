"""Patches on plain values: RFC 6902, RFC 7386, and strategic merge by what the kind's types say."""

from __future__ import annotations

from typing import Any

from kymatui.sandbox.apiserver.resources import Object, Resource
from kymatui.sandbox.apiserver.semantics import PatchError


def apply_merge_patch(value: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), part)
    return result


def apply_json_patch(value: Any, operations: list[Any]) -> Any:
    raise PatchError("")


def apply_strategic_patch(resource: Resource, value: Object, patch: Object) -> Object:
    merged: Object = apply_merge_patch(value, patch)
    return merged
