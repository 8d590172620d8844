"""What bounds and records the requests of one run, wherever in its threads they are made.

Scope and record are context variables: clusters read them before they send, `run_for_each` hands them to its threads.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import NotFoundError

if TYPE_CHECKING:
    from kymatui.domain.rights import RequiredPermission


class WriteTerm(Protocol):
    """The time for which a replica may write."""

    def writing(self) -> AbstractContextManager[float]:
        """Enter a write; yield the seconds that it may take. Raises CancelledError once the term has ended."""


class ObjectChange(Struct, frozen=True):
    """A change of an object: the verb of its write, or `ADOPT`; `part` is the subresource."""

    verb: str
    ref: ObjectRef
    part: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.ref} {self.part}".rstrip()


ADOPT: Final = "adopt"
"""In place of a verb: the object existed, and others had written it."""


class RequestScope(Struct, frozen=True):
    """The bounds of a reconciliation.

    until     when no further request to a runtime begins, in seconds of the monotonic clock
    term      the time for writes; None: any
    versions  the resource versions of what was read under the term, for writes that must not overwrite another's
    changes   what was written
    since     when it began, in seconds of the Unix clock
    """

    until: float = math.inf
    term: WriteTerm | None = None
    versions: dict[ObjectRef, str] = field(default_factory=dict)
    changes: list[ObjectChange] = field(default_factory=list)
    since: float = field(default_factory=time.time)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


_NONE: Final = RequestScope()
_SCOPE: ContextVar[RequestScope] = ContextVar("request_scope", default=_NONE)


def current_scope() -> RequestScope:
    return _SCOPE.get()


def note_change(verb: str, ref: ObjectRef, part: str = "") -> None:
    """Note what a reconciliation has changed; does nothing outside of one."""
    if (scope := _SCOPE.get()) is not _NONE:
        scope.changes.append(ObjectChange(verb, ref, part))


@contextlib.contextmanager
def request_scope(scope: RequestScope) -> Iterator[None]:
    """Bound the requests of this thread, and of the threads that it starts with its context."""
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)


# The rate of the requests to one server.


class RequestRate(Struct, frozen=True):
    """Requests in a second, and how many may be sent in a burst; the defaults are lifecycle-manager's."""

    qps: float = 300.0
    burst: int = 600


class TokenBucket:
    """A rate limit as client-go has it: tokens come at `qps`, at most `burst` are kept. Thread-safe."""

    def __init__(self, rate: RequestRate, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._lock = threading.Lock()
        self._tokens, self._at = float(rate.burst), clock()

    def take(self) -> float:
        """Take a token, also one that is still to come; return the seconds until then."""
        with self._lock:
            now = self._clock()
            self._tokens = min(float(self._rate.burst), self._tokens + (now - self._at) * self._rate.qps)
            self._at = now
            self._tokens -= 1.0
            return max(0.0, -self._tokens / self._rate.qps)


# The permissions of an action: which requests it makes, and which of them the server allows.


class PermissionRecord:
    """The permissions that the requests of a block needed, in their order; threads may share it.

    Each is of a cluster, by its name; "" is the one that the block works on.

    needed    the permissions of requests that the action cannot do without
    optional  those of requests that may be refused: parts of the plan are then unknown
    plurals   the plural names of kinds whose CRDs the block writes, and which the cluster may not serve yet
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._needed: dict[tuple[str, RequiredPermission], None] = {}
        self._optional: dict[tuple[str, RequiredPermission], None] = {}
        self.plurals: dict[tuple[str, str], str] = {}

    def of_clusters(self, names: Container[str]) -> tuple[Sequence[RequiredPermission], Sequence[RequiredPermission]]:
        """Return the needed and the optional permissions on some clusters."""
        with self._lock:
            needed = [permission for cluster, permission in self._needed if cluster in names]
            optional = [permission for cluster, permission in self._optional if cluster in names]
        return needed, [permission for permission in optional if permission not in needed]

    def add(self, permission: RequiredPermission, cluster: str = "", *, is_optional: bool = False) -> None:
        with self._lock:
            (self._optional if is_optional else self._needed).setdefault((cluster, permission))

    def add_body(self, body: Mapping[str, Any], cluster: str = "") -> None:
        """Add what writing this object grants to others, and the name of the kind that it defines."""
        from kymatui.domain.kubernetes.json_reader import JsonReader
        from kymatui.domain.rights import granting_permissions

        for permission in granting_permissions(body):
            self.add(permission, cluster)
        if body.get("kind") == "CustomResourceDefinition":
            spec = JsonReader(body).child("spec")
            names = spec.child("names")
            self.plurals[spec.text("group"), names.text("kind")] = names.text("plural")


_RECORD: ContextVar[PermissionRecord | None] = ContextVar("permission_record", default=None)
_IS_OPTIONAL: ContextVar[bool] = ContextVar("optional_requests", default=False)


@contextlib.contextmanager
def recorded_permissions() -> Iterator[PermissionRecord]:
    """Record what the requests of this thread, and of the threads that it starts with its context, need."""
    record = PermissionRecord()
    token = _RECORD.set(record)
    try:
        yield record
    finally:
        _RECORD.reset(token)


@contextlib.contextmanager
def optional_requests() -> Iterator[None]:
    """Record the requests of a block as optional: the action goes on where they are refused."""
    token = _IS_OPTIONAL.set(True)
    try:
        yield
    finally:
        _IS_OPTIONAL.reset(token)


def note_permission(
    verb: str, kind: GroupVersionKind, namespace: str = "", name: str = "", *, cluster: str = ""
) -> None:
    """Note that a request needs a permission; does nothing outside of `recorded_permissions`."""
    record = _RECORD.get()
    if record is not None:
        from kymatui.domain.rights import RequiredPermission

        record.add(RequiredPermission(verb, kind, namespace, name), cluster, is_optional=_IS_OPTIONAL.get())


def note_bodies(bodies: Iterable[Mapping[str, Any]]) -> None:
    """Note what writing these objects would grant."""
    record = _RECORD.get()
    if record is not None:
        for body in bodies:
            record.add_body(body)


def note_write(verb: str, ref: ObjectRef, body: object, *, cluster: str = "") -> None:
    """Note what a write needs: its verb as RBAC has it, and what it grants to others."""
    record = _RECORD.get()
    if record is not None:
        note_permission(verb, ref.kind, ref.namespace, "" if verb == "create" else ref.name, cluster=cluster)
        if isinstance(body, Mapping):
            record.add_body(body, cluster)


class ReviewingCluster(Protocol):
    """The cluster that says what a user may."""

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool: ...


def missing_permissions(
    cluster: ReviewingCluster,
    permissions: Iterable[RequiredPermission],
    cancel: threading.Event | None = None,
    width: int = 8,
) -> tuple[RequiredPermission, ...]:
    """Return the permissions that the user lacks; a kind that the cluster does not serve needs none yet."""
    from kymatui.engine.cluster.concurrency import run_for_each

    def is_allowed(right: RequiredPermission) -> bool:
        try:
            return cluster.allowed(right.verb, right.kind, right.namespace, right.name)
        except NotFoundError:  # the real request will decide
            return True

    needed = list(dict.fromkeys(permissions))
    allowed = run_for_each(needed, is_allowed, cancel or threading.Event(), width)
    return tuple(right for right, may in zip(needed, allowed, strict=True) if not may)
