"""The rate and the circuit breaker of each runtime, shared by all controllers of a process."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Final

from kymatui.adapters.kube.transport.request_guard import RateGuard, is_silence, require_time
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.circuit_breaker import CircuitBreaker, CircuitState, CircuitTerms, ProbePlaces
from kymatui.engine.cluster.request_scope import RequestRate
from kymatui.errors import ClusterError

PROBES: Final = 4
"""Probes of unreachable runtimes at a time."""


class RuntimeGuards:
    """The guards by Kyma ("namespace/name"); thread-safe. Another kubeconfig begins with a closed circuit.

    Implements `GroupService`: circuits are reported while the group leads.
    """

    def __init__(self, rate: RequestRate | None = None, terms: CircuitTerms | None = None) -> None:
        self.changed: Callable[[str, CircuitState], None] = lambda kyma, state: None
        """Hears of each circuit that opens or closes; set it before the first request."""
        self._rate = rate or RequestRate()
        self._terms = terms or CircuitTerms()
        self._places = ProbePlaces(PROBES)
        self._lock = threading.Lock()
        self._known: dict[str, tuple[bytes, RuntimeGuard]] = {}
        self._ended = False

    def begin(self, wake: Callable[[ObjectRef], bool]) -> None:
        """Forget the guards of late requests, and report from now on."""
        with self._lock:
            self._known.clear()
            self._ended = False

    def end(self) -> None:
        """Report all circuits as closed and forget them: the next leader has its own."""
        with self._lock:
            self._ended = True
            names = list(self._known)
        for kyma in names:
            self.drop(kyma)

    def of(self, kyma: str, kubeconfig: bytes) -> RuntimeGuard:
        """Return the guard of a Kyma's runtime."""
        digest = hashlib.sha256(kubeconfig).digest()
        with self._lock:
            known = self._known.get(kyma)
            if known is not None and known[0] == digest:
                return known[1]
            breaker = CircuitBreaker(self._terms, self._places, lambda state: self._report(kyma, guard, state))
            guard = RuntimeGuard(self._rate, breaker)
            self._known[kyma] = digest, guard
        if known is not None and known[1].state is not CircuitState.CLOSED:
            self.changed(kyma, CircuitState.CLOSED)
        return guard

    def drop(self, kyma: str) -> None:
        """Forget the guard of a Kyma without a runtime, or which this process no longer reconciles."""
        with self._lock:
            known = self._known.pop(kyma, None)
        if known is not None and known[1].state is not CircuitState.CLOSED:
            self.changed(kyma, CircuitState.CLOSED)

    def _report(self, kyma: str, guard: RuntimeGuard, state: CircuitState) -> None:
        """Report a circuit unless its guard was dropped: a late request would leave it open for ever."""
        with self._lock:
            known = self._known.get(kyma)
            if known is not None and known[1] is guard and not self._ended:
                self.changed(kyma, state)


class RuntimeGuard:
    """Implements `RequestGuard` for one runtime; a request is sent and reported by one thread."""

    def __init__(self, rate: RequestRate, breaker: CircuitBreaker) -> None:
        self._rate = RateGuard(rate)
        self._breaker = breaker
        self._local = threading.local()

    @property
    def state(self) -> CircuitState:
        return self._breaker.state

    def admit(self, server: str, cancel: threading.Event | None) -> None:
        """Wait for the rate. Raises the last failure while the circuit is open, CancelledError, UnreachableError."""
        require_time(server)
        self._rate.admit(server, cancel)
        self._local.probe = self._breaker.admit()

    def answered(self) -> None:
        self._breaker.answered(probe=self._local.probe)

    def failed(self, error: ClusterError, seconds: float) -> None:
        if is_silence(error):
            self._breaker.failed(error, seconds, probe=self._local.probe)
        else:
            self.answered()

    def abandoned(self) -> None:
        self._breaker.abandoned(probe=self._local.probe)
