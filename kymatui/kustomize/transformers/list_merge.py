"""The merge of lists with keyed elements, as in kustomize.

With one key, the elements of the patch come first (merged with those of the list), then the rest. With several keys
(ports by number and protocol), an element without a key matches any value, and the order follows kustomize's
implementation, because existing patches depend on it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kymatui.errors import SourceError
from kymatui.helm.yaml.reading import load_exactly

Element = dict[str, Any]
Values = tuple[str, ...]
Merge = Callable[[Element | None, Element | None], Element | None]
"""A function that merges an element with the patch's (None if absent); None deletes it."""


def merge_elements(old: list[Any], new: list[Any], keys: Values, merge: Merge) -> list[Any]:
    """Return the merged list. Raises SourceError for elements that are no maps or lack the key."""
    for item in (*new, *old):
        if not isinstance(item, dict):
            raise SourceError(f"an element is not a map with {keys[0]}: {item!r:.60}")
    for item in new:
        if item.get(keys[0]) is None:
            raise SourceError(f"an element of a patch has no {keys[0]}")
    return _Merging(old, new, keys, merge).run()


class _Merging:
    def __init__(self, old: list[Any], new: list[Any], keys: Values, merge: Merge) -> None:
        self._old, self._new, self._keys, self._merge = list(old), list(new), keys, merge
        self._added: list[Any] = []

    def run(self) -> list[Any]:
        values = self._all_values()
        keys = self._keys
        if not values:
            return self._old
        for key_values in values:
            keys, used_values = _used(values, key_values, self._keys)
            self._add(keys, used_values)
        for item in list(self._old):
            self._put_back(item, keys)
        return self._added

    def _all_values(self) -> list[Values]:
        """Return the key values of all elements without duplicates, those of the patch first."""
        items = (*self._new, *self._old)
        texts = list(dict.fromkeys(tuple(_text(item.get(key)) for key in self._keys) for item in items))
        return _filled(texts) if len(self._keys) > 1 else texts

    def _add(self, keys: Values, values: Values) -> None:
        present = [(key, value) for key, value in zip(keys, values, strict=True) if value] or list(
            zip(keys, values, strict=True)
        )
        at = _find(self._old, present)
        patch = _find(self._new, present)
        merged: Any = self._old[at] if at is not None else None
        if merged is not None or patch is not None:
            replaces = patch is not None and self._new[patch].get("$patch") == "replace"
            merged = self._merge(merged, self._new[patch] if patch is not None else None)
            if at is not None and merged and not replaces:
                self._old[at] = merged
        if not merged:
            self._old = _without(self._old, keys, values)
            return
        for key, value in zip(keys, values, strict=True):
            if value and merged.get(key) is None:
                merged[key] = load_exactly(value)
        self._added = _with(self._added, merged, keys, values)

    def _put_back(self, item: Any, keys: Values) -> None:
        """Append an element of the list, or replace the matching one."""
        texts: list[str] = []
        for key in keys:
            if item.get(key) is None:
                self._added.append(item)
            else:
                texts.append(_text(item[key]))
        if len(keys) > 1:
            self._added = _without(self._added, keys, tuple(texts))
        self._added = _with(self._added, item, keys, tuple(texts))


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _filled(values: list[Values]) -> list[Values]:
    """Return the values with equivalent ones unified: an omitted key matches any value."""
    for index in range(len(values)):
        for other in range(len(values)):
            joined = _joined(values[index], values[other])
            if joined is not None:
                values[index] = values[other] = joined
    return values


def _joined(values: Values, other: Values) -> Values | None:
    pairs = list(zip(values, other, strict=True))
    if any(left and right and left != right for left, right in pairs):
        return None
    return tuple(left or right for left, right in pairs) if any(left == right for left, right in pairs) else None


def _used(values: list[Values], key_values: Values, keys: Values) -> tuple[Values, Values]:
    """Return the keys that any element has, with their values."""
    used = {key for entry in values for key, value in zip(keys, entry, strict=True) if value}
    if not used:
        return keys, key_values
    pairs = [(key, value) for key, value in zip(keys, key_values, strict=True) if key in used]
    return tuple(key for key, _ in pairs), tuple(value for _, value in pairs)


def _find(items: list[Any], pairs: list[tuple[str, str]]) -> int | None:
    for at, item in enumerate(items):
        if all(item.get(key) is not None and _text(item[key]) == value for key, value in pairs):
            return at
    return None


def _means(item: Any, keys: Values, values: Values) -> bool:
    """Return whether an element matches: it has all keys, with the given values."""
    for key, value in zip(keys, values, strict=False):
        if item.get(key) is None or (value and _text(item[key]) != value):
            return False
    return True


def _without(items: list[Any], keys: Values, values: Values) -> list[Any]:
    if not values:
        return []
    return [item for item in items if item and not (isinstance(item, dict) and _means(item, keys, values))]


def _with(items: list[Any], element: Any, keys: Values, values: Values) -> list[Any]:
    """Return the items with the element in place of matching ones, else at the end."""
    kept = [item for item in items if item] if values else []
    meant = [isinstance(item, dict) and _means(item, keys, values) for item in kept]
    if not any(meant):
        return [*kept, element]
    return [element if here else item for item, here in zip(kept, meant, strict=True)]
