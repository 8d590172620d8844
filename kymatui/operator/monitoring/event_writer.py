"""The writer of the operator's Kubernetes Events: beside the reconciliations, which never wait for it."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec.structs import replace

from kymatui.domain.kubernetes.object_meta import format_time, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, PatchKind
from kymatui.engine.cluster.retries import is_outcome_unknown
from kymatui.errors import ClusterError, ConflictError, KymatuiError, NotFoundError
from kymatui.operator.framework.controller import Reconciliation
from kymatui.operator.monitoring.event_correlation import (
    CountedEvent,
    EventCorrelator,
    EventSubject,
    EventType,
    ObjectEvent,
)

EVENT: Final = GroupVersionKind("", "v1", "Event")
RECONCILE_FAILED: Final = "ReconcileFailed"
PATCH_STATUS: Final = "PatchStatus"
PATCH_OBJECT: Final = "PatchObject"
_WAITING: Final = 1000  # events; more are dropped
_TRIES: Final = 12
_PAUSE: Final = 10.0  # seconds between tries, as in client-go
_END: Final = 2.0  # seconds for the events that wait at the end

SKIPPED: Final = "Skipped"
LOGGED_ONLY: Final = frozenset({SKIPPED})
"""The reasons of decisions that are in the log, and no Events: they repeat with each resync."""

Record = Callable[[Mapping[str, Any], ObjectEvent], None]
"""A function that records a decision about an object, which is given as the server sent it; it never fails."""
Decided = Callable[[ObjectRef, ObjectEvent], None]
"""What log and metrics get of each decision."""


def no_events(about: Mapping[str, Any], event: ObjectEvent) -> None:
    """Record nothing."""


def skipped(label: str) -> ObjectEvent:
    """Return the decision about an object that has the label which pauses it."""
    return ObjectEvent(EventType.NORMAL, SKIPPED, f"paused by the label {label}")


class EventWriter:
    """Implements `GroupService`: events that are recorded while the group leads are written to the control plane.

    `decided` gets each of them first, and what is no Event.
    """

    def __init__(
        self, cluster: Cluster, clock: Clock, identity: str, decided: Decided = lambda ref, event: None
    ) -> None:
        self._cluster, self._clock, self._decided = cluster, clock, decided
        self._identity = identity
        self._correlator = EventCorrelator()
        self._uids: dict[ObjectRef, str] = {}
        self._queue: queue.Queue[tuple[EventSubject, ObjectEvent] | None] = queue.Queue(_WAITING)
        self._here = threading.local()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        self._stop = threading.Event()
        self._queue = queue.Queue(_WAITING)
        self._thread = threading.Thread(target=self._run, args=(self._stop,), name="events", daemon=True)
        self._thread.start()

    def end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        thread.join(_END)
        self._stop.set()

    def record(self, about: Mapping[str, Any], event: ObjectEvent) -> None:
        """Report a decision about an object of the control plane, and queue its Event; drop that if too many wait."""
        uid = str((about.get("metadata") or {}).get("uid") or "")
        self._decided(read_ref(about), event)
        if event.reason not in LOGGED_ONLY:
            self._here.last = (read_ref(about), event.message)
            self._put(EventSubject(read_ref(about), uid), event)

    def finished(self, reconciliation: Reconciliation) -> None:
        """Record the error of a reconciliation of this thread, unless that was done with a reason of its own.

        A conflict is no failure, because the next reconciliation repairs it.
        """
        last: tuple[ObjectRef, str] | None = getattr(self._here, "last", None)
        self._here.last = None
        if reconciliation.error is None or isinstance(reconciliation.error, ConflictError):
            return
        event = ObjectEvent(EventType.WARNING, RECONCILE_FAILED, str(reconciliation.error))
        if last != (reconciliation.ref, event.message):
            self._put(EventSubject(reconciliation.ref, ""), event)

    def _put(self, subject: EventSubject, event: ObjectEvent) -> None:
        if self._thread is None:
            return
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait((subject, replace(event, message=sanitize(event.message))))

    def _run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            event = self._queue.get()
            if event is None:
                return
            try:
                self._record(*event, stop)
            except Exception as error:  # noqa: BLE001 (a dead thread would write no further Event)
                report_defect(error)

    def _record(self, subject: EventSubject, event: ObjectEvent, stop: threading.Event) -> None:
        counted = self._correlate(subject, event, stop)
        for _ in range(_TRIES):
            if counted is None or self._write(counted, stop) or stop.wait(_PAUSE):
                break

    def _correlate(self, subject: EventSubject, event: ObjectEvent, stop: threading.Event) -> CountedEvent | None:
        if subject.uid:
            self._uids[subject.ref] = subject.uid
        elif not (uid := self._uids.get(subject.ref) or self._read_uid(subject.ref, stop)):
            return None
        else:
            subject = EventSubject(subject.ref, uid)
        if len(self._uids) > 2 * _WAITING:
            self._uids.clear()
        return self._correlator.correlate(subject, event, self._clock.now())

    def _read_uid(self, ref: ObjectRef, stop: threading.Event) -> str:
        """Return the uid of an object, "" for one that no longer exists or cannot be read."""
        try:
            live = self._cluster.get(ref, cancel=stop)
        except KymatuiError:
            return ""
        uid = str(((live or {}).get("metadata") or {}).get("uid") or "")
        if uid:
            self._uids[ref] = uid
        return uid

    def _write(self, counted: CountedEvent, stop: threading.Event) -> bool:
        """Return whether no further try is needed: written, or rejected by the server."""
        now = self._clock.now()
        try:
            if not counted.stored or not self._count(counted, now, stop):
                self._cluster.create(self._body(counted, now), manager=OPERATOR_FIELD_MANAGER, cancel=stop)
        except ConflictError:  # an earlier try has created it, without an answer
            pass
        except ClusterError as error:
            return not is_outcome_unknown(error)
        except KymatuiError:
            return True
        self._correlator.written(counted)
        return True

    def _count(self, counted: CountedEvent, now: float, stop: threading.Event) -> bool:
        """Raise the count of a stored event; return False if it is gone, as events are after an hour."""
        ref = ObjectRef(EVENT, counted.subject.ref.namespace, counted.name)
        patch = {"count": counted.count, "lastTimestamp": format_time(now), "message": counted.event.message}
        try:
            self._cluster.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=stop)
        except NotFoundError:
            return False
        return True

    def _body(self, counted: CountedEvent, now: float) -> dict[str, Any]:
        ref = counted.subject.ref
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": counted.name, "namespace": ref.namespace},
            "involvedObject": {
                "apiVersion": ref.kind.api_version,
                "kind": ref.kind.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": counted.subject.uid,
            },
            "type": counted.event.type.value,
            "reason": counted.event.reason,
            "message": counted.event.message,
            "count": counted.count,
            "firstTimestamp": format_time(counted.first),
            "lastTimestamp": format_time(now),
            "source": {"component": OPERATOR_FIELD_MANAGER},
            "reportingComponent": OPERATOR_FIELD_MANAGER,
            "reportingInstance": self._identity[:128],
        }
