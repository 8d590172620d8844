"""Controllers of one control plane, run together under one Lease."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from kymatui.domain.kubernetes.jitter import JITTER_RANDOM
from kymatui.domain.kubernetes.object_meta import read_ref
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Clock, Cluster
from kymatui.engine.cluster.request_scope import RequestScope, request_scope
from kymatui.engine.cluster.retries import RetryingCluster, is_outcome_unknown
from kymatui.engine.controllers.runtime.controller import KindWatch, OperatorController, Told
from kymatui.engine.controllers.runtime.dependency_watches import WatchThread
from kymatui.engine.controllers.runtime.reconcile_reports import (
    Finished,
    ReconcileOutcome,
    Reconciliation,
    begin_reconciliation,
)
from kymatui.engine.controllers.runtime.work_queue import WorkQueue
from kymatui.engine.controllers.runtime.workers import Workers
from kymatui.engine.jobs.identity import own_identity
from kymatui.engine.jobs.lease import DURATION, Lease, LeaseTerms
from kymatui.engine.jobs.run import RunLimits
from kymatui.errors import CancelledError, ClusterError, KymatuiError, NotFoundError, RefusedError

LEADER: Final = "operator"
LEADER_NAMESPACE: Final = "kube-system"
_LOOK: Final = 1.0  # seconds between checks whether the group has to stop
_ABSENT: Final = 5.0  # seconds between checks whether a missing kind is served
_WIDEST: Final = 300.0  # seconds over which keys are spread at most
_LONGEST: Final = 300.0
"""Seconds after which a reconciliation sends no further request to a runtime; the next one continues."""


@dataclass(frozen=True, slots=True)
class GroupReports:
    """The receivers of a group's reports: failures, sentences about the group, and every reconciliation."""

    told: Told
    tell: Callable[[str], None] = lambda words: None
    finished: Finished = lambda one: None


class GroupService(Protocol):
    """What runs beside the controllers while the group holds the Lease, such as a port for events."""

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        """Start; `wake` queues an object of the control plane and returns whether a controller takes it."""
        ...

    def end(self) -> None:
        """Stop; called also if `begin` failed."""
        ...


class ControllerGroup:
    """The controllers of one cluster.

    Only one group works on a cluster: others wait for its Lease and report the holder. A controller whose kinds are
    not served waits for them.
    """

    def __init__(
        self,
        home: Cluster,
        clock: Clock,
        controllers: Sequence[OperatorController],
        reports: GroupReports,
        *,
        limits: RunLimits | None = None,
        lease: float = DURATION,
        services: Sequence[GroupService] = (),
    ) -> None:
        self._home, self._clock = home, clock
        self._controllers = controllers
        self._reports = reports
        self._limits = limits or RunLimits(gone=5.0)
        self._lease_seconds = lease
        self._services = services
        self._led = False
        self._running: list[_RunningController] = []

    def _wake(self, ref: ObjectRef) -> bool:
        """Reconcile an object of the control plane now; return whether a controller takes it."""
        taken = [one.wake(ref) for one in list(self._running)]
        return True in taken

    def waiting(self) -> dict[str, int]:
        """Return by controller how many objects wait for a worker."""
        return {one.name: one.waiting for one in list(self._running)}

    def run(self, cancel: threading.Event) -> None:
        """Run until `cancel` is set.

        If the Lease expires because the cluster is unreachable, the group stops working until it holds the Lease
        again. Raises NotFoundError if the cluster serves no kind that a controller could reconcile, RefusedError if
        another group took the Lease, and any unexpected error.
        """
        self._require_kinds()
        while self._lead(cancel):
            self._reports.tell(f"no connection to {self._home.name}: paused until the Lease is held again")

    def _require_kinds(self) -> None:
        missing = {name for one in self._controllers for name in self._unserved(one)}
        if missing and all(self._unserved(one) for one in self._controllers):
            kinds = " and ".join(f"{name}s" for name in sorted(missing))
            hint = f"install the {sorted(missing)[0]} CRD there"
            raise NotFoundError(f"{self._home.name} does not serve {kinds}", hint=hint, status=404)

    def _unserved(self, controller: OperatorController) -> list[str]:
        return [one.kind.kind for one in controller.watches() if one.required and self._home.kind(one.kind) is None]

    def _lead(self, cancel: threading.Event) -> bool:
        """Work while holding the Lease; return whether to try again after a lost connection."""
        patient = RetryingCluster(self._home, self._clock, threading.Event(), self._limits.patience)
        terms = LeaseTerms(self._lease_seconds, patience=float("inf"))
        lease = Lease(patient, self._clock, LEADER, LEADER_NAMESPACE, own_identity(), terms)
        try:
            with lease.hold(cancel, _each_once(self._reports.tell)) as stopped:
                self._work(stopped)
        except CancelledError:
            return False  # cancelled while waiting for another holder
        except RefusedError:
            if not lease.cut_off:
                raise
        except ClusterError as error:
            if not (self._led and is_outcome_unknown(error)):
                raise
            self._clock.sleep(_LOOK, cancel)
            return not cancel.is_set()
        if lease.cut_off or cancel.is_set():
            return not cancel.is_set()
        raise RefusedError(
            f"another operator has taken the Lease {LEADER_NAMESPACE}/{lease.name}; this one has stopped",
            hint="start it again; it waits until the other one has stopped",
        )

    def _work(self, stopped: threading.Event) -> None:
        waiting, running = list(self._controllers), list[_RunningController]()
        self._running = running
        said: set[str] = set()
        due = 0.0
        try:
            for service in self._services:
                service.begin(self._wake)
            while not stopped.is_set() and not any(one.ended for one in running):
                if waiting and self._clock.now() >= due:
                    due = self._clock.now() + _ABSENT
                    waiting = [one for one in waiting if not self._start(one, running, said, stopped)]
                    self._led = True
                for one in running:
                    one.relieve()
                stopped.wait(_LOOK)
        finally:
            self._running = []
            for service in self._services:
                service.end()
            for one in running:
                one.stop()
            for one in running:
                one.join(self._limits.gone)

    def _start(
        self,
        controller: OperatorController,
        running: list[_RunningController],
        said: set[str],
        stopped: threading.Event,
    ) -> bool:
        """Start a controller if its kinds are served; return whether it was started."""
        if missing := self._unserved(controller):
            if controller.name not in said:
                said.add(controller.name)
                kinds = ", ".join(missing)
                self._reports.tell(f"controller {controller.name} waits: {self._home.name} does not serve {kinds}")
            return False
        started = _RunningController(self._home, controller, self._reports)
        running.append(started)  # before its first request, so that a failure there closes its watches
        started.start(stopped)
        return True


