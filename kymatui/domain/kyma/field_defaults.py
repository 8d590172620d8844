"""Fields of lifecycle-manager's objects that mean the same whether present or absent.

Go types drop zero values (omitempty) or write them, and the API server adds the CRD's defaults: the same object has
`mandatory: false` in one cluster and no such field in another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_EXACT: Final = frozenset({"spec.data", "spec.descriptor", "spec.kymaSelector.matchLabels"})
"""Free-form values and maps with the user's keys: {} and "" in them differ from absence."""
_POINTERS: Final = frozenset({"spec.kymaSelector"})
"""Structs whose {} differs from absence: an empty selector matches every Kyma, an absent one none."""
_ITEM: Final = re.compile(r"\[[^\]]*\]\Z")


def is_default(path: str, value: object) -> bool:
    """Return whether a field of a ModuleTemplate or ModuleReleaseMeta means the same as its absence.

    Every default of these two CRDs is the zero value of its type. A list item is never absent.
    """
    return not _ITEM.search(path) and not _says_something(path, value)


def _says_something(path: str, value: object) -> bool:
    if path in _POINTERS or any(path == exact or path.startswith(f"{exact}.") for exact in _EXACT):
        return value is not None
    if isinstance(value, Mapping):
        return any(_says_something(f"{path}.{name}", field) for name, field in value.items())
    return bool(value)
