"""What bounds the requests of one reconciliation, wherever in its threads they are made.

The scope is a context variable: transports read it before they send, and `run_for_each` hands it to its threads.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct, field

from kymatui.domain.kubernetes.refs import ObjectRef

if TYPE_CHECKING:
    pass


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
