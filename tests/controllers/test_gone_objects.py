"""Objects that no longer exist: they are reconciled once more, and nothing is kept for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any, cast

import pytest

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.remote.watcher_agent import AgentOptions, certificate_name
from kymatui.engine.cluster.ports import Cluster
from kymatui.engine.jobs.run import SystemClock
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, CatalogCache
from kymatui.operator.framework.controller import (
    GONE,
    GroupReports,
    KindWatch,
    OperatorController,
    ReconcileOutcome,
    Reconciliation,
    RequeueIntervals,
    Wake,
)
from kymatui.operator.framework.controller_group import RunningController
from kymatui.operator.framework.runtime_cache import KymaKey, RuntimeCache, SingleCluster
from kymatui.operator.framework.work_queue import WorkQueue
from kymatui.operator.kymas.kyma_context import KYMA, KymaContext
from kymatui.operator.kymas.kyma_reconciler import KymaController
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.kymas.purge_controller import PurgeController, PurgeTerms
from kymatui.operator.manifests.controller import ManifestController, ManifestReconciler
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import LayerReader, ModuleRenderer
from kymatui.operator.manifests.standalone_context import StandaloneContext
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.monitoring.state_metrics import StateMetrics
from kymatui.operator.sharding.shard_holder import ShardHolder
from kymatui.operator.watchers.runtime_webhook import CERTIFICATE, RuntimeWebhook
from kymatui.operator.watchers.watcher_controller import WatcherController
from tests.engine.places import eventually

CANCEL = threading.Event()
META = {
    "apiVersion": RELEASE_META.api_version,
    "kind": "ModuleReleaseMeta",
    "metadata": {"name": "warden", "namespace": "kcp-system"},
    "spec": {"moduleName": "warden", "mandatory": {"version": "1.0.0"}},
}
REF = ObjectRef(KYMA, "kcp-system", "one")


class Home:
    """A control plane with a mandatory module and without the object that is reconciled."""

    name = "kcp"

    def get(self, ref: ObjectRef, *, cancel: threading.Event | None = None) -> None:
        return None

    def list(self, gvk: GroupVersionKind, namespace: str = "", **how: Any) -> list[Any]:
        return [META] if gvk.kind == "ModuleReleaseMeta" else []

    def kind(self, gvk: GroupVersionKind) -> GroupVersionKind:
        return gvk

    def apply(self, body: Any, **how: Any) -> Any:
        return {**body, "metadata": {**body["metadata"], "uid": "u", "generation": 1}}

    def follow(self, kinds: Any, label: str = "", *, edits: bool = False) -> Changes:
        return Changes()


class Changes:
    """Fifty Kymas that were all deleted."""

    def __init__(self) -> None:
        self._left = [frozenset(ObjectRef(KYMA, "kcp-system", f"k{number}") for number in range(50))]

    def wait(self, seconds: float, cancel: threading.Event | None = None) -> frozenset[ObjectRef]:
        if self._left:
            return self._left.pop()
        time.sleep(0.05)
        return frozenset()

    def known(self) -> frozenset[ObjectRef]:
        return frozenset()

    def label_of(self, ref: ObjectRef) -> str | None:
        return None

    def close(self) -> None: ...


HOME = cast(Cluster, Home())


def kyma_context(left: list[KymaKey], webhook: RuntimeWebhook | None = None) -> KymaContext:
    runtimes = RuntimeCache(SingleCluster(HOME), left.append)
    templates = CatalogCache(HOME, "kcp-system")
    return KymaContext(HOME, SystemClock(), "kcp-system", runtimes, templates, cast(Any, None), webhook=webhook)


def controllers() -> dict[str, OperatorController]:
    kymas, registry = kyma_context([]), MetricRegistry(METRICS)
    standalone = StandaloneContext(HOME, cast(Any, None), cast(Any, None), SystemClock(), cast(Any, None))
    layers = ModuleRenderer(cast(LayerReader, None))
    module = ModuleContext(HOME, SystemClock(), kymas.runtimes, layers, RequeueIntervals())
    return {
        "kyma": KymaController(kymas, workers=1),
        "mandatory": MandatoryInstallation(kymas, workers=1),
        "mandatory-removal": MandatoryRemoval(kymas),
        "purge": PurgeController(kymas, PurgeTerms(1.0), registry),
        "module": ManifestController(ManifestReconciler(modules=module), "kcp-system"),
        "manifest": ManifestController(ManifestReconciler(standalone), "kcp-system"),
        "state-metrics": StateMetrics(HOME, "kcp-system", registry),
        "watcher": WatcherController(HOME, SystemClock(), "kcp-system", RequeueIntervals()),
    }


@pytest.mark.parametrize("name", list(controllers()))
def test_no_controller_waits_for_an_object_that_is_gone(name: str) -> None:
    assert controllers()[name].reconcile(REF, CANCEL) == GONE


def test_a_gone_kyma_leaves_neither_runtime_nor_certificate() -> None:
    left: list[KymaKey] = []
    webhook = RuntimeWebhook(HOME, AgentOptions("agent:1", "events:443", namespace="istio-system"))
    certificate = {
        "apiVersion": CERTIFICATE.api_version,
        "kind": "Certificate",
        "metadata": {"name": certificate_name(REF.name), "namespace": "istio-system"},
    }
    webhook._certificates.apply(HOME, certificate, None, "test", CANCEL)
    assert webhook._certificates._known[HOME]
    KymaController(kyma_context(left, webhook), workers=1).reconcile(REF, CANCEL)
    assert webhook._certificates._known[HOME] == {}
    assert left == [("kcp-system", "one")]


class Resyncing:
    """A controller of Kymas that resyncs often; `result` is that of each reconciliation."""

    name, workers, intervals, resync = "test", 2, RequeueIntervals(), 0.1

    def __init__(self, result: float | None) -> None:
        self._result = result
        self.wake: Wake = lambda ref: None

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(KYMA, listed=True),)

    def begin(self, wake: Wake) -> None:
        self.wake = wake

    def end(self) -> None: ...

    def leave(self, ref: ObjectRef) -> None: ...

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        return self._result


class AllShards:
    """Holds every shard without a term."""

    def shard_of(self, name: str) -> int:
        return 0

    def term_of(self, name: str) -> object:
        return object()


@pytest.mark.parametrize(("result", "repeated"), [(GONE, False), (None, True)])
def test_only_what_exists_is_resynced(result: float | None, *, repeated: bool) -> None:
    ended: list[Reconciliation] = []
    controller = Resyncing(result)
    reports = GroupReports(lambda *told: None, finished=ended.append)
    running = RunningController(HOME, controller, reports, cast(ShardHolder, AllShards()))
    running.start()
    try:
        controller.wake(REF)  # such as by a watch of the runtime, just after the deletion
        eventually(lambda: len({one.ref for one in ended}) == 51, "all are reconciled")
        time.sleep(0.5)
        if repeated:
            eventually(lambda: len(ended) > 51, "they are resynced")
        assert (len(ended) > 51) is repeated
        assert {one.result for one in ended} == {ReconcileOutcome.SUCCESS}
        eventually(lambda: running._own == (set() if result == GONE else {REF}), "it is left")
        eventually(lambda: len(queued(running._queue)) == (0 if result == GONE else 51), "what exists is queued")
    finally:
        running.stop()
        running.join(10)


def queued(queue: WorkQueue[ObjectRef]) -> set[ObjectRef]:
    """What is or will be reconciled; a worker that is slow has it in hand."""
    with queue._condition:
        return {*queue._due, *queue._waiting, *queue._low, *queue._in_hand}


class Delayed(Resyncing):
    """A controller that waits for further changes."""

    resync = 3600.0

    def watches(self) -> Sequence[KindWatch]:
        return (KindWatch(KYMA, listed=True, delay=60.0),)


def test_changes_that_follow_each_other_are_one_reconciliation() -> None:
    running = RunningController(HOME, Delayed(None), GroupReports(lambda *told: None))
    running.start()
    try:
        (watched,) = running._watched
        eventually(lambda: watched.listed and not running.waiting, "what exists at the start does not wait")
        for _ in range(3):
            running._changed(watched, [REF])
        soon = time.monotonic() + 300
        assert [ref for ref, due in running._queue._due.items() if due < soon] == [REF]
        assert running.waiting == 0
    finally:
        running.stop()
        running.join(10)
