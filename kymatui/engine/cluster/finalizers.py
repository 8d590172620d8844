"""What blocks the deletion of an object, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kymatui.domain.kubernetes.managed_fields import finalizer_owners
from kymatui.domain.kubernetes.object_meta import GARBAGE_COLLECTION


def deletion_blocker(live: Mapping[str, Any]) -> str:
    """Return what blocks the deletion of an object, to append to its name.

    The garbage collector's own finalizers only wait for dependent objects.
    """
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return ", deletion not started"
    owners = {name: owner for name, owner in finalizer_owners(live).items() if name not in GARBAGE_COLLECTION}
    if not owners:
        return ", terminating"
    said = ", ".join(f"{name} (set by {owner})" if owner else name for name, owner in owners.items())
    return f", blocked by {'finalizers' if len(owners) > 1 else 'finalizer'} {said}"
