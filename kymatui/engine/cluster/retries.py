"""A cluster that repeats requests, which is safe because the engine's requests are idempotent.

It repeats after broken connections, missing answers, 429 (after the server's delay), 5xx, and 409 from a
simultaneous write. A permanent refusal is raised at once.

A cluster of which a plan or a check reads each object and each list once, for neither writes anything.
"""

from __future__ import annotations

import builtins
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar, Unpack, cast

from msgspec import Struct

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.json_reader import objects_at
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogQuery
from kymatui.engine.cluster.concurrency import is_pool_thread
from kymatui.engine.cluster.ports import (
    Changes,
    Clock,
    Cluster,
    LogStream,
    Object,
    ObjectListOptions,
    Recording,
    ServedKind,
    Write,
    Writes,
    WriteVerb,
)
from kymatui.errors import (
    CancelledError,
    ClusterError,
    ConflictError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnreachableError,
)

T = TypeVar("T")

FIELD_CONFLICT: Final = "FieldManagerConflict"


class RetryPolicy(Struct, frozen=True):
    """The limits of retries: at most `attempts`, and no wait for which the server asks beyond `longest_wait` seconds.

    No retry of a missing answer begins after `longest` seconds: each waits for the timeout of its request.
    """

    attempts: int = 8
    backoff: Backoff = Backoff(0.1, 5.0, 1.0, 1.25)
    longest_wait: float = 60.0
    longest: float = 60.0


DEFAULT_RETRY: Final = RetryPolicy()


def field_conflicts(error: ConflictError) -> tuple[Mapping[str, Any], ...]:
    """Return the causes of a field conflict, empty for another conflict."""
    causes = objects_at(error.body, "details", "causes")
    return tuple(cause for cause in causes if cause.get("reason", FIELD_CONFLICT) == FIELD_CONFLICT)


def is_transient(error: ClusterError) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, ConflictError):
        return error.reason == "Conflict" and not field_conflicts(error) and "recondition" not in str(error)
    return is_outcome_unknown(error)


def is_outcome_unknown(error: ClusterError) -> bool:
    """Return whether the request may have taken effect: no answer, or one that only postpones."""
    return isinstance(error, UnreachableError | ThrottledError | ServerError)


def call_with_retries(
    call: Callable[[], T],
    clock: Clock,
    cancel: threading.Event | None = None,
    retry: RetryPolicy = DEFAULT_RETRY,
    passing: Callable[[ClusterError], bool] = is_transient,
) -> T:
    """Return the result of `call` after retries. Raises its last error, or CancelledError."""
    attempt, began = 0, clock.now()
    while True:
        try:
            return call()
        except ClusterError as error:
            attempt += 1
            asked = error.retry_after if isinstance(error, ThrottledError) else 0.0
            is_late = isinstance(error, UnreachableError) and clock.now() - began > retry.longest
            if is_late or attempt >= retry.attempts or not passing(error) or asked > retry.longest_wait:
                raise
            clock.sleep(max(asked, retry.backoff.delay(attempt - 1)), cancel)
            if cancel is not None and cancel.is_set():
                raise CancelledError("stopped") from error


