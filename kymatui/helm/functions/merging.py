"""How dario.cat/mergo 1.0.2 merges maps: in place, nested maps too, lists as a whole."""

from __future__ import annotations

from typing import Any, Final

from kymatui.helm.functions.defaults import empty
from kymatui.helm.govalues.comparing import is_nil
from kymatui.helm.govalues.types import FunctionError, kind

DEEPEST: Final = 300


class MergeError(FunctionError):
    """Two values that mergo will not merge; `merge` gives "" then, `mustMerge` fails."""


def merge_into(target: dict[Any, Any], source: dict[Any, Any], *, overwrite: bool, depth: int = 0) -> None:
    """Adds what the target lacks or has empty; with `overwrite`, all that the source has, nils and zeros included.

    A map that only the source has is not copied: both hold the same one afterwards.
    """
    if depth > DEEPEST:
        raise FunctionError(f"merge: the maps are nested more than {DEEPEST} deep")
    for key in list(source):
        incoming = source[key]
        if incoming is None:
            if overwrite:
                target[key] = incoming
        elif isinstance(incoming, list):
            _merge_list(target, key, incoming, overwrite=overwrite)
        else:
            _merge_value(target, key, incoming, overwrite=overwrite, depth=depth)


def _merge_list(target: dict[Any, Any], key: Any, incoming: list[Any], *, overwrite: bool) -> None:
    if overwrite or empty(target.get(key)):
        target[key] = incoming


def _merge_value(target: dict[Any, Any], key: Any, incoming: Any, *, overwrite: bool, depth: int) -> None:
    present = target.get(key)
    if isinstance(incoming, dict):
        if isinstance(present, dict) and not is_nil(present):
            merge_into(present, incoming, overwrite=overwrite, depth=depth + 1)
            if present:
                return
        elif kind(present) == "ptr" and not overwrite:
            raise MergeError("src and dst must be of same type")
    if overwrite or key not in target or empty(present):
        target[key] = incoming
