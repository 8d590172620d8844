"""Controllers of one control plane, run together under one Lease."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Final, Protocol

from msgspec import Struct

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.concurrency import report_defect
from kymatui.engine.cluster.ports import Changes, Clock, Cluster
from kymatui.engine.cluster.request_scope import RequestScope, request_scope
from kymatui.engine.cluster.retries import RetryingCluster, is_outcome_unknown
from kymatui.engine.jobs.identity import own_identity, replica_name
from kymatui.engine.jobs.lease import DURATION, Lease, LeaseTerms
from kymatui.engine.jobs.run import RunLimits
from kymatui.errors import CancelledError, ClusterError, DefectError, KymatuiError, NotFoundError, RefusedError
from kymatui.operator.framework.controller import (
    GONE,
    GroupNews,
    GroupReports,
    KindWatch,
    OperatorController,
    ReconcileOutcome,
    Reconciliation,
    begin_reconciliation,
)
from kymatui.operator.framework.dependency_watches import WatchThread
from kymatui.operator.framework.work_queue import Workers, WorkQueue
from kymatui.operator.sharding.lease_term import LeaseTerm
from kymatui.operator.sharding.shard_holder import ShardHolder, ShardPlan

LEADER: Final = "operator"
LEADER_NAMESPACE: Final = "kube-system"
_TICK: Final = 0.1  # seconds until an end is passed on
_LOOK: Final = 1.0  # seconds between checks whether the group has to stop
_ABSENT: Final = 5.0  # seconds between checks whether a missing kind is served


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
        shards: int = 1,
    ) -> None:
        """Share the objects among replicas with `shards` above 1; writes then need a cluster that locks by term."""
        self._home, self._clock = home, clock
        self._controllers = controllers
        self._reports = reports
        self._limits = limits or RunLimits(gone=5.0)
        self._lease_seconds = lease
        self._services = services
        self._shards = shards
        self._holder: ShardHolder | None = None
        self._changed_shards: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._led = False
        self._running: list[RunningController] = []

    def _wake(self, ref: ObjectRef) -> bool:
        """Reconcile an object of the control plane now; return whether a controller takes it."""
        taken = [controller.wake(ref) for controller in list(self._running)]
        return True in taken

    def waiting(self) -> dict[str, int]:
        """Return by controller how many objects wait for a worker."""
        return {controller.name: controller.waiting for controller in list(self._running)}

    def held_shards(self) -> list[int]:
        """Return the shards that this replica holds, empty without shards."""
        return self._holder.held if self._holder is not None else []

    def run(self, cancel: threading.Event) -> None:
        """Run until `cancel` is set.

        If the Lease expires because the cluster is unreachable, the group stops working until it holds the Lease
        again. Raises NotFoundError if the cluster serves no kind that a controller could reconcile, RefusedError if
        another group took the Lease, and any unexpected error.
        """
        self._require_kinds()
        if self._shards > 1:
            self._share(cancel)
            return
        while self._lead(cancel):
            text = f"no connection to {self._home.name}: paused until the Lease is held again"
            self._reports.log(GroupNews.LEASE_LOST, text)

    def _require_kinds(self) -> None:
        missing = {name for controller in self._controllers for name in self._unserved(controller)}
        if missing and all(self._unserved(controller) for controller in self._controllers):
            kinds = " and ".join(f"{name}s" for name in sorted(missing))
            hint = f"install the {sorted(missing)[0]} CRD there"
            raise NotFoundError(f"{self._home.name} does not serve {kinds}", hint=hint, status=404)

    def _unserved(self, controller: OperatorController) -> list[str]:
        return [
            watch.kind.kind for watch in controller.watches() if watch.required and self._home.kind(watch.kind) is None
        ]

    def _lead(self, cancel: threading.Event) -> bool:
        """Work while holding the Lease; return whether to try again after a lost connection."""
        patient = RetryingCluster(self._home, self._clock, threading.Event(), self._limits.retry)
        terms = LeaseTerms(self._lease_seconds, timeout=float("inf"), standby=True)
        lease = Lease(patient, self._clock, LEADER, LEADER_NAMESPACE, own_identity(), terms)
        try:
            with lease.hold(cancel, _each_once(partial(self._reports.log, GroupNews.STANDBY))) as stopped:
                text = f"holds the Lease {LEADER_NAMESPACE}/{lease.name} as {own_identity()}"
                self._reports.log(GroupNews.LEASE_TAKEN, text)
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
        text = f"another operator has taken the Lease {LEADER_NAMESPACE}/{lease.name}; this one has stopped"
        self._reports.log(GroupNews.LEASE_LOST, text)
        raise RefusedError(text, hint="start it again; it waits until the other one has stopped")

    def _share(self, cancel: threading.Event) -> None:
        """Work on the shards that this replica holds, until `cancel` is set; release them at the end."""
        plan = ShardPlan(LEADER, LEADER_NAMESPACE, self._shards, replica_name())
        tell = partial(self._reports.log, GroupNews.SHARD_LEASES)
        holder = self._holder = ShardHolder(self._home, plan, self._changed_shards.put, tell)
        ended = threading.Event()
        defects: list[BaseException] = []

        def hold() -> None:
            try:
                holder.run(ended)
            except BaseException as error:  # noqa: BLE001 (it is raised below)
                defects.append(error)
            ended.set()

        def forward() -> None:
            while not ended.wait(_TICK):
                if cancel.is_set():
                    ended.set()

        works = (hold, forward, lambda: self._pass_on_shards(ended))
        threads = [threading.Thread(target=work, name="shards", daemon=True) for work in works]
        for thread in threads:
            thread.start()
        try:
            self._work(ended)
        finally:
            ended.set()
            threads[0].join()
            holder.release()
        if defects:
            raise defects[0]

    def _pass_on_shards(self, ended: threading.Event) -> None:
        """Tell controllers of shards that were gained or lost, in a thread of its own: Leases must not wait for it."""
        while not ended.is_set():
            try:
                shards = {self._changed_shards.get(timeout=_TICK)}
                while not self._changed_shards.empty():
                    shards.add(self._changed_shards.get())
            except queue.Empty:
                continue
            held = self.held_shards()
            numbers = ", ".join(map(str, held)) or "none"
            self._reports.log(GroupNews.SHARDS, f"holds {len(held)} of {self._shards} shards: {numbers}")
            for controller in list(self._running):
                try:
                    controller.shards_changed(shards)
                except Exception as error:  # noqa: BLE001 (the other controllers have shards, too)
                    report_defect(error)

    def _work(self, stopped: threading.Event) -> None:
        waiting, running = list(self._controllers), list[RunningController]()
        self._running = running
        reported: set[str] = set()
        due = 0.0
        try:
            for service in self._services:
                service.begin(self._wake)
            while not stopped.is_set() and not any(controller.ended for controller in running):
                if waiting and self._clock.now() >= due:
                    due = self._clock.now() + _ABSENT
                    waiting = [controller for controller in waiting if not self._start(controller, running, reported)]
                    self._led = True
                for controller in running:
                    controller.relieve()
                stopped.wait(_LOOK)
        finally:
            self._running = []
            for service in self._services:
                service.end()
            for controller in running:
                controller.stop()
            for controller in running:
                controller.join(self._limits.gone)

    def _start(self, controller: OperatorController, running: list[RunningController], reported: set[str]) -> bool:
        """Start a controller if its kinds are served; return whether it was started."""
        if missing := self._unserved(controller):
            if controller.name not in reported:
                reported.add(controller.name)
                kinds = ", ".join(missing)
                text = f"controller {controller.name} waits: {self._home.name} does not serve {kinds}"
                self._reports.log(GroupNews.CONTROLLER_WAITS, text)
            return False
        started = RunningController(self._home, controller, self._reports, self._holder)
        running.append(started)  # before its first request, so that a failure there closes its watches
        started.start()
        return True


def _each_once(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that forwards a message unless it repeats the last one."""
    last = [""]

    def log_change(words: str) -> None:
        if words != last[0]:
            last[0] = words
            tell(words)

    return log_change


