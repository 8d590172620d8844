"""The delay of a retry is waited for, though each failure writes a new text to the status that is watched."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, Object, PatchKind, Write, Writes, WriteVerb
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ConfigurationError, ServerError
from kymatui.operator.framework.controller import GroupReports, OperatorController, Reconciliation, RequeueIntervals
from kymatui.operator.framework.controller_group import RunningController
from kymatui.operator.framework.runtime_cache import RuntimeCache, SingleCluster
from kymatui.operator.manifests.controller import ManifestController, ManifestReconciler
from kymatui.operator.manifests.module_pass import ModuleContext
from kymatui.operator.manifests.resource_rendering import LayerReader, ModuleRenderer
from tests.controllers.desks import MANIFEST, Desk
from tests.engine.objects import config_map, deployment
from tests.engine.places import Place, eventually

KYMA = GroupVersionKind("operator.kyma-project.io", "v1beta2", "Kyma")
MODULE_LABELS = {
    "operator.kyma-project.io/kyma-name": "far",
    "operator.kyma-project.io/managed-by": "lifecycle-manager",
    "operator.kyma-project.io/mandatory-module": "true",
}
LONG = RequeueIntervals(error=60.0, backoff=Backoff(60.0, 60.0))


class Failing(Writes):
    """A runtime where each apply fails with a text of its own, such as with the port of a connection."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._numbers = itertools.count(30000)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def write(self, write: Write, *, cancel: threading.Event | None = None) -> Object:
        if write.verb is not WriteVerb.APPLY:
            return self._cluster.write(write, cancel=cancel)
        raise ServerError(f"read tcp 10.0.0.1:{next(self._numbers)}->10.0.3.4:443: connection reset", status=500)


class OneLayer:
    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def objects(self, manifest: Any) -> list[dict[str, Any]]:
        return [config_map("of-module", self._namespace, v="1")]


class Running(list[Reconciliation]):
    """A running controller, and the ended reconciliations of the test's Manifest: other tests leave some behind."""

    def __init__(self, desk: Desk, controller: OperatorController) -> None:
        self._desk, self._others, self._marks = desk, set[ObjectRef](), itertools.count()
        reports = GroupReports(lambda *told: None, finished=self._finish)
        self.controller = RunningController(desk.place.cluster, controller, reports)

    def _finish(self, one: Reconciliation) -> None:
        if one.ref == self._desk.ref:
            self.append(one)
        else:
            self._others.add(one.ref)

    def catch_up(self) -> None:
        """Wait until what the watch had to report so far is reconciled: a Manifest that is written now comes after."""
        mark = ObjectRef(MANIFEST, self._desk.place.namespace, f"mark-{next(self._marks)}")
        named = {"name": mark.name, "namespace": mark.namespace, "labels": MODULE_LABELS}
        self._desk.place.raw.apply({**(self._desk.manifest() or {}), "metadata": named}, manager="test")
        eventually(lambda: mark in self._others, "a Manifest that was written later is reconciled")
        queue = self.controller._queue
        eventually(lambda: not len(queue) and not queue._in_hand, "nothing is left to reconcile")


@contextlib.contextmanager
def running(desk: Desk, controller: OperatorController) -> Iterator[Running]:
    found = Running(desk, controller)
    found.controller.start()
    try:
        yield found
    finally:
        found.controller.stop()
        found.controller.join(10)


def operation(desk: Desk) -> str:
    return str((desk.status().get("lastOperation") or {}).get("operation", ""))


def module_controller(desk: Desk, intervals: RequeueIntervals) -> ManifestController:
    runtimes = RuntimeCache(SingleCluster(cast(Cluster, Failing(desk.place.cluster))))
    layers = ModuleRenderer(cast(LayerReader, OneLayer(desk.place.namespace)))
    context = ModuleContext(desk.place.cluster, SystemClock(), runtimes, layers, intervals)
    return ManifestController(ManifestReconciler(modules=context), desk.place.namespace)


def put_module(desk: Desk) -> None:
    kyma = {"apiVersion": KYMA.api_version, "kind": "Kyma", "spec": {"channel": "regular"}}
    desk.place.raw.apply({**kyma, "metadata": {"name": "far", "namespace": desk.place.namespace}}, manager="test")
    desk.put("sha256:1", metadata={"labels": MODULE_LABELS}, version="1.0.0")


def test_a_failure_with_a_new_text_each_time_waits_for_its_retry(desk: Desk) -> None:
    put_module(desk)
    with running(desk, module_controller(desk, RequeueIntervals())) as ended:
        eventually(lambda: "connection reset" in operation(desk), "it fails")
        time.sleep(5)
        assert len(ended) <= 8  # what marks a new Manifest, and then retries after 0.5, 1, 2 seconds
        eventually(lambda: len(ended) > 2, "it is tried again")


