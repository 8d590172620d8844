"""Who holds objects that are to go, and how to let them go when that one never will."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kymatui.domain.refs import ObjectRef
from kymatui.engine.ports import Object, PatchKind
from kymatui.engine.running import Run
from kymatui.errors import NotFoundError, RefusedError


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


def held_by(live: Mapping[str, Any]) -> str:
    """Who keeps an object from going, in words to put behind its name."""
    metadata: Mapping[str, Any] = live.get("metadata") or {}
    if not metadata.get("deletionTimestamp"):
        return ", whose deletion has not begun"
    owners = finalizer_owners(live)
    if not owners:
        return ", which ends its work"
    said = ", ".join(f"{name} (set by {owner})" if owner else name for name, owner in owners.items())
    return f", held by {said}"


def drop_finalizers(run: Run, ref: ObjectRef, names: Iterable[str]) -> Object | None:
    """Takes finalizers away from an object that is being deleted, as a person typed them.

    What they stand for is not done by anybody then. Raises RefusedError for an object whose deletion nobody asked for.
    """
    live = run.cluster.get(ref)
    if live is None:
        return None
    if not live["metadata"].get("deletionTimestamp"):
        raise RefusedError(f"{ref} is not being deleted: its finalizers stay")
    unwanted = set(names)
    kept = [name for name in live["metadata"].get("finalizers") or () if name not in unwanted]
    patch = {"metadata": {"finalizers": kept, "resourceVersion": live["metadata"]["resourceVersion"]}}
    with run.step("drop finalizers", ref):
        try:
            return run.cluster.patch(ref, patch, PatchKind.MERGE, manager=run.manager)
        except NotFoundError:
            return None
