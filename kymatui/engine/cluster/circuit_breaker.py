"""A circuit breaker for one runtime: after repeated failures no request is sent, but for a probe now and then.

A server that stays silent holds a worker for as long as its request waits. So one silence counts as much as several
refusals, and all runtimes together have few places for probes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct

from kymatui.domain.kubernetes.backoff import JITTER_RANDOM, Backoff
from kymatui.errors import ClusterError


class CircuitState(StrEnum):
    """The states of a circuit, as the pattern names them."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class CircuitTerms(Struct, frozen=True):
    """The terms; seconds.

    failures  failures in a row that open the circuit
    silence   duration of a failed request that opens it at once
    probes    until the next probe
    """

    failures: int = 3
    silence: float = 4.0
    probes: Backoff = Backoff(1.0, 60.0, 1.0, 1.5)


class ProbePlaces:
    """The probes that may be under way at a time, of all runtimes together. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._places = threading.BoundedSemaphore(most)

    def take(self) -> bool:
        return self._places.acquire(blocking=False)

    def give_back(self) -> None:
        self._places.release()


class CircuitBreaker:
    """The circuit of one runtime. Thread-safe; `changed` gets each new state, under no lock."""

    def __init__(
        self,
        terms: CircuitTerms,
        probes: ProbePlaces,
        changed: Callable[[CircuitState], None] = lambda state: None,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = JITTER_RANDOM.random,
    ) -> None:
        self._terms, self._places, self._changed = terms, probes, changed
        self._clock, self._chance = clock, chance
        self._lock = threading.Lock()
        self._state = CircuitState.CLOSED
        self._failures = 0
        self._probes = 0
        self._until = 0.0
        self._last: ClusterError | None = None

    @property
    def state(self) -> CircuitState:
        return self._state

    def admit(self) -> bool:
        """Return whether the request is a probe, for which one report has to follow.

        While the circuit is open, or a probe is under way, raises the last failure again: what depends on its text,
        such as a status, stays as it is.
        """
        with self._lock:
            if self._state is CircuitState.CLOSED:
                return False
            due = self._state is CircuitState.OPEN and self._clock() >= self._until
            if not (due and self._places.take()):
                assert self._last is not None
                raise type(self._last)(str(self._last), hint=self._last.hint, status=self._last.status)
            self._state = CircuitState.HALF_OPEN
        self._changed(CircuitState.HALF_OPEN)
        return True

    def answered(self, *, probe: bool) -> None:
        """Report an answer, which closes the circuit."""
        with self._lock:
            if probe:
                self._places.give_back()
            was, self._state = self._state, CircuitState.CLOSED
            self._failures, self._probes, self._last = 0, 0, None
        if was is not CircuitState.CLOSED:
            self._changed(CircuitState.CLOSED)

    def failed(self, error: ClusterError, seconds: float, *, probe: bool) -> None:
        """Report a failure after so many seconds."""
        with self._lock:
            if probe:
                self._places.give_back()
            elif self._state is not CircuitState.CLOSED:
                return  # sent before the circuit opened
            self._failures += 1
            self._last = error.with_traceback(None)
            if not probe and self._failures < self._terms.failures and seconds < self._terms.silence:
                return
            self._open()
        self._changed(CircuitState.OPEN)

    def abandoned(self, *, probe: bool) -> None:
        """Report a request whose caller stopped waiting; a probe is made again, unless another answer came."""
        if not probe:
            return
        with self._lock:
            self._places.give_back()
            if self._state is not CircuitState.HALF_OPEN:
                return
            self._state = CircuitState.OPEN
        self._changed(CircuitState.OPEN)

    def _open(self) -> None:
        self._state = CircuitState.OPEN
        self._until = self._clock() + self._terms.probes.delay(self._probes, self._chance)
        self._probes += 1