def test_workloads_of_a_module_that_was_left_are_followed_again(desk: Desk) -> None:
    class OneWorkload(OneLayer):
        def objects(self, manifest: Any) -> list[dict[str, Any]]:
            return [deployment("of-module", desk.place.namespace)]

    put_module(desk)
    runtimes = RuntimeCache(SingleCluster(desk.place.cluster))
    layers = ModuleRenderer(cast(LayerReader, OneWorkload(desk.place.namespace)))
    context = ModuleContext(desk.place.cluster, SystemClock(), runtimes, layers, RequeueIntervals())
    reconciler = ManifestReconciler(modules=context)
    reconciler.begin(lambda ref: None)
    try:

        def is_watched() -> bool:
            reconciler.reconcile(desk.ref, threading.Event())
            return list(context.watches.watched().values()) == [[f"Deployment {desk.place.namespace}"]]

        eventually(is_watched, "its Deployment is followed")
        eventually(lambda: is_watched() and bool(desk.status().get("synced")), "what was applied is written down")
        reconciler.leave(desk.ref)
        assert context.watches.watched() == {}
        assert is_watched(), "although all objects were applied less than an interval ago"
    finally:
        reconciler.end()


def test_an_edit_is_acted_on_before_the_retry_is_due(desk: Desk) -> None:
    put_module(desk)
    with running(desk, module_controller(desk, LONG)) as ended:
        eventually(lambda: "connection reset" in operation(desk), "it fails")
        ended.catch_up()
        before, text = len(ended), operation(desk)
        patch = {"metadata": {"annotations": {"example.org/edited": "true"}}}
        desk.place.raw.patch(desk.ref, patch, PatchKind.MERGE)
        eventually(lambda: operation(desk) != text and len(ended) > before, "it is tried again")
        ended.catch_up()
        assert len(ended) == before + 1


def test_a_manifest_of_an_unreachable_cluster_waits_for_its_next_try(desk: Desk) -> None:
    ports = itertools.count()

    class Unreachable:
        def of(self, manifest: Any, cancel: threading.Event) -> Cluster:
            raise ConfigurationError(f"no answer from port {next(ports)}")

    desk.here.runtimes = Unreachable()
    desk.put("sha256:1")
    with running(desk, ManifestController(ManifestReconciler(desk.context), desk.ref.namespace)) as ended:
        eventually(lambda: "no answer" in str(desk.status()) and bool(ended), "it fails")
        time.sleep(1)
        assert len(ended) == 1


@pytest.mark.parametrize("word", ["", "end-watches", "expire-watches"])
def test_edits_are_told_and_changes_of_the_status_are_not(desk: Desk, place: Place, word: str) -> None:
    def put_status(state: str) -> None:
        place.raw.patch(desk.ref, {"status": {"state": state}}, PatchKind.MERGE, subresource="status")

    edits: list[dict[str, Any]] = [
        {"spec": {"version": "2.0.0"}},
        {"metadata": {"labels": {"a": "b"}}},
        {"metadata": {"annotations": {"a": "b"}}},
        {"metadata": {"finalizers": ["example.org/held"]}},
    ]
    desk.put("sha256:1")
    with place.cluster.follow([(MANIFEST, place.namespace)], edits=True) as changes:
        eventually(lambda: desk.ref in changes.wait(0.2), "it is listed")
        for number, edit in enumerate(edits):
            if word:
                place.fault(word)
            put_status("Error")
            place.raw.patch(desk.ref, edit, PatchKind.MERGE)
            eventually(lambda: desk.ref in changes.wait(0.2), f"{edit} is reported")
            put_status("Ready")
            mark, told = ObjectRef(MANIFEST, place.namespace, f"mark-{number}"), set[ObjectRef]()
            place.raw.apply({**(place.raw.get(desk.ref) or {}), **_named(mark)}, manager="test")
            eventually(lambda mark=mark, told=told: mark in (told.update(changes.wait(0.2)) or told), "a mark")  # type: ignore[misc]
            assert desk.ref not in told
        desk.delete()
        eventually(lambda: desk.ref in changes.wait(0.2), "its deletion is reported")
        place.release(desk.ref)
        eventually(lambda: desk.ref in changes.wait(0.2), "its end is reported")


def _named(ref: ObjectRef) -> dict[str, Any]:
    return {"metadata": {"name": ref.name, "namespace": ref.namespace}}
