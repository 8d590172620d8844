"""Merge of maps as in dario.cat/mergo 1.0.2: in place and recursive; lists are not merged."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.declaring import LIST_LIMIT
from kymatui.helm.functions.defaults import empty
from kymatui.helm.govalues.budget import charge, watched
from kymatui.helm.govalues.comparing import is_nil
from kymatui.helm.govalues.types import FunctionError, kind

_DEEPEST: Final = 300
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
