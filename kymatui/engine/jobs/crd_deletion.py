"""Objects that are created between the last count of a CRD's instances and the deletion of the CRD.

The API server deletes them with the CRD, and no precondition prevents that: a CRD does not change when an instance is
created. From the deletion on the server refuses new instances, so a watch that opens before the count reports every
object that the count missed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.plans.accepted_objects import summarize_names
from kymatui.engine.cluster.kind_order import defined_kinds
from kymatui.engine.cluster.ports import Object, Recording
from kymatui.engine.jobs.object_deletion import uid_of
from kymatui.engine.jobs.run import Progress, Run
from kymatui.errors import PartlyDoneError

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
