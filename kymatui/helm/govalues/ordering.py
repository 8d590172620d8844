"""The order of map keys in Go's printing and ranging (internal/fmtsort)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from kymatui.helm.govalues.text import is_valid, to_bytes
from kymatui.helm.govalues.types import go_type

_RANKS: Final[dict[type, int]] = {type(None): 0, bool: 1, int: 2, float: 3, str: 4}


def sorted_keys(mapping: Mapping[Any, Any]) -> list[Any]:
    """Return a map's keys in Go's order: strings by bytes, numbers by size, mixed keys by type."""
    keys = list(mapping)
    try:
        keys.sort()
    except TypeError:
        keys.sort(key=_mixed)
        return keys
    if keys and isinstance(keys[0], str) and not all(map(is_valid, keys)):
        keys.sort(key=to_bytes)
    return keys


def _mixed(key: Any) -> tuple[int, str, Any]:
    rank = _RANKS.get(type(key), 5)
    if isinstance(key, str):
        return rank, go_type(key), to_bytes(key)
    if isinstance(key, float) and math.isnan(key):
        return rank, go_type(key), -math.inf
    return rank, go_type(key), key if isinstance(key, (int, float)) else repr(key)