class RetryingCluster(Writes):
    """A `Cluster` with retries; the run's `cancel` ends every request and wait."""

    def __init__(
        self, cluster: Cluster, clock: Clock, cancel: threading.Event, retry: RetryPolicy = DEFAULT_RETRY
    ) -> None:
        self._cluster = cluster
        self._clock = clock
        self._cancel = cancel
        self._retry = retry

    def _try(self, call: Callable[[], T]) -> T:
        return call_with_retries(call, self._clock, self._cancel, self._retry)

    def _stop(self) -> threading.Event | None:
        """Return the cancel event for a request.

        A cancellable request needs a thread of its own; a thread of `run_for_each` already has a caller that
        handles this.
        """
        return None if is_pool_thread() else self._cancel

    @property
    def name(self) -> str:
        return self._cluster.name

    @property
    def read_only(self) -> bool:
        return self._cluster.read_only

    def kind(self, gvk: GroupVersionKind) -> ServedKind | None:
        return self._try(lambda: self._cluster.kind(gvk))

    def kinds(self, group: str, kind: str) -> Sequence[ServedKind]:
        return self._try(lambda: self._cluster.kinds(group, kind))

    def all_kinds(self) -> Sequence[ServedKind]:
        return self._try(self._cluster.all_kinds)

    def version(self) -> str:
        return self._try(self._cluster.version)

    def unread_groups(self) -> Sequence[tuple[str, str]]:
        return self._cluster.unread_groups()

    def forget_kinds(self) -> None:
        self._cluster.forget_kinds()

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        return self._try(lambda: self._cluster.get(ref, cancel=cancel or self._stop()))

    def list(self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]) -> list[Object]:
        options["cancel"] = options.get("cancel") or self._stop()
        return self._try(lambda: self._cluster.list(gvk, namespace, **options))

    def open_log(self, query: LogQuery, *, cancel: threading.Event | None = None) -> LogStream:
        return self._try(lambda: self._cluster.open_log(query, cancel=cancel or self._stop()))

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        """Send a write; AlreadyExists and NotFoundError may mean that an earlier attempt succeeded without an answer.

        An update is not sent again after a conflict, because the caller has to read the object again.
        """
        passing = is_outcome_unknown if write.verb is WriteVerb.UPDATE else is_transient

        def call() -> Object:
            return self._cluster.write(write, cancel=cancel or self._stop())

        return call_with_retries(call, self._clock, self._cancel, self._retry, passing)

    def follow(self, kinds: Iterable[tuple[GroupVersionKind, str]], label: str = "", *, edits: bool = False) -> Changes:
        followed = tuple(kinds)
        return self._try(lambda: self._cluster.follow(followed, label, edits=edits))

    def record(self, kinds: Iterable[GroupVersionKind]) -> Recording:
        recorded = tuple(kinds)
        return self._try(lambda: self._cluster.record(recorded))

    def user(self) -> str:
        return self._try(self._cluster.user)

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        try:
            return self._try(lambda: self._cluster.allowed(verb, gvk, namespace, name))
        except NotFoundError:
            return True  # the kind is not served yet; the real request will decide

    def may_write(self, namespaces: Iterable[str]) -> bool:
        return self._cluster.may_write(namespaces)


class ReadOnceCluster(RetryingCluster):
    """A `Cluster` with retries that keeps what it has read; thread-safe. Callers must not change its objects.

    A second thread that asks for the same waits for the answer of the first. Errors are not kept.
    """

    def __init__(
        self, cluster: Cluster, clock: Clock, cancel: threading.Event, retry: RetryPolicy = DEFAULT_RETRY
    ) -> None:
        super().__init__(cluster, clock, cancel, retry)
        self._lock = threading.Lock()
        self._turns: dict[Hashable, threading.Lock] = {}
        self._answers: dict[Hashable, object] = {}

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> Object | None:
        read = super().get
        return self._once(ref, lambda: read(ref, cancel=cancel))

    def list(
        self, gvk: GroupVersionKind, namespace: str = "", **options: Unpack[ObjectListOptions]
    ) -> builtins.list[Object]:
        read, key = super().list, (gvk, namespace, options.get("labels", ""), options.get("with_managed_fields", False))
        return [*self._once(key, lambda: read(gvk, namespace, **options))]

    def _once(self, key: Hashable, read: Callable[[], T]) -> T:
        with self._lock:
            lock = self._turns.setdefault(key, threading.Lock())
        with lock:
            if key not in self._answers:
                self._answers[key] = read()
            return cast(T, self._answers[key])


def read_once(
    cluster: Cluster, clock: Clock, cancel: threading.Event | None = None, retry: RetryPolicy = DEFAULT_RETRY
) -> ReadOnceCluster:
    """Return a cluster that keeps what it has read; the same one if it does so already."""
    if isinstance(cluster, ReadOnceCluster):
        return cluster
    return ReadOnceCluster(cluster, clock, cancel or threading.Event(), retry)
