"""Metrics in Prometheus' format, with lifecycle-manager's names and labels; probes; the log as JSON."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import (
    ConfigurationError,
    DefectError,
    KymatuiError,
    RefusedError,
    UnauthorizedError,
    UnreachableError,
)
from kymatui.operator.framework.controller import GroupNews, ReconcileOutcome, Reconciliation, begin_reconciliation
from kymatui.operator.monitoring import metric_registry
from kymatui.operator.monitoring.metric_registry import Metric, MetricRegistry, MetricType
from kymatui.operator.monitoring.operator_log import LogFormat, OperatorLog
from kymatui.operator.monitoring.operator_metrics import METRICS, Monitoring, ReconcileMetrics
from kymatui.operator.monitoring.state_metrics import KYMA, MANIFEST, RELEASE_META, StateMetrics
from tests.engine.places import Json, Place, eventually

KYMA_REF = ObjectRef(GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma"), "kcp-system", "one")
MANIFEST_REF = ObjectRef(MANIFEST, "kcp-system", "one-nats-1")


def test_counters_gauges_and_histograms_in_the_text_format() -> None:
    total = Metric("requests_total", 'Requests\\of "all"\nkinds', MetricType.COUNTER, ("code",))
    time = Metric("seconds", "Time", MetricType.HISTOGRAM, ("path",), (0.1, 1.0))
    empty = Metric("unused", "Nothing", MetricType.GAUGE)
    registry = MetricRegistry((total, time, empty))
    registry.add(total, 1, 'a"b\\c\nd')
    registry.add(total, 2, 'a"b\\c\nd')
    for value in (0.1, 0.5, 7.25):
        registry.observe(time, value, "/")
    assert registry.text().splitlines() == [
        '# HELP requests_total Requests\\\\of "all"\\nkinds',
        "# TYPE requests_total counter",
        'requests_total{code="a\\"b\\\\c\\nd"} 3',
        "# HELP seconds Time",
        "# TYPE seconds histogram",
        'seconds_bucket{path="/",le="0.1"} 1',
        'seconds_bucket{path="/",le="1"} 2',
        'seconds_bucket{path="/",le="+Inf"} 3',
        'seconds_sum{path="/"} 7.85',
        'seconds_count{path="/"} 3',
    ]


class Unread(str):
    """A label that no other series may be compared with."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise AssertionError(f"{self} is read for {other}")


def test_the_series_of_one_kyma_are_replaced_without_reading_those_of_others() -> None:
    purge = Metric("purge_error", "Failed", MetricType.GAUGE, ("kyma_name", "err_reason"), index="kyma_name")
    registry = MetricRegistry((purge,))
    for number in range(20):
        registry.set(purge, 1, Unread(f"other-{number}"), "Cleanup")
    registry.replace(purge, {("one", "Cleanup"): 1.0}, kyma_name="one", err_reason="Cleanup")
    registry.replace(purge, {("one", "Removal"): 1.0}, kyma_name="one", err_reason="Removal")
    registry.replace(purge, {}, kyma_name="one", err_reason="Cleanup")
    assert list(registry._values[purge.name]["one"]) == [("one", "Removal")]
    registry.replace(purge, {}, kyma_name="one")
    assert len(registry._values[purge.name]) == 20


def test_all_series_are_replaced_whatever_their_index() -> None:
    purge = Metric("purge_error", "Failed", MetricType.GAUGE, ("kyma_name", "err_reason"), index="kyma_name")
    registry = MetricRegistry((purge,))
    for kyma in ("a", "b"):
        for reason in ("Cleanup", "Removal"):
            registry.set(purge, 1, kyma, reason)
    registry.replace(purge, {("c", "Cleanup"): 1.0}, err_reason="Cleanup")
    assert [line for line in registry.text().splitlines() if line[0] != "#"] == [
        'purge_error{kyma_name="a",err_reason="Removal"} 1',
        'purge_error{kyma_name="b",err_reason="Removal"} 1',
        'purge_error{kyma_name="c",err_reason="Cleanup"} 1',
    ]
    registry.replace(purge, {})
    assert registry.text() == "\n"