_WIDEST: Final = 300.0  # seconds over which keys are spread at most
_LONGEST: Final = 300.0
"""Seconds after which a reconciliation sends no further request to a runtime; the next one continues."""


class _Watched(Struct, eq=False, dict=True):
    """A watch; `listed` tells whether its first list has come."""

    watch: KindWatch
    changes: Changes
    listed: bool = False


class RunningController:
    """One controller of a group; `shards` is None where the group reconciles all objects."""

    def __init__(
        self, home: Cluster, controller: OperatorController, reports: GroupReports, shards: ShardHolder | None = None
    ) -> None:
        self._home = home
        self._controller = controller
        self._report_failure, self._finished = reports.failed, reports.finished
        self._shards = shards
        self._queue: WorkQueue[ObjectRef] = WorkQueue(backoff=controller.intervals.backoff)
        self._workers = Workers(controller.name, self._queue, self._reconcile, self._failed, workers=controller.workers)
        self._watched: list[_Watched] = []
        self._streams: list[WatchThread] = []
        self._own: set[ObjectRef] = set()  # keys that no watch lists, such as of a summary

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

    def start(self) -> None:
        for watch in self._controller.watches():
            if self._home.kind(watch.kind) is not None:
                kinds = [(watch.kind, watch.namespace)]
                watched = _Watched(watch, self._home.follow(kinds, watch.label, edits=watch.edits))
                self._watched.append(watched)
                self._streams.append(WatchThread(watched.changes, partial(self._changed, watched)))
        self._controller.begin(self._wake)
        self._workers.start()

    def wake(self, ref: ObjectRef) -> bool:
        """Queue an object of the controller's own kind, unless its shard is another replica's; return whether."""
        watches = self._controller.watches()
        own = [
            watch for watch in watches if watch.kind == ref.kind and watch.takes(ref.namespace) and watch.owner is None
        ]
        keys = {key for watch in own for key in watch.keys(ref) or ()}
        takes = ref in keys and not self._is_of_others(ref)
        if takes:
            self._queue.add(ref)
        return takes

    def shards_changed(self, shards: Collection[int]) -> None:
        """Queue the objects of shards that were gained or lost; those of a lost one are left."""
        assert self._shards is not None
        for ref in (*self._known(), *self._own):
            name = self._shard_name(ref)
            if name is not None and self._shards.shard_of(name) in shards:
                self._queue.add(ref, low=True)

    def stop(self) -> None:
        self._workers.stop()
        for stream in self._streams:
            stream.close()
        self._controller.end()

    def join(self, seconds: float) -> None:
        """Wait for the workers. Raises the error of a bug outside of a reconciliation."""
        try:
            self._workers.join(seconds)
        finally:
            self._controller.end()  # again: a reconciliation that was under way may have kept something

    def _wake(self, ref: ObjectRef) -> None:
        if self._shards is not None and not any(
            watched.changes.label_of(ref) is not None for watched in self._listed()
        ):
            self._own.add(ref)
        self._queue.add(ref)

    def _listed(self) -> list[_Watched]:
        return [watched for watched in self._watched if watched.watch.listed and watched.watch.owner is None]

    def _known(self) -> frozenset[ObjectRef]:
        """Return the objects of the listed kinds."""
        return frozenset(ref for watched in self._listed() for ref in watched.changes.known())

    def _changed(self, watched: _Watched, refs: Iterable[ObjectRef]) -> None:
        first, watched.listed = not watched.listed, True
        try:
            keys = set(self._keys(watched, refs))
        except KymatuiError:  # the next resync finds the change
            return
        width = min(_WIDEST, watched.watch.spread * len(keys))
        for key in keys:
            if not self._is_of_others(key):
                seconds = width * JITTER_RANDOM.random() + (0.0 if first else watched.watch.delay)
                self._queue.add(key, low=first) if seconds <= 0 else self._queue.add_after(key, seconds)

    def _keys(self, watched: _Watched, refs: Iterable[ObjectRef]) -> Iterable[ObjectRef]:
        for ref in refs:
            if watched.watch.owner is not None:
                yield from watched.watch.owner(ref, watched.changes.label_of(ref) or "")
            elif (keys := watched.watch.keys(ref)) is not None:
                yield from keys
            else:
                yield from self._known()

    # shards

    def _shard_name(self, ref: ObjectRef) -> str | None:
        """Return the name that decides on an object's shard, None while its label is unknown."""
        for watched in self._watched:
            if watched.watch.kind == ref.kind and watched.watch.label and watched.watch.owner is None:
                label = watched.changes.label_of(ref)
                return None if label is None else label or ref.name
        return ref.name

    def _term_of(self, shards: ShardHolder, ref: ObjectRef) -> LeaseTerm | None:
        name = self._shard_name(ref)
        return shards.term_of(name) if name is not None else None

    def _is_of_others(self, ref: ObjectRef) -> bool:
        return self._shards is not None and self._term_of(self._shards, ref) is None

    def _scope(self, ref: ObjectRef) -> RequestScope:
        """Return the bounds of a reconciliation. Raises CancelledError if another replica may have the object."""
        until = time.monotonic() + _LONGEST
        if self._shards is None:
            return RequestScope(until)
        term = self._term_of(self._shards, ref)
        if term is None:
            self._controller.leave(ref)
            raise CancelledError(f"{ref} belongs to a shard that this replica does not hold")
        return RequestScope(until, term, {})

    # reconciliation

    def _reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        scope = self._scope(ref)
        name, start = self._controller.name, time.monotonic()
        number = begin_reconciliation(name)

        def finish(result: ReconcileOutcome, error: KymatuiError | None = None) -> None:
            seconds = time.monotonic() - start
            self._finished(Reconciliation(name, ref, result, seconds, number, error, tuple(scope.changes)))

        try:
            with request_scope(scope):
                ended = scope.term.cancelled if isinstance(scope.term, LeaseTerm) else cancel
                again = self._controller.reconcile(ref, ended)
        except RefusedError as error:
            finish(ReconcileOutcome.SUCCESS, error)
            self._report_failure(ref, error, None)
            again = None
        except CancelledError:
            raise
        except KymatuiError as error:
            finish(ReconcileOutcome.ERROR, error)
            raise
        except Exception as error:
            # As controller-runtime recovers panics: one object that a bug concerns must not stop thousands of others.
            defect = DefectError(error)
            finish(ReconcileOutcome.ERROR, defect)
            raise defect from error
        else:
            finish(ReconcileOutcome.SUCCESS if again in (None, GONE) else ReconcileOutcome.REQUEUE)
        if again == GONE:
            self._own.discard(ref)
            return None
        return again if again is not None else self._controller.resync * (1 + JITTER_RANDOM.random())

    def _failed(self, ref: ObjectRef, error: KymatuiError, seconds: float) -> None:
        self._report_failure(ref, error, seconds)
