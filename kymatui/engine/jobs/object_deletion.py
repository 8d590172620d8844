"""The deletion of one accepted object, in a state that the backup has."""

from __future__ import annotations

from typing import Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Object
from kymatui.engine.jobs.run import Run
from kymatui.errors import ConflictError, NotFoundError

_TRIES: Final = 5  # times that an object which changes meanwhile is saved and deleted again


def delete_object(
    run: Run, ref: ObjectRef, uid: str, resource_version: str = "", *, propagation: str = "Background"
) -> bool:
    """Delete the object with this uid; return whether it existed, False if recreated.

    With a backup, the server deletes it only in the saved state: an object that changed is saved again first.
    Raises ConflictError if it changes faster than that.
    """
    backup = run.backup
    if backup is None:
        try:
            return _deleted(run, ref, uid, "", propagation)
        except ConflictError:  # the uid is a precondition: another object has the name now
            return False
    version = resource_version
    for _ in range(_TRIES):
        if not backup.holds(uid, version):
            live = run.cluster.get(ref)
            if live is None or uid_of(live) != uid:
                return False
            if live["metadata"].get("deletionTimestamp"):
                return True
            version = str(live["metadata"].get("resourceVersion") or "")
            backup.save(live)
        try:
            return _deleted(run, ref, uid, version, propagation)
        except ConflictError:  # the object changed after it was saved, so save it again first
            version = ""
    raise ConflictError(
        f"{ref} changed {_TRIES} times during backup and deletion", hint="run the command again", status=409
    )


def uid_of(live: Object) -> str:
    """Return the uid of an object, "" if absent."""
    return str(live["metadata"].get("uid") or "")


def _deleted(run: Run, ref: ObjectRef, uid: str, version: str, propagation: str) -> bool:
    try:
        run.cluster.delete(ref, uid=uid, resource_version=version, propagation=propagation)
    except NotFoundError:  # another client deleted it first
        return False
    return True