def test_the_text_is_written_without_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    time = Metric("seconds", "Time", MetricType.HISTOGRAM, (), (1.0,))
    total = Metric("total", "Total", MetricType.COUNTER)
    registry, written = MetricRegistry((time, total)), metric_registry._number
    registry.observe(time, 0.5)
    registry.add(total, 1)

    def number(value: float) -> str:
        assert not registry._lock.locked()
        return written(value)

    monkeypatch.setattr(metric_registry, "_number", number)
    assert "total 1" in registry.text()


def ended(ref: ObjectRef, seconds: float = 0.2, error: KymatuiError | None = None) -> Reconciliation:
    result = ReconcileOutcome.ERROR if error is not None else ReconcileOutcome.REQUEUE
    return Reconciliation(ref.kind.kind.lower(), ref, result, seconds, "id", error)


def test_reconciliations_are_counted_by_controller_result_and_reason() -> None:
    registry = MetricRegistry(METRICS)
    metrics = ReconcileMetrics(registry)
    for one in (
        ended(KYMA_REF),
        ended(KYMA_REF, error=UnauthorizedError("401", status=401)),
        ended(KYMA_REF, error=ConfigurationError("no Secret")),
        ended(MANIFEST_REF, error=UnreachableError("gone")),
        ended(MANIFEST_REF, error=DefectError(KeyError("status"))),
    ):
        metrics.finished(one)
    lines = registry.text().splitlines()
    for line in (
        'controller_runtime_reconcile_total{controller="kyma",result="error"} 2',
        'controller_runtime_reconcile_total{controller="kyma",result="requeue_after"} 1',
        'controller_runtime_reconcile_errors_total{controller="manifest"} 2',
        'controller_runtime_reconcile_panics_total{controller="manifest"} 1',
        'controller_runtime_reconcile_time_seconds_count{controller="kyma"} 3',
        'lifecycle_mgr_requeue_reason_total{requeue_reason="processing_kyma_state",requeue_type="intended"} 1',
        'lifecycle_mgr_requeue_reason_total{requeue_reason="kyma_unauthorized",requeue_type="unexpected"} 1',
        'lifecycle_mgr_requeue_reason_total{requeue_reason="sync_context_retrieval",requeue_type="unexpected"} 1',
        'lifecycle_mgr_requeue_reason_total{requeue_reason="manifest_client_init",requeue_type="unexpected"} 1',
    ):
        assert line in lines


def test_only_slow_manifests_have_a_duration() -> None:
    registry = MetricRegistry(METRICS)
    metrics = ReconcileMetrics(registry)
    metrics.finished(ended(MANIFEST_REF, 61.5))
    assert 'reconcile_duration_seconds{manifest_name="one-nats-1"} 61.5' in registry.text()
    metrics.finished(ended(MANIFEST_REF, 59.0))
    assert "reconcile_duration_seconds{" not in registry.text()


class StateDesk:
    """Kymas of a namespace, and their metrics."""

    def __init__(self, place: Place) -> None:
        self.place = place
        place.make_namespace()
        for body in read_crds():
            place.raw.apply(body, manager="test")
        eventually(self._is_served, "Kymas are served")
        place.cluster.forget_kinds()
        self.registry = MetricRegistry(METRICS)
        self.controller = StateMetrics(place.cluster, place.namespace, self.registry)

    def _is_served(self) -> bool:
        self.place.raw.forget_kinds()
        return all(self.place.raw.kind(kind) is not None for kind in (KYMA, MANIFEST, RELEASE_META))

    def put(self, kind: GroupVersionKind, name: str, spec: Json, state: str = "", **more: Any) -> ObjectRef:
        metadata = {"name": name, "namespace": self.place.namespace, **more.pop("metadata", {})}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        self.place.raw.apply(body, manager="test", force=True)
        ref = ObjectRef(kind, self.place.namespace, name)
        if state:
            self.place.raw.patch(ref, {"status": {"state": state, **more}}, PatchKind.MERGE, subresource="status")
        return ref

    def turn(self, ref: ObjectRef) -> list[str]:
        """Reconcile; return the series with the value 1."""
        self.controller.reconcile(ref, threading.Event())
        return [line.removesuffix(" 1") for line in self.registry.text().splitlines() if line.endswith(" 1")]


