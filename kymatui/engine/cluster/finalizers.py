"""Who holds objects that are to go, and how to let them go when that one never will."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def finalizer_owners(live: Mapping[str, Any]) -> dict[str, str]:
    """The finalizers of an object, each with the field manager that set it, "" where nobody is known."""
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    found = dict.fromkeys((str(name) for name in metadata.get("finalizers") or ()), "")
    for entry in metadata.get("managedFields") or ():
        owned = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:finalizers") or {}
        for name in found:
            if f'v:"{name}"' in owned:
                found[name] = str(entry.get("manager") or "")
    return found


def deletion_blocker(live: Mapping[str, Any]) -> str:
    """Who keeps an object from going, in words to put behind its name."""
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return ", whose deletion has not begun"
    owners = finalizer_owners(live)
    if not owners:
        return ", which ends its work"
    said = ", ".join(f"{name} (set by {owner})" if owner else name for name, owner in owners.items())
    return f", held by {said}"
