"""What a controller is: the kinds that it watches on the control plane, and the reconciliation of one object."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.errors import KymatuiError
from kymatui.operator.framework.requeue_intervals import RequeueIntervals

Wake = Callable[[ObjectRef], None]
"""A function that queues an object for reconciliation now, from any thread."""

GONE: Final = math.inf
"""The result of a reconciliation whose object no longer exists: without a change, nothing is queued again."""

Told = Callable[[ObjectRef, KymatuiError, float | None], None]
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
