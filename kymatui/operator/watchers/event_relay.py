"""Events of runtimes for objects of another replica: a mark on the object makes that replica's watch report it."""

from __future__ import annotations

import contextlib
import threading
from datetime import UTC, datetime
from typing import Final

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, PatchKind
from kymatui.errors import NotFoundError

ANNOTATION_EVENT: Final = "kymatui.io/runtime-event"
"""The time of the last event of the runtime that reached a replica without the object's shard."""


class EventRelay:
    """Passes events on to the replica that holds the shard of an object."""

    def __init__(self, home: Cluster, clock: Clock) -> None:
        self._home = home
        self._clock = clock

    def relay(self, ref: ObjectRef, cancel: threading.Event) -> None:
        """Mark an object, unless it is gone. Raises the errors of the control plane."""
        at = datetime.fromtimestamp(self._clock.now(), UTC).isoformat(timespec="microseconds")
        patch = {"metadata": {"annotations": {ANNOTATION_EVENT: at}}}
        with contextlib.suppress(NotFoundError):  # an object that is gone needs no reconciliation
            self._home.patch(ref, patch, PatchKind.MERGE, manager=OPERATOR_FIELD_MANAGER, cancel=cancel)
