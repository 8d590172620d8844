"""Fields of lifecycle-manager's objects that say the same whether they are written or not.

Its Go types drop zero values (omitempty) or write them, and the API server fills in the defaults of the CRD: the same
object reads `mandatory: false` in one cluster and has no such field in the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

_EXACT: Final = frozenset({"spec.data", "spec.descriptor", "spec.kymaSelector.matchLabels"})
"""Free-form values, and maps whose keys the user chooses: {} and "" in them are not absence."""
_POINTERS: Final = frozenset({"spec.kymaSelector"})
"""Structs whose {} says something else than their absence: here every Kyma, instead of none of them."""
_ITEM: Final = re.compile(r"\[[^\]]*\]\Z")


def is_default(path: str, value: object) -> bool:
    """Return whether a field of a ModuleTemplate or ModuleReleaseMeta says the same as its absence.

    Every default of these two CRDs is the zero value of its type. An item of a list is never absent.
    """
    return not _ITEM.search(path) and not _says_something(path, value)


def _says_something(path: str, value: object) -> bool:
    if path in _POINTERS or any(path == exact or path.startswith(f"{exact}.") for exact in _EXACT):
        return value is not None
    if isinstance(value, Mapping):
        return any(_says_something(f"{path}.{name}", field) for name, field in value.items())
    return bool(value)
