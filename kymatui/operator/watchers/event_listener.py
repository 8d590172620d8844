"""The listener for events of runtimes: it checks sender, size and rate, and wakes what an event concerns."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final

from cryptography import x509
from msgspec import Struct

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.domain.remote.watcher_routes import event_path
from kymatui.engine.cluster.ports import Clock
from kymatui.errors import ClusterError
from kymatui.operator.monitoring.metric_registry import Metric, MetricRegistry
from kymatui.operator.monitoring.operator_metrics import (
    LISTENER_DURATION,
    LISTENER_ERRORS,
    LISTENER_INFLIGHT,
    LISTENER_OVERSIZED,
    LISTENER_REQUESTS,
    LISTENER_UNVERIFIED,
)
from kymatui.operator.watchers.event_limits import EventLimits
from kymatui.operator.watchers.event_relay import EventRelay
from kymatui.operator.watchers.event_targets import EventTargets
from kymatui.operator.watchers.runtime_events import (
    EventRefusal,
    forwarded_certificate,
    read_event,
    runtime_of,
)

MANAGER: Final = "lifecycle-manager"
"""The manager in Watchers whose events this listener gets, which agents have in their paths."""
_SERVER: Final = "listener"
_UNAUTHORIZED, _TOO_LARGE = 401, 413  # HTTP statuses that have metrics of their own

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class EventRequest(Struct, frozen=True):
    """A request to the listener; `body` is None if it is over the limit.

    `forwarded` are the headers with a forwarded certificate, `presented` the certificate that the peer itself
    presented and TLS verified, in DER.
    """

    method: str
    path: str
    peer: str
    body: bytes | None
    forwarded: tuple[str, ...] = ()
    presented: bytes | None = None


class ListenerTrust(Struct, frozen=True):
    """Whom the listener believes: forwarded certificates of `gateways`, and certificates of `authorities`."""

    gateways: Sequence[Network] = ()
    authorities: Sequence[x509.Certificate] = ()

    def is_gateway(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer.partition("%")[0])
        except ValueError:  # fail closed: a peer without an address is no gateway
            return False
        mapped = getattr(address, "ipv4_mapped", None) or address
        return any(mapped in network for network in self.gateways)


class EventListener:
    """Answers requests; `wake` queues an object of the control plane and returns whether a controller takes it.

    What no controller takes goes to the `relay`, if there are other replicas.
    """

    def __init__(
        self,
        trust: ListenerTrust,
        targets: EventTargets,
        wake: Callable[[ObjectRef], bool],
        registry: MetricRegistry,
        clock: Clock,
        relay: EventRelay | None = None,
    ) -> None:
        self._trust = trust
        self._targets = targets
        self._wake = wake
        self._registry = registry
        self._clock = clock
        self._relay = relay
        self._limits = EventLimits(time.monotonic)
        self._cancel = threading.Event()

    def stop(self) -> None:
        """Cancel the requests to the control plane that are under way."""
        self._cancel.set()

    def answer(self, request: EventRequest) -> EventRefusal:
        """Return status and text of the answer; 200 for an event that was taken."""
        start = time.monotonic()
        self._registry.add(LISTENER_INFLIGHT, 1, _SERVER)
        try:
            found = self._answer(request)
        finally:
            self._registry.add(LISTENER_INFLIGHT, -1, _SERVER)
        self._registry.set(LISTENER_DURATION, time.monotonic() - start, _SERVER)
        self._count(LISTENER_REQUESTS)
        if found.status != 200:
            self._count(LISTENER_ERRORS)
        if found.status == _TOO_LARGE:
            self._count(LISTENER_OVERSIZED)
        if found.status == _UNAUTHORIZED:
            self._registry.add(LISTENER_UNVERIFIED, 1, _SERVER, event_path(MANAGER))
        return found

    def _count(self, metric: Metric) -> None:
        self._registry.add(metric, 1, _SERVER)

    def _answer(self, request: EventRequest) -> EventRefusal:
        if request.path != event_path(MANAGER):
            return EventRefusal(404, "not found")
        if request.method != "POST":
            return EventRefusal(405, f"{request.method} is not allowed")
        if request.body is None:
            return EventRefusal(413, "an event has at most 16384 bytes")
        runtime = self._runtime(request)
        if isinstance(runtime, EventRefusal):
            return runtime
        if seconds := self._limits.take(runtime):
            return EventRefusal(429, f"retry in {math.ceil(seconds)} s")
        event = read_event(request.body)
        if isinstance(event, EventRefusal):
            return event
        try:
            kyma = self._targets.kyma(runtime, self._cancel)
            if kyma is None:
                return EventRefusal(403, "no Kyma has this runtime")
            for ref in self._targets.of(kyma, event, self._cancel):
                if not self._wake(ref) and self._relay is not None:
                    self._relay.relay(ref, self._cancel)
        except ClusterError:
            return EventRefusal(503, "the control plane does not answer")
        return EventRefusal(200, "")

    def _runtime(self, request: EventRequest) -> str | EventRefusal:
        """Return the runtime that the sender proves to be."""
        now = self._clock.now()
        if request.presented is not None:
            certificate = x509.load_der_x509_certificate(request.presented)
            return runtime_of(certificate, now, self._trust.authorities)
        if not self._trust.is_gateway(request.peer):
            return EventRefusal(401, "a client certificate is required")
        forwarded = forwarded_certificate(request.forwarded)
        if isinstance(forwarded, EventRefusal):
            return forwarded
        return runtime_of(forwarded, now, self._trust.authorities)
