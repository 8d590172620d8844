"""How far a deletion came when it was stopped: which of the displayed objects are gone, going, and untouched."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.finalizers import deletion_blocker
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.deletion.deletion_state import DeletionState, ManagedBy
from kymatui.engine.jobs.job_progress import JobProgress, read_at_stop
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.errors import CancelledError

_ENTRY: Final = ("Edited", "", "Not edited")


class DeletionSoFar(Struct, frozen=True):
    """What a stopped deletion knows of itself: what was deleted, whether the Kyma is edited, and what undoes it."""

    gone: tuple[ObjectRef, ...]
    has_left: bool
    undo: str


def stopped_deletion(
    error: CancelledError, state: DeletionState, known: DeletionSoFar, cluster: Cluster, manifests_on: Cluster
) -> CancelledError:
    """Return the error of a stopped deletion with what is deleted, being deleted and left of its plan."""
    gone = tuple(dict.fromkeys((*known.gone, *error.gone)))
    progress = [_progress(state, gone, cluster, manifests_on, known.undo)]
    if state.requested:
        entry = (f"entry of {state.module} in the Kyma",)
        progress.append(JobProgress(_ENTRY, entry if known.has_left else (), left=() if known.has_left else entry))
    stopped = CancelledError(str(error), hint=error.hint, progress=tuple(progress))
    stopped.gone = gone
    return stopped


def _progress(
    state: DeletionState, gone: tuple[ObjectRef, ...], cluster: Cluster, manifests_on: Cluster, undo: str
) -> JobProgress:
    uids = {ref: uid for ref, uid in planned_objects(state) if ref not in gone}
    deleted = list(map(str, gone))
    bodies = read_at_stop(list(uids), lambda ref: manifests_on if ref == state.manifest else cluster)
    if bodies is None:
        return JobProgress(done=tuple(deleted), unknown=tuple(map(str, uids)), undo=undo if deleted else "")
    ongoing, left = list[tuple[str, str]](), list[str]()
    for (ref, uid), body in zip(uids.items(), bodies, strict=True):
        if body is None or (uid and uid_of(body) != uid):
            deleted.append(str(ref))
        elif body["metadata"].get("deletionTimestamp"):
            ongoing.append((str(ref), deletion_blocker(body).removeprefix(", ").removeprefix("blocked by ")))
        else:
            left.append(str(ref))
    changed = deleted or ongoing
    return JobProgress(done=tuple(deleted), ongoing=tuple(ongoing), left=tuple(left), undo=undo if changed else "")


def planned_objects(state: DeletionState) -> tuple[tuple[ObjectRef, str], ...]:
    """Return the objects that a deletion has to delete, in its order, with their uids ("" if unknown)."""
    objects = [(one.ref, one.uid) for one in state.deleted_objects]
    if state.manifest is not None and state.managed_by is ManagedBy.MANIFEST:
        objects.append((state.manifest, state.manifest_uid))
    if state.found is not None:
        objects += [(step.ref, step.uid) for step in state.found.deletions]
    return tuple(dict(objects).items())
