"""What happened in one reconciliation, for metrics and the log."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.errors import KymatuiError
from kymatui.operator.framework.controller import Told

_LOCAL = threading.local()


class ReconcileOutcome(StrEnum):
    """The results, named as in controller-runtime's metrics."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE = "requeue_after"


class Reconciliation(Struct, frozen=True):
    """One ended reconciliation; `id` is unique, `seconds` its duration."""

    controller: str
    ref: ObjectRef
    result: ReconcileOutcome
    seconds: float
    id: str
    error: KymatuiError | None = None


Finished = Callable[[Reconciliation], None]


class GroupReports(Struct, frozen=True):
    """The receivers of a group's reports: failures, sentences about the group, and every reconciliation."""

    told: Told
    tell: Callable[[str], None] = lambda words: None
    finished: Finished = lambda one: None


def begin_reconciliation(controller: str) -> str:
    """Return a new id and remember it and the controller for this thread."""
    _LOCAL.current = controller, str(uuid.uuid4())
    return current_reconciliation()[1]


def current_reconciliation() -> tuple[str, str]:
    """Return controller and id of this thread's last reconciliation, "" outside of one."""
    found: tuple[str, str] = getattr(_LOCAL, "current", ("", ""))
    return found