class _RunningController:
    """A controller with its queue, its workers and its watches."""

    def __init__(self, home: Cluster, controller: OperatorController, reports: GroupReports) -> None:
        self._home = home
        self._controller = controller
        self._told, self._finished = reports.told, reports.finished
        intervals = controller.intervals
        self._queue: WorkQueue[ObjectRef] = WorkQueue(first_delay=intervals.first, longest_delay=intervals.most)
        self._workers = Workers(controller.name, self._queue, self._reconcile, self._failed, workers=controller.workers)
        self._streams: list[WatchThread] = []

    @property
    def ended(self) -> bool:
        return self._workers.ended

    @property
    def name(self) -> str:
        return self._controller.name

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def relieve(self) -> None:
        """Start workers in the place of those that are held."""
        self._workers.relieve()

    def start(self, stopped: threading.Event) -> None:
        for watch in self._controller.watches():
            if self._home.kind(watch.kind) is None:
                continue
            changes = self._home.follow([(watch.kind, watch.namespace)])
            self._streams.append(WatchThread(changes, partial(self._changed, watch)))
            if watch.listed:
                for raw in self._home.list(watch.kind, watch.namespace, cancel=stopped):
                    self._queue.add(read_ref(raw), low=True)
        self._controller.begin(self._queue.add)
        self._workers.start()

    def wake(self, ref: ObjectRef) -> bool:
        """Queue an object if it is of the controller's own kind."""
        watches = [one for one in self._controller.watches() if one.kind == ref.kind]
        keys = {key for one in watches for key in one.keys(ref)}
        if ref in keys:
            self._queue.add(ref)
        return ref in keys

    def stop(self) -> None:
        self._workers.stop()
        for stream in self._streams:
            stream.close()
        self._controller.end()

    def join(self, seconds: float) -> None:
        """Wait for the workers. Raises the error of a bug in a reconciliation."""
        self._workers.join(seconds)

    def _changed(self, watch: KindWatch, refs: Iterable[ObjectRef]) -> None:
        try:
            keys = {key for ref in refs for key in watch.keys(ref)}
        except KymatuiError:  # the next resync finds the change
            return
        width = min(_WIDEST, watch.spread * len(keys))
        for key in keys:
            self._queue.add_after(key, width * JITTER_RANDOM.random())

    def _reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        name, start = self._controller.name, time.monotonic()
        number = begin_reconciliation(name)

        def finish(result: ReconcileOutcome, error: KymatuiError | None = None) -> None:
            self._finished(Reconciliation(name, ref, result, time.monotonic() - start, number, error))

        try:
            with request_scope(RequestScope(until=time.monotonic() + _LONGEST)):
                again = self._controller.reconcile(ref, cancel)
        except RefusedError as error:
            finish(ReconcileOutcome.SUCCESS, error)
            self._told(ref, error, None)
            again = None
        except CancelledError:
            raise
        except KymatuiError as error:
            finish(ReconcileOutcome.ERROR, error)
            raise
        else:
            finish(ReconcileOutcome.SUCCESS if again is None else ReconcileOutcome.REQUEUE)
        return again if again is not None else self._controller.resync * (1 + JITTER_RANDOM.random())

    def _failed(self, ref: ObjectRef, error: KymatuiError, seconds: float) -> None:
        self._told(ref, error, seconds)


def _each_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that forwards a message unless it repeats the last one."""
    last = [""]

    def told(words: str) -> None:
        if words != last[0]:
            last[0] = words
            tell(words)

    return told
