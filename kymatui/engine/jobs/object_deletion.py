"""The deletion of one accepted object in a state that the backup has, and of CRDs that nothing else needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import Enum
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref, resource_version_of, uid_of
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.plans.backups import summarize_names
from kymatui.engine.cluster.kind_order import defined_kinds
from kymatui.engine.cluster.ports import Object, Recording
from kymatui.engine.jobs.run import Progress, Run
from kymatui.errors import ConflictError, NotFoundError, PartlyDoneError


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
            version = resource_version_of(live)
            if run.backup is not None:
                run.backup.save(live)
        try:
            return _deleted(run, ref, uid, version, propagation)
        except ConflictError:  # the object changed after it was read, so read and save it again first
            version = ""
    raise ConflictError(
        f"{ref} changed {_TRIES} times during backup and deletion", hint="run the command again", status=409
    )


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


_OPEN: Final = 5.0  # seconds for the watches to open; the deletion continues without them
_END: Final = 1.0
"""Seconds for the events of the last instances to arrive after the CRD is gone."""


class UnplannedDeletions(Struct, frozen=True):
    """The objects that were deleted with a CRD and that the plan did not display."""

    refs: tuple[ObjectRef, ...] = ()
    saved: bool = False


class InstanceRecord:
    """The instances of CRDs since before they were counted."""

    def __init__(self, run: Run, recording: Recording) -> None:
        self._run = run
        self._recording = recording

    def counted(self) -> None:
        """Forget what was deleted before the count."""
        self._recording.drop_deleted()

    def unplanned(self, accepted: Collection[str] = ()) -> UnplannedDeletions:
        """Return the deleted objects with other uids than the accepted ones, after saving them in the backup."""
        self._recording.wait_end(_END)
        lost = [body for body in self._recording.objects() if uid_of(body) not in accepted]
        backup = self._run.backup
        if lost and backup is not None:
            for body in lost:
                backup.save(body)
            self._run.report(Progress(backup.message))
        return UnplannedDeletions(tuple(map(read_ref, lost)), backup is not None)


@contextlib.contextmanager
def record_instances(run: Run, definitions: Iterable[Object]) -> Iterator[InstanceRecord]:
    """Record the instances of CRDs; where watching is not allowed, the record stays empty."""
    groups = dict.fromkeys((gvk.group, gvk.kind) for gvk in defined_kinds(definitions))
    served = [kinds[0].gvk for kinds in (run.cluster.kinds(*kind) for kind in groups) if kinds]
    recording = run.cluster.record(served)
    try:
        recording.wait_open(_OPEN, run.cancel)
        yield InstanceRecord(run, recording)
    finally:
        recording.close()


def unplanned_error(name: str, deletions: Iterable[UnplannedDeletions]) -> PartlyDoneError | None:
    """Return the error that names objects deleted without consent, None without any."""
    lost = [deletion for deletion in deletions if deletion.refs]
    if not lost:
        return None
    saved = all(entry.saved for entry in lost)
    refs = [ref for entry in lost for ref in entry.refs]
    return PartlyDoneError(
        f"{name}: {summarize_names(refs)} {'were' if len(refs) > 1 else 'was'} created after the plan was displayed, "
        f"and deleted with {'their' if len(refs) > 1 else 'its'} CRD; "
        f"{'saved in the backup' if saved else 'no backup was made'}",
        hint="restore from the backup with `kymatui restore`"
        if saved
        else "create again the objects that you still need",
    )
