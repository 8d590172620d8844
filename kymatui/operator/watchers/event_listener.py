"""The listener for events of runtimes: it checks sender, size and rate, and wakes what an event concerns.

With several replicas, an event is also passed on to the one that has the Kyma or Manifest.
"""

from __future__ import annotations

import contextlib
import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from cryptography import x509
from msgspec import Struct

from kymatui.domain.kubernetes.object_meta import LABEL_KYMA_NAME, OPERATOR, read_ref
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kyma.manifests import Manifest, read_manifest
from kymatui.domain.remote.watcher_routes import event_path
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, Clock, Cluster, PatchKind
from kymatui.errors import ClusterError, NotFoundError
from kymatui.operator.monitoring.metric_registry import Metric, MetricRegistry
from kymatui.operator.monitoring.operator_metrics import (
    LISTENER_DURATION,
    LISTENER_ERRORS,
    LISTENER_INFLIGHT,
    LISTENER_OVERSIZED,
    LISTENER_REQUESTS,
    LISTENER_UNVERIFIED,
)
from kymatui.operator.watchers.runtime_events import (
    EventRefusal,
    RuntimeEvent,
    forwarded_certificate,
    read_event,
    runtime_of,
)

RATE: Final = 5.0
"""Events a second of one runtime, on average."""
BURST: Final = 20.0
"""Events of one runtime at once."""
_KNOWN: Final = 10_000  # runtimes whose rate is remembered: the largest fleet twice


class EventLimits:
    """A token bucket for each runtime; thread-safe. `clock` is monotonic, in seconds."""

    def __init__(self, clock: Callable[[], float], *, rate: float = RATE, burst: float = BURST) -> None:
        self._clock, self._rate, self._burst = clock, rate, burst
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, runtime: str) -> float:
        """Return 0 if the runtime may send an event now, else the seconds until it may."""
        with self._lock:
            now = self._clock()
            tokens, at = self._buckets.pop(runtime, (self._burst, now))
            tokens = min(self._burst, tokens + (now - at) * self._rate)
            allowed = tokens >= 1
            self._buckets[runtime] = tokens - 1 if allowed else tokens, now
            if len(self._buckets) > _KNOWN:
                self._buckets.popitem(last=False)
            return 0.0 if allowed else (1 - tokens) / self._rate


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


KYMA: Final = GroupVersionKind(OPERATOR, "v1beta2", "Kyma")
MANIFEST: Final = GroupVersionKind(OPERATOR, "v1beta2", "Manifest")
RUNTIME_ID: Final = "kyma-project.io/runtime-id"
_OLDEST: Final = 30.0  # seconds that a runtime's Kyma is remembered


class EventTargets:
    """Kymas by the runtime of a certificate, and the Manifests that have an object; thread-safe."""

    def __init__(self, home: Cluster, namespace: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._home = home
        self._namespace = namespace
        self._clock = clock
        self._lock = threading.Lock()
        self._kymas: dict[str, tuple[float, ObjectRef]] = {}

    def kyma(self, runtime: str, cancel: threading.Event) -> ObjectRef | None:
        """Return the only Kyma with this runtime id, None if there is none. Raise ClusterError."""
        with self._lock:
            at, known = self._kymas.get(runtime, (float("-inf"), None))
        if known is not None and self._clock() - at < _OLDEST:
            return known
        kymas = self._home.list(KYMA, self._namespace, labels=f"{RUNTIME_ID}={runtime}", cancel=cancel)
        if len(kymas) != 1:
            return None
        ref = read_ref(kymas[0])
        with self._lock:
            now = self._clock()
            self._kymas = {key: value for key, value in self._kymas.items() if now - value[0] < _OLDEST}
            self._kymas[runtime] = now, ref
        return ref

    def of(self, kyma: ObjectRef, event: RuntimeEvent, cancel: threading.Event) -> Iterable[ObjectRef]:
        """Yield what an event of a Kyma's runtime concerns: the Kyma itself, or the Manifests with the object."""
        if (event.group, event.kind) == (OPERATOR, KYMA.kind):
            yield kyma
            return
        labels = f"{LABEL_KYMA_NAME}={kyma.name}"
        for raw in self._home.list(MANIFEST, self._namespace, labels=labels, cancel=cancel):
            manifest = read_manifest(raw)
            if isinstance(manifest, Manifest) and any(_is_same(ref, event) for ref in _objects(manifest)):
                yield ObjectRef(MANIFEST, manifest.meta.namespace, manifest.meta.name)


def _objects(manifest: Manifest) -> Iterator[ObjectRef]:
    """Yield the module CR and the installed objects of a Manifest."""
    if manifest.resource:
        yield read_ref(manifest.resource)
    yield from manifest.synced


def _is_same(ref: ObjectRef, event: RuntimeEvent) -> bool:
    """Return whether an event is about an object; a Manifest may name no namespace, and another version."""
    same = (ref.kind.group, ref.kind.kind, ref.name) == (event.group, event.kind, event.name)
    return same and ref.namespace in ("", event.namespace)


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
            reply = self._answer(request)
        finally:
            self._registry.add(LISTENER_INFLIGHT, -1, _SERVER)
        self._registry.set(LISTENER_DURATION, time.monotonic() - start, _SERVER)
        self._count(LISTENER_REQUESTS)
        if reply.status != 200:
            self._count(LISTENER_ERRORS)
        if reply.status == _TOO_LARGE:
            self._count(LISTENER_OVERSIZED)
        if reply.status == _UNAUTHORIZED:
            self._registry.add(LISTENER_UNVERIFIED, 1, _SERVER, event_path(MANAGER))
        return reply

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
