"""The operator's metrics, with the names of lifecycle-manager and controller-runtime, and its probes."""

from __future__ import annotations

import threading
from typing import Final, NamedTuple

from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.circuit_breaker import CircuitState
from kymatui.errors import ConfigurationError, DefectError, KymatuiError, UnauthorizedError, UnreachableError
from kymatui.operator.framework.controller import ReconcileOutcome, Reconciliation
from kymatui.operator.monitoring.event_correlation import ObjectEvent
from kymatui.operator.monitoring.metric_registry import CONTENT_TYPE, Labels, Metric, MetricRegistry, MetricType

_KYMA, _STATE, _MODULE, _SHOOT, _INSTANCE = "kyma_name", "state", "module_name", "shoot", "instance_id"
_LISTENER = ("server_name",)
GAUGE, COUNTER = MetricType.GAUGE, MetricType.COUNTER

KYMA_STATE: Final = Metric(
    "lifecycle_mgr_kyma_state", "State of a Kyma", GAUGE, (_KYMA, _STATE, _SHOOT, _INSTANCE), index=_KYMA
)
MODULE_STATE: Final = Metric(
    "lifecycle_mgr_module_state",
    "State of a Kyma's module",
    GAUGE,
    (_MODULE, _KYMA, _STATE, _SHOOT, _INSTANCE),
    index=_KYMA,
)
MANDATORY_MODULES: Final = Metric("lifecycle_mgr_mandatory_modules", "Number of mandatory modules", GAUGE)
MANDATORY_STATE: Final = Metric(
    "lifecycle_mgr_mandatory_module_state", "State of a Kyma's mandatory module", GAUGE, (_MODULE, _KYMA, _STATE)
)
REQUEUES: Final = Metric(
    "lifecycle_mgr_requeue_reason_total", "Requeues by reason and type", COUNTER, ("requeue_reason", "requeue_type")
)
WINDOWS_READ: Final = Metric(
    "lifecycle_mgr_maintenance_window_config_read_success", "Whether the maintenance policy was read", GAUGE
)
SLOW_MANIFEST: Final = Metric(
    "reconcile_duration_seconds",
    "Duration of a Manifest's last reconciliation if it is 60 s or more",
    GAUGE,
    ("manifest_name",),
    index="manifest_name",
)
RECONCILE_TOTAL: Final = Metric(
    "controller_runtime_reconcile_total", "Reconciliations by controller and result", COUNTER, ("controller", "result")
)
RECONCILE_ERRORS: Final = Metric(
    "controller_runtime_reconcile_errors_total", "Failed reconciliations by controller", COUNTER, ("controller",)
)
RECONCILE_PANICS: Final = Metric(
    "controller_runtime_reconcile_panics_total",
    "Reconciliations that a bug ended, by controller",
    COUNTER,
    ("controller",),
)
RECONCILE_TIME: Final = Metric(
    "controller_runtime_reconcile_time_seconds",
    "Duration of reconciliations",
    MetricType.HISTOGRAM,
    ("controller",),
    (0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
)
WORKQUEUE_DEPTH: Final = Metric(
    "workqueue_depth", "Objects that wait for a worker, by controller", GAUGE, ("controller", "name")
)
PURGE_TIME: Final = Metric("lifecycle_mgr_purgectrl_time", "Duration of the last purge in seconds", GAUGE)
PURGE_REQUESTS: Final = Metric("lifecycle_mgr_purgectrl_requests_total", "Purges of runtimes", COUNTER)
PURGE_ERROR: Final = Metric(
    "lifecycle_mgr_purgectrl_error", "Failed purges", GAUGE, (_KYMA, _SHOOT, _INSTANCE, "err_reason"), index=_KYMA
)
LISTENER_REQUESTS: Final = Metric("watcher_listener_requests_total", "Events received", COUNTER, _LISTENER)
LISTENER_ERRORS: Final = Metric("watcher_listener_request_errors_total", "Events refused", COUNTER, _LISTENER)
LISTENER_DURATION: Final = Metric(
    "watcher_listener_request_duration", "Duration of the last request in seconds", GAUGE, _LISTENER
)
LISTENER_INFLIGHT: Final = Metric("watcher_listener_inflight_requests", "Requests under way", GAUGE, _LISTENER)
LISTENER_OVERSIZED: Final = Metric(
    "watcher_listener_exceeding_size_limit_requests_total", "Events over the size limit", COUNTER, _LISTENER
)
LISTENER_UNVERIFIED: Final = Metric(
    "watcher_listener_failed_verification_requests_total",
    "Events without a valid certificate",
    COUNTER,
    ("server_name", "request_uri_label"),
)
CIRCUIT_STATE: Final = Metric(
    "kymatui_runtime_circuit_state",
    "Whether the circuit of a runtime that did not answer is open or half open",
    GAUGE,
    (_KYMA, _STATE),
    index=_KYMA,
)
IGNORED_MANIFESTS: Final = Metric(
    "kymatui_ignored_manifests", "Manifests in namespaces whose Manifests are not installed", GAUGE
)
DECISIONS: Final = Metric(
    "kymatui_decisions_total",
    "Decisions by kind of object and reason, as in log and Events",
    COUNTER,
    ("kind", "reason"),
)
SHARD_HELD: Final = Metric("kymatui_shard_held", "Shards that this replica holds", GAUGE, ("shard",))
METRICS: Final = (
    KYMA_STATE, MODULE_STATE, MANDATORY_MODULES, MANDATORY_STATE, REQUEUES, WINDOWS_READ, SLOW_MANIFEST,
    RECONCILE_TOTAL, RECONCILE_ERRORS, RECONCILE_PANICS, RECONCILE_TIME, WORKQUEUE_DEPTH, LISTENER_REQUESTS,
    LISTENER_ERRORS, LISTENER_DURATION, LISTENER_INFLIGHT, LISTENER_OVERSIZED, LISTENER_UNVERIFIED, CIRCUIT_STATE,
    SHARD_HELD, IGNORED_MANIFESTS, DECISIONS,
    PURGE_TIME, PURGE_REQUESTS, PURGE_ERROR,
)  # fmt: skip
_SLOW: Final = 60.0
_DONE: Final = {"Kyma": "processing_kyma_state", "Manifest": "manifest_reconcile_finished"}


class ReconcileMetrics:
    """Counts reconciliations; `finished` and `failed` may be called from any thread."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._registry = registry

    def finished(self, reconciliation: Reconciliation) -> None:
        """Count a reconciliation that has ended, also with an error."""
        self._registry.add(RECONCILE_TOTAL, 1, reconciliation.controller, reconciliation.result)
        self._registry.observe(RECONCILE_TIME, reconciliation.seconds, reconciliation.controller)
        if reconciliation.result is ReconcileOutcome.ERROR:
            self._registry.add(RECONCILE_ERRORS, 1, reconciliation.controller)
        if isinstance(reconciliation.error, DefectError):
            self._registry.add(RECONCILE_PANICS, 1, reconciliation.controller)
        if reconciliation.ref.kind.kind == "Manifest":
            self._record_duration(reconciliation.ref, reconciliation.seconds)
        reason, how = _requeue(reconciliation)
        if reason:
            self._registry.add(REQUEUES, 1, reason, how)

    def decided(self, ref: ObjectRef, event: ObjectEvent) -> None:
        """Count a decision."""
        self._registry.add(DECISIONS, 1, ref.kind.kind, event.reason)

    def _record_duration(self, ref: ObjectRef, seconds: float) -> None:
        series: dict[Labels, float] = {(ref.name,): seconds} if seconds >= _SLOW else {}
        self._registry.replace(SLOW_MANIFEST, series, manifest_name=ref.name)


class CircuitMetrics:
    """Keeps the states of the circuits that are not closed; `changed` may be called from any thread."""

    def __init__(self, registry: MetricRegistry) -> None:
        self._registry = registry

    def changed(self, kyma: str, state: CircuitState) -> None:
        """Set the state of a Kyma's ("namespace/name") circuit."""
        name = kyma.rpartition("/")[2]
        shown = (CircuitState.OPEN, CircuitState.HALF_OPEN)
        closed = state is CircuitState.CLOSED
        series: dict[Labels, float] = (
            {} if closed else {(name, circuit_state): float(circuit_state is state) for circuit_state in shown}
        )
        self._registry.replace(CIRCUIT_STATE, series, kyma_name=name)


def _requeue(reconciliation: Reconciliation) -> tuple[str, str]:
    """Return lifecycle-manager's reason and type of a requeue, "" where it has none."""
    kind = reconciliation.ref.kind.kind
    if reconciliation.result is not ReconcileOutcome.ERROR:
        return _DONE.get(kind, ""), "intended"
    return (
        _failure(kind, reconciliation.error) if reconciliation.error is not None and kind in _DONE else ""
    ), "unexpected"


def _failure(kind: str, error: KymatuiError) -> str:
    prefix = kind.lower()
    if isinstance(error, UnauthorizedError):
        return f"{prefix}_unauthorized"
    if isinstance(error, UnreachableError | ConfigurationError):
        return "sync_context_retrieval" if kind == "Kyma" else "manifest_client_init"
    return "manifest_reconciliation" if kind == "Kyma" else "manifest_sync_resources"


PROBES: Final = frozenset({"/healthz", "/readyz"})
"""The paths that the kubelet asks for, which are answered without waiting."""
_TEXT: Final = "text/plain; charset=utf-8"


class MonitoringAnswer(NamedTuple):
    """Status, media type and body of an answer."""

    status: int
    content_type: str
    body: str


class Monitoring:
    """`/metrics`, `/healthz` and `/readyz`.

    The operator ends when it cannot go on, so it is alive while it answers. A replica that waits for the Lease is
    ready; otherwise a rollout could not go on.
    """

    def __init__(self, registry: MetricRegistry) -> None:
        self._registry = registry
        self._started = threading.Event()

    def started(self) -> None:
        """Report that the control plane was reached and the controllers were set up."""
        self._started.set()

    def answer(self, method: str, path: str) -> MonitoringAnswer:
        if path != "/metrics" and path not in PROBES:
            return MonitoringAnswer(404, _TEXT, "not found\n")
        if method not in ("GET", "HEAD"):
            return MonitoringAnswer(405, _TEXT, "method not allowed\n")
        if path == "/metrics":
            return MonitoringAnswer(200, CONTENT_TYPE, self._registry.text())
        if path == "/readyz" and not self._started.is_set():
            return MonitoringAnswer(503, _TEXT, "starting\n")
        return MonitoringAnswer(200, _TEXT, "ok\n")
