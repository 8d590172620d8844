"""What a controller is: the kinds that it watches, the reconciliation of one object, its intervals and its reports."""

from __future__ import annotations

import math
import threading
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.states import State
from kymatui.engine.cluster.request_scope import ObjectChange
from kymatui.errors import KymatuiError


class RequeueIntervals(Struct, frozen=True):
    """Seconds by state, with lifecycle-manager's defaults.

    soon     until the next step of a reconciliation that has several
    backoff  until a failure is retried
    """

    success: float = 300.0
    busy: float = 5.0
    warning: float = 30.0
    error: float = 2.0
    soon: float = 0.2
    backoff: Backoff = Backoff(0.5, 30.0)

    @classmethod
    def every(cls, seconds: float) -> RequeueIntervals:
        """Return the same interval for all states; a retry takes at most twice as long."""
        return cls(seconds, seconds, seconds, seconds, min(0.2, seconds), Backoff(min(0.5, seconds), 2 * seconds))

    def with_interval(self, state: str, seconds: float) -> RequeueIntervals:
        """Return these intervals with another one for "success", "busy", "warning" or "error"."""
        return replace(self, **{state: seconds})

    def of(self, state: str) -> float:
        """Return the seconds for an object in this state; Unmanaged and unknown states count as success."""
        by_state = {
            State.ERROR: self.error,
            State.WARNING: self.warning,
            State.PROCESSING: self.busy,
            State.DELETING: self.busy,
        }
        return next((seconds for known, seconds in by_state.items() if known == state), self.success)


Wake = Callable[[ObjectRef], None]
"""A function that queues an object for reconciliation now, from any thread."""

GONE: Final = math.inf
"""The result of a reconciliation whose object no longer exists: without a change, nothing is queued again."""

FailureReport = Callable[[ObjectRef, KymatuiError, float | None], None]
"""A function that gets each failure, with the seconds until the next try; None if there is none."""


def itself(ref: ObjectRef) -> Iterable[ObjectRef]:
    """Return the changed object as the one to reconcile."""
    return (ref,)


class KindWatch(Struct, frozen=True):
    """A watched kind of the control plane, in one namespace or ("") in all.

    keys      the objects to reconcile after a change of one object of this kind; None: all of the `listed` kinds
    listed    whether all its objects are reconciled at the start
    required  whether the controller waits until the cluster serves the kind
    delay     seconds until the objects are reconciled, so that changes that follow each other are one
    spread    seconds for each key, over which many keys are spread at random, up to 5 minutes
    label     label with the name of the Kyma that an object belongs to, which decides on its shard
    edits     whether changes of its status alone are left out, which the controller writes itself: after an error with
              a new text each time, they would requeue the object at once instead of after the delay
    owner     in place of `keys`: the objects to reconcile, from the changed one and the value of its label
    """

    kind: GroupVersionKind
    keys: Callable[[ObjectRef], Iterable[ObjectRef] | None] = itself
    namespace: str = ""
    listed: bool = False
    required: bool = True
    delay: float = 0.0
    spread: float = 0.0
    label: str = ""
    edits: bool = False
    owner: Callable[[ObjectRef, str], Iterable[ObjectRef]] | None = None

    def takes(self, namespace: str) -> bool:
        """Return whether it watches a namespace."""
        return self.namespace in ("", namespace)


class OperatorController(Protocol):
    """A controller of one kind; a ControllerGroup runs it.

    `reconcile` does what is possible now and returns the seconds until the next time, None for `resync`, `GONE` for an
    object that no longer exists. Its KymatuiErrors are retried with increasing delays; a RefusedError is reported, and
    the object waits for `resync`.
    """

    @property
    def name(self) -> str: ...

    @property
    def workers(self) -> int: ...

    @property
    def intervals(self) -> RequeueIntervals: ...

    @property
    def resync(self) -> float: ...

    def watches(self) -> Sequence[KindWatch]: ...

    def begin(self, wake: Wake) -> None:
        """Prepare; `wake` serves watches of the controller's own, such as those of runtimes."""
        ...

    def end(self) -> None:
        """Close and drop what `begin` and reconciliations opened and kept; it is called twice, `begin` may follow."""
        ...

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None: ...

    def leave(self, ref: ObjectRef) -> None:
        """Drop what is kept for an object that another replica reconciles from now on."""
        ...


class PlainController:
    """Base of the controllers that watch the control plane only, and open and keep nothing."""

    def begin(self, wake: Wake) -> None:
        """Do nothing: only the control plane is watched."""

    def end(self) -> None:
        """Do nothing: there is nothing to close."""

    def leave(self, ref: ObjectRef) -> None:
        """Do nothing: nothing is kept."""


class ReconcileOutcome(StrEnum):
    """The results, named as in controller-runtime's metrics."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE = "requeue_after"


class Reconciliation(Struct, frozen=True):
    """One ended reconciliation; `id` is unique, `seconds` its duration, `changes` what it wrote."""

    controller: str
    ref: ObjectRef
    result: ReconcileOutcome
    seconds: float
    id: str
    error: KymatuiError | None = None
    changes: Sequence[ObjectChange] = ()


Finished = Callable[[Reconciliation], None]


class GroupNews(StrEnum):
    """What is reported of the group as a whole."""

    STARTED = "Started"
    LEASE_TAKEN = "LeaseTaken"
    LEASE_LOST = "LeaseLost"
    STANDBY = "Standby"
    SHARDS = "ShardsChanged"
    SHARD_LEASES = "ShardLeases"
    CONTROLLER_WAITS = "ControllerWaits"
    MANIFESTS_IGNORED = "ManifestsIgnored"
    LEVELS = "LogLevels"
    STOPPING = "Stopping"
    STOPPED = "Stopped"


GroupReport = Callable[[GroupNews, str], None]
"""A function that gets news of the group, with a sentence for people."""


class GroupReports(Struct, frozen=True):
    """The receivers of a group's reports: failures, sentences about the group, and every reconciliation."""

    failed: FailureReport
    log: GroupReport = lambda news, text: None
    finished: Finished = lambda report: None


def begin_reconciliation(controller: str) -> str:
    """Return a new id and remember it and the controller for this thread."""
    _CURRENT.set((controller, str(uuid.uuid4())))
    return current_reconciliation()[1]


def current_reconciliation() -> tuple[str, str]:
    """Return controller and id of the last reconciliation of this thread or its context, "" outside of one."""
    return _CURRENT.get()


_CURRENT: Final[ContextVar[tuple[str, str]]] = ContextVar("reconciliation", default=("", ""))