@pytest.fixture
def desk(place: Place) -> StateDesk:
    return StateDesk(place)


MARKED = {"annotations": {"skr-domain": "c-1.kyma.example"}, "labels": {"kyma-project.io/instance-id": "i-1"}}


def test_states_of_kymas_and_modules_follow_and_go(desk: StateDesk) -> None:
    operation = {"operation": "", "lastUpdateTime": "2026-01-01T00:00:00Z"}
    modules = [{"name": "nats", "fqdn": "x.io/nats", "state": "Unmanaged"}]
    ref = desk.put(
        KYMA, "one", {"channel": "regular"}, "Ready", modules=modules, lastOperation=operation, metadata=MARKED
    )
    assert desk.turn(ref) == [
        'lifecycle_mgr_kyma_state{kyma_name="one",state="Ready",shoot="c-1",instance_id="i-1"}',
        'lifecycle_mgr_module_state{module_name="nats",kyma_name="one",state="Unmanaged",shoot="c-1",instance_id="i-1"}',
    ]
    assert desk.registry.text().count("lifecycle_mgr_kyma_state{") == 5
    desk.put(KYMA, "one", {"channel": "regular"}, "Error", modules=[], metadata=MARKED)
    assert desk.turn(ref) == ['lifecycle_mgr_kyma_state{kyma_name="one",state="Error",shoot="c-1",instance_id="i-1"}']
    desk.place.raw.delete(ref)
    assert desk.turn(ref) == []
    assert "lifecycle_mgr_kyma_state{" not in desk.registry.text()


def test_a_replica_that_no_longer_leads_has_no_states(desk: StateDesk) -> None:
    ref = desk.put(KYMA, "one", {"channel": "regular"}, "Ready", metadata=MARKED)
    desk.turn(ref)
    desk.turn(ObjectRef(RELEASE_META, desk.place.namespace, ""))
    names = {line.partition("{")[0].partition(" ")[0] for line in desk.registry.text().splitlines() if line[0] != "#"}
    assert names == {"lifecycle_mgr_kyma_state", "lifecycle_mgr_mandatory_modules"}
    desk.controller.end()
    assert desk.registry.text().strip() == ""


@pytest.mark.parametrize("lacking", ["annotations", "labels"])
def test_a_kyma_without_shoot_or_instance_has_no_series(desk: StateDesk, lacking: str) -> None:
    metadata = {key: value for key, value in MARKED.items() if key != lacking}
    ref = desk.put(KYMA, "one", {"channel": "regular"}, "Ready", metadata=metadata)
    assert desk.turn(ref) == []


def test_mandatory_modules_are_counted_with_their_states(desk: StateDesk) -> None:
    component = "kyma-project.io/module/warden"
    desk.put(
        RELEASE_META,
        "warden",
        {"moduleName": "warden", "ocmComponentName": component, "mandatory": {"version": "1.0.0"}},
    )
    labels = {
        f"operator.kyma-project.io/{key}": value
        for key, value in (("mandatory-module", "true"), ("module-name", "warden"), ("kyma-name", "one"))
    }
    spec = {"remote": True, "install": {"name": "raw", "source": {"type": "oci-ref", "ref": "x"}}}
    desk.put(MANIFEST, "one-warden", spec, "Warning", metadata={"labels": labels})
    woken: list[ObjectRef] = []
    desk.controller.begin(woken.append)
    assert desk.turn(woken[0]) == [
        "lifecycle_mgr_mandatory_modules",
        'lifecycle_mgr_mandatory_module_state{module_name="warden",kyma_name="one",state="Warning"}',
    ]


