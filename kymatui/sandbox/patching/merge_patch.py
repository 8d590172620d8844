"""JSON merge patch (RFC 7386)."""

from __future__ import annotations

from typing import Any


def apply_merge_patch(value: Any, patch: Any) -> Any:
    """Return the patched value; both arguments are unchanged."""
    if not isinstance(patch, dict):
        return patch
    result = dict(value) if isinstance(value, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = apply_merge_patch(result.get(name), part)
    return result
