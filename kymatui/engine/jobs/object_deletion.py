"""The deletion of one accepted object, in a state that the backup has."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Object
from kymatui.engine.jobs.run import Run
from kymatui.errors import ConflictError, NotFoundError


class ObjectDeletion(Enum):
    """What became of the deletion of one object."""

    MISSING = "missing"  # it did not exist, or another object has the name now
    STARTED = "started"  # the server accepted it; finalizers, or what the object contains, may still hold it
    GONE = "gone"
    KEPT = "kept"  # it changed, and stays now


_TRIES: Final = 5  # times that an object which changes meanwhile is saved and deleted again


def delete_object(
    run: Run,
    ref: ObjectRef,
    uid: str,
    resource_version: str = "",
    *,
    propagation: str = "Background",
    keeps: Callable[[Object], str] | None = None,
) -> ObjectDeletion:
    """Delete the object with this uid, as far as it was read in this version ("": it is read first).

    With a backup, the server deletes it only in the saved state: an object that changed is saved again first. With
    `keeps`, it deletes it only in a state for which that returned "", so that what is kept meanwhile stays.
    Raises ConflictError if it changes faster than that.
    """
    if run.backup is None and keeps is None:
        try:
            return _deleted(run, ref, uid, "", propagation)
        except ConflictError:  # the uid is a precondition: another object has the name now
            return ObjectDeletion.MISSING
    version = resource_version
    for _ in range(_TRIES):
        if not is_saved(run, uid, version):
            live = run.cluster.get(ref)
            if live is None or uid_of(live) != uid:
                return ObjectDeletion.MISSING
            if live["metadata"].get("deletionTimestamp"):
                return ObjectDeletion.STARTED
            if keeps is not None and keeps(live):
                return ObjectDeletion.KEPT
            version = str(live["metadata"].get("resourceVersion") or "")
            if run.backup is not None:
                run.backup.save(live)
        try:
            return _deleted(run, ref, uid, version, propagation)
        except ConflictError:  # the object changed after it was read, so read and save it again first
            version = ""
    raise ConflictError(
        f"{ref} changed {_TRIES} times during backup and deletion", hint="run the command again", status=409
    )


def uid_of(live: Object) -> str:
    """Return the uid of an object, "" if absent."""
    return str(live["metadata"].get("uid") or "")


def version_of(live: Object) -> str:
    """Return the resource version of an object, "" if it is being deleted already."""
    metadata = live["metadata"]
    return "" if metadata.get("deletionTimestamp") else str(metadata.get("resourceVersion") or "")


def is_saved(run: Run, uid: str, resource_version: str) -> bool:
    """Return whether an object may be deleted in this state without reading it again: the backup, if any, has it."""
    return bool(resource_version) and (run.backup is None or run.backup.holds(uid, resource_version))


def _deleted(run: Run, ref: ObjectRef, uid: str, version: str, propagation: str) -> ObjectDeletion:
    try:
        is_gone = run.cluster.delete(ref, uid=uid, resource_version=version, propagation=propagation)
    except NotFoundError:  # another client deleted it first
        return ObjectDeletion.MISSING
    return ObjectDeletion.GONE if is_gone else ObjectDeletion.STARTED
