"""A controller at work: its queue, its workers, its watches, and the shards of which it reconciles objects."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable
from functools import partial
from typing import Final

from msgspec import Struct

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import Changes, Cluster
from kymatui.engine.cluster.request_scope import RequestScope, request_scope
from kymatui.errors import CancelledError, DefectError, KymatuiError, RefusedError
from kymatui.operator.framework.controller import (
    GONE,
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
from kymatui.operator.sharding.shard_holder import ShardHolder

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
        self,
        home: Cluster,
        controller: OperatorController,
        reports: GroupReports,
        shards: ShardHolder | None = None,
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
            self._finished(Reconciliation(name, ref, result, time.monotonic() - start, number, error))

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
