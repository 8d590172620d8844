"""What bounds the requests of one reconciliation, wherever in its threads they are made.

The scope is a context variable: transports read it before they send, and `run_for_each` hands it to its threads.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Final, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import ObjectRef


class WriteTerm(Protocol):
    """The time for which a replica may write."""

    def writing(self) -> AbstractContextManager[float]:
        """Enter a write; yield the seconds that it may take. Raises CancelledError once the term has ended."""
        ...


class RequestScope(Struct, frozen=True):
    """The bounds of a reconciliation.

    until     when no further request to a runtime begins, in seconds of the monotonic clock
    term      the time for writes; None: any
    versions  the resource versions of what was read under the term, for writes that must not overwrite another's
    """

    until: float = math.inf
    term: WriteTerm | None = None
    versions: dict[ObjectRef, str] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


_NONE: Final = RequestScope()
_SCOPE: ContextVar[RequestScope] = ContextVar("request_scope", default=_NONE)


def current_scope() -> RequestScope:
    return _SCOPE.get()


@contextlib.contextmanager
def request_scope(scope: RequestScope) -> Iterator[None]:
    """Bound the requests of this thread, and of the threads that it starts with its context."""
    token = _SCOPE.set(scope)
    try:
        yield
    finally:
        _SCOPE.reset(token)