def test_probes_and_metrics_have_their_paths() -> None:
    monitoring = Monitoring(MetricRegistry(METRICS))
    assert monitoring.answer("GET", "/readyz").status == 503
    assert monitoring.answer("GET", "/healthz").status == 200
    monitoring.started()
    assert monitoring.answer("GET", "/readyz").status == 200
    assert monitoring.answer("GET", "/metrics").content_type.startswith("text/plain; version=0.0.4")
    assert monitoring.answer("POST", "/metrics").status == 405
    assert monitoring.answer("GET", "/other").status == 404


def test_the_log_as_json_names_object_and_reconcile_id() -> None:
    lines: list[str] = []
    log = OperatorLog(lines.append, LogFormat.JSON)
    number = begin_reconciliation("kyma")
    log.failed(KYMA_REF, UnreachableError("no answer\nat all"), 2.04)
    log.failed(KYMA_REF, RefusedError("two Kymas"), None)
    log.news(GroupNews.STANDBY, "waiting for the Lease")
    failed, skipped, told = (json.loads(line) for line in lines)
    assert {key: value for key, value in failed.items() if key != "date"} == {
        "level": "error",
        "msg": "reconciliation failed",
        "reason": "ReconcileFailed",
        "errorType": "UnreachableError",
        "controller": "kyma",
        "reconcileID": number,
        "object": {"kind": "Kyma", "namespace": "kcp-system", "name": "one"},
        "error": "no answer\nat all",
        "retrySeconds": 2.0,
    }
    assert (skipped["level"], skipped["msg"]) == ("info", "reconciliation skipped")
    assert (told["level"], told["msg"]) == ("info", "waiting for the Lease")
    assert all("\n" not in line for line in lines)


@pytest.mark.parametrize("form", LogFormat)
def test_a_long_error_makes_no_long_line(form: LogFormat) -> None:
    lines: list[str] = []
    OperatorLog(lines.append, form).failed(KYMA_REF, UnreachableError("x" * 400_000), 2.0)
    assert len(lines[0]) < 10_000
    assert "x…" in lines[0]


@pytest.mark.parametrize("form", LogFormat)
def test_what_others_write_forges_no_line_of_the_log(form: LogFormat) -> None:
    lines: list[str] = []
    log = OperatorLog(lines.append, form)
    forged = "no\n12:00:00 Kyma kcp-system/one deleted\x1b]0;x\x07\x9b2J\u202e"
    log.news(GroupNews.STANDBY, forged)
    log.head(forged)
    log.failed(KYMA_REF, UnreachableError(forged), 2.0)
    log.failed(replace(KYMA_REF, name=forged), UnreachableError("no"), None)
    try:
        raise KeyError(forged) from ValueError(forged)
    except KeyError as error:
        defect = DefectError(error)
        defect.__cause__ = error
    log.failed(KYMA_REF, defect, None)
    assert all(line == sanitize(line) for line in lines)
    if form is LogFormat.JSON:
        assert json.loads(lines[2])["error"] == forged
    else:
        assert not [line for line in lines if line.startswith("12:00:00")]


@pytest.mark.parametrize("form", LogFormat)
def test_the_log_has_the_traceback_of_a_bug(form: LogFormat) -> None:
    lines: list[str] = []
    try:
        raise KeyError("status")
    except KeyError as error:
        defect = DefectError(error)
        defect.__cause__ = error
    OperatorLog(lines.append, form).failed(KYMA_REF, defect, 2.0)
    in_text = [line.removeprefix("  ") for line in lines[1:]]
    trace = json.loads(lines[0])["stacktrace"].splitlines() if form is LogFormat.JSON else in_text
    assert "KeyError: 'status'; this is a bug in kymatui; please report it" in lines[0]
    assert trace[0] == "Traceback (most recent call last):"
    assert trace[-1] == "KeyError: 'status'"
