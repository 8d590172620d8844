"""Runtimes of Kymas that are not deleted in time: whose finalizers are removed, when, and what is told of it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.cli.main import main
from kymatui.crds import read_crds
from kymatui.domain.kubernetes.object_meta import parse_time
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import Cluster, PatchKind
from kymatui.errors import ServerError, UsageError
from kymatui.operator.catalogs.runtime_catalog import CatalogCache
from kymatui.operator.framework.controller import GONE
from kymatui.operator.framework.runtime_cache import RuntimeCache
from kymatui.operator.kymas.kyma_context import KYMA, KYMA_FINALIZER, KymaContext
from kymatui.operator.kymas.purge_controller import PURGE_FINALIZER, CrdPattern, PurgeController, PurgeTerms
from kymatui.operator.monitoring.event_correlation import ObjectEvent
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.cluster_access import open_cluster
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.engine.places import eventually
from tests.sandboxes.starting import ReadySandbox, ready_sandbox

CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
TEMPLATE = GroupVersionKind("operator.kyma-project.io", "v1beta2", "ModuleTemplate")
THING = GroupVersionKind("a.example.org", "v1", "Thing")
OTHER = GroupVersionKind("b.example.org", "v1", "Other")
SPACE = "kcp-system"
REF = ObjectRef(KYMA, SPACE, "one")
GRACE = 300.0
CANCEL = threading.Event()


class Clock:
    now_at = 0.0

    def now(self) -> float:
        return self.now_at

    def sleep(self, seconds: float, cancel: threading.Event | None = None) -> None:
        raise AssertionError


class Runtimes:
    """The runtime of every Kyma; None: its access Secret is missing."""

    def __init__(self, cluster: Cluster | None) -> None:
        self.cluster = cluster

    def runtime(self, kyma: str, namespace: str, cancel: threading.Event | None = None) -> Cluster | None:
        return self.cluster


class PurgeDesk:
    """A control plane with a Kyma in deletion, and its runtime with held objects."""

    def __init__(self, sandbox: ReadySandbox) -> None:
        self.sandbox = sandbox
        self.kcp, self.skr = (
            open_cluster(SessionOptions(str(sandbox.kubeconfig), context=name)) for name in ("kcp", "skr")
        )
        for cluster in (self.kcp, self.skr):
            for body in read_crds():
                cluster.create(body)
            for name in (SPACE, "kyma-system"):
                cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for gvk in (THING, OTHER):
            self.skr.create(definition(gvk))
        for cluster, kind in ((self.kcp, KYMA), (self.skr, KYMA), (self.skr, THING), (self.skr, OTHER)):
            eventually(lambda cluster=cluster, kind=kind: is_served(cluster, kind), f"{kind} is served")  # type: ignore[misc]
        self.registry, self.clock, self.runtimes = MetricRegistry(METRICS), Clock(), Runtimes(self.skr)
        self.events: list[ObjectEvent] = []
        self.cache = RuntimeCache(self.runtimes)

    def controller(self, exceptions: str = "") -> PurgeController:
        context = KymaContext(
            self.kcp,
            self.clock,
            SPACE,
            self.cache,
            CatalogCache(self.kcp, SPACE),
            None,  # type: ignore[arg-type]
            events=lambda about, event: self.events.append(event),
        )
        return PurgeController(context, PurgeTerms(GRACE, CrdPattern.parse(exceptions)), self.registry)

    def put_kyma(self, *finalizers: str, deleted: bool = True) -> None:
        metadata = {
            "name": REF.name,
            "namespace": SPACE,
            "finalizers": list(finalizers),
            "labels": {"kyma-project.io/instance-id": "i-1"},
            "annotations": {"skr-domain": "shoot.k8s.example.org"},
        }
        body = {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata, "spec": {"channel": "regular"}}
        self.kcp.create(body)
        if deleted:
            self.kcp.delete(REF)
            self.set_age(0.0)

    def set_age(self, seconds: float) -> None:
        """Set the clock to this time after the deletion of the Kyma."""
        stamp = (self.kcp.get(REF) or {})["metadata"]["deletionTimestamp"]
        self.clock.now_at = (parse_time(stamp) or 0.0) + seconds

    def hold(self, kind: GroupVersionKind, name: str, *finalizers: str) -> ObjectRef:
        metadata = {"name": name, "namespace": "kyma-system", "finalizers": list(finalizers)}
        specs: dict[GroupVersionKind, dict[str, Any]] = {KYMA: {"channel": "regular"}, TEMPLATE: {"descriptor": {}}}
        spec = specs.get(kind, {})
        self.skr.create({"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec})
        return ObjectRef(kind, "kyma-system", name)

    def finalizers(self, cluster: KubeCluster, ref: ObjectRef) -> list[str] | None:
        found = cluster.get(ref)
        return None if found is None else list(found["metadata"].get("finalizers") or [])

    def metrics(self) -> list[str]:
        return [line for line in self.registry.text().splitlines() if line.startswith("lifecycle_mgr_purgectrl")]


def definition(gvk: GroupVersionKind) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {"name": name, "served": True, "storage": name == gvk.version, "schema": {"openAPIV3Schema": schema}}
        for name in ("v1alpha1", gvk.version)
    ]
    singular = gvk.kind.lower()
    names = {"kind": gvk.kind, "plural": f"{singular}s", "singular": singular, "listKind": f"{gvk.kind}List"}
    spec = {"group": gvk.group, "scope": "Namespaced", "names": names, "versions": versions}
    metadata = {"name": f"{singular}s.{gvk.group}"}
    return {"apiVersion": CRD.api_version, "kind": CRD.kind, "metadata": metadata, "spec": spec}


def is_served(cluster: KubeCluster, kind: GroupVersionKind) -> bool:
    cluster.forget_kinds()
    return cluster.kind(kind) is not None


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PurgeDesk]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KYMATUI_READ_ONLY", raising=False)
    with ready_sandbox("kcp", "skr") as sandbox:
        yield PurgeDesk(sandbox)


def test_nothing_is_purged_before_the_grace_time(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER, deleted=False)
    thing = desk.hold(THING, "t", "example.org/held")
    controller = desk.controller()
    assert controller.reconcile(REF, CANCEL) is None
    desk.kcp.delete(REF)
    desk.set_age(GRACE - 100)
    assert controller.reconcile(REF, CANCEL) == 101.0
    assert desk.finalizers(desk.skr, thing) == ["example.org/held"]
    assert desk.metrics() == []


def test_afterwards_all_finalizers_but_the_exceptions_are_removed(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER, PURGE_FINALIZER)
    thing, deleting = desk.hold(THING, "t", "example.org/a", "example.org/b"), desk.hold(THING, "d", "example.org/a")
    other, kyma = desk.hold(OTHER, "o", "example.org/held"), desk.hold(KYMA, "default", "example.org/held")
    free = desk.hold(THING, "free")
    version = (desk.skr.get(free) or {})["metadata"]["resourceVersion"]
    desk.skr.delete(deleting)
    desk.set_age(GRACE)
    assert desk.controller("*.b.example.org").reconcile(REF, CANCEL) is not None
    assert desk.finalizers(desk.skr, thing) == []
    assert desk.skr.get(deleting) is None
    assert desk.finalizers(desk.skr, other) == ["example.org/held"]
    assert desk.finalizers(desk.skr, kyma) == ["example.org/held"]
    assert (desk.skr.get(free) or {})["metadata"]["resourceVersion"] == version
    assert desk.finalizers(desk.kcp, REF) == [KYMA_FINALIZER]
    assert "lifecycle_mgr_purgectrl_requests_total 1" in desk.metrics()
    (event,) = desk.events
    assert event.reason == "FinalizersPurged"
    assert "removed the finalizers of 2 objects" in event.message


def test_a_runtime_without_access_secret_counts_as_deleted(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER, PURGE_FINALIZER)
    desk.runtimes.cluster = None
    desk.set_age(GRACE)
    desk.controller().reconcile(REF, CANCEL)
    assert desk.finalizers(desk.kcp, REF) == [KYMA_FINALIZER]
    assert desk.metrics() == []


def test_a_failure_keeps_the_finalizer_and_is_a_metric_until_it_is_over(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER, PURGE_FINALIZER)
    desk.hold(THING, "t", "example.org/held")
    desk.set_age(GRACE)
    faults = FaultClient.for_kubeconfig(desk.sandbox.kubeconfig, "skr")
    faults.send("error", {"verb": "patch", "resource": "things.a.example.org"})
    controller = desk.controller()
    with pytest.raises(ServerError):
        controller.reconcile(REF, CANCEL)
    assert desk.finalizers(desk.kcp, REF) == [KYMA_FINALIZER, PURGE_FINALIZER]
    series = 'kyma_name="one",shoot="shoot",instance_id="i-1",err_reason="CleanupError"'
    assert f"lifecycle_mgr_purgectrl_error{{{series}}} 1" in desk.metrics()
    controller.end()
    assert not [line for line in desk.metrics() if "error" in line], "another replica has it from now on"
    faults.send("clear", {})
    controller.reconcile(REF, CANCEL)
    assert not [line for line in desk.metrics() if "error" in line]
    desk.kcp.patch(REF, {"metadata": {"finalizers": []}}, PatchKind.MERGE)
    assert controller.reconcile(REF, CANCEL) == GONE


def test_an_object_that_fails_keeps_no_other_one(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER, PURGE_FINALIZER)
    things = [desk.hold(THING, name, "example.org/held") for name in ("a", "b", "c")]
    other = desk.hold(OTHER, "o", "example.org/held")
    desk.set_age(GRACE)
    faults = FaultClient.for_kubeconfig(desk.sandbox.kubeconfig, "skr")
    faults.send("error", {"verb": "patch", "resource": "things.a.example.org", "name": "b"})
    with pytest.raises(ServerError):
        desk.controller().reconcile(REF, CANCEL)
    left = [desk.finalizers(desk.skr, one) for one in (*things, other)]
    assert left == [[], ["example.org/held"], [], []]
    assert desk.finalizers(desk.kcp, REF) == [KYMA_FINALIZER, PURGE_FINALIZER]
    assert [line for line in desk.metrics() if "CleanupError" in line]
    (event,) = desk.events
    assert "removed the finalizers of 3 objects" in event.message


def test_a_kind_that_cannot_be_listed_keeps_no_other_one(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER)
    thing, other = desk.hold(THING, "t", "example.org/held"), desk.hold(OTHER, "o", "example.org/held")
    desk.set_age(GRACE)
    faults = FaultClient.for_kubeconfig(desk.sandbox.kubeconfig, "skr")
    faults.send("error", {"verb": "list", "resource": "others.b.example.org"})
    with pytest.raises(ServerError):
        desk.controller().reconcile(REF, CANCEL)
    assert desk.finalizers(desk.skr, thing) == []
    assert desk.finalizers(desk.skr, other) == ["example.org/held"]


def test_objects_whose_stored_version_is_not_served_are_purged_too(desk: PurgeDesk) -> None:
    desk.put_kyma(KYMA_FINALIZER)
    desk.hold(THING, "t", "example.org/held")
    crd = ObjectRef(CRD, "", "things.a.example.org")
    unserved = [{"op": "replace", "path": "/spec/versions/1/served", "value": False}]
    desk.skr.patch(crd, unserved, PatchKind.JSON)
    eventually(lambda: not is_served(desk.skr, THING), "the stored version is not served")
    desk.set_age(GRACE)
    desk.controller().reconcile(REF, CANCEL)
    older = ObjectRef(GroupVersionKind(THING.group, "v1alpha1", THING.kind), "kyma-system", "t")
    assert desk.finalizers(desk.skr, older) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("things.a.example.org", True),
        ("thing.a.example.org", True),
        ("Thing.A.example.org", True),
        ("*.a.example.org", True),
        ("x.y, *.a.example.org", True),
        ("things.b.example.org", False),
        ("*.example.org", False),
        ("", False),
    ],
)
def test_crds_are_named_as_for_lifecycle_manager(text: str, *, found: bool) -> None:
    crd: Mapping[str, Any] = definition(THING)
    assert any(one.matches(crd) for one in CrdPattern.parse(text)) is found


@pytest.mark.parametrize("text", ["things", ".a.example.org", "things."])
def test_what_names_no_crd_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        CrdPattern.parse(text)


def test_the_command_refuses_what_cannot_be_meant(desk: PurgeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(desk.sandbox.kubeconfig))
    for words in (
        ("--purge-grace", "5m", "--single-cluster"),
        ("--purge-grace", "5m", "--controllers", "manifest"),
        ("--skip-finalizer-purging-for", "*.a.example.org"),
        ("--purge-grace", "5m", "--skip-finalizer-purging-for", "things"),
    ):
        assert main(["operator", "run", *words]) == 64, words
        assert main(["operator", "manifests", "--image", "k:1", *words]) == 64, words


def test_the_operator_ends_a_deletion_that_a_finalizer_holds(desk: PurgeDesk) -> None:
    config = desk.sandbox.kubeconfig.read_text().replace("current-context: kcp", "current-context: skr")
    metadata = {"name": "one", "namespace": SPACE, "labels": {"operator.kyma-project.io/kyma-name": "one"}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"config": config}}
    desk.kcp.create(body)
    desk.put_kyma(deleted=False)
    command = [sys.executable, "-m", "kymatui", "operator", "run", "--interval", "1s", "--purge-grace", "2s"]
    shell = {**os.environ, "KUBECONFIG": str(desk.sandbox.kubeconfig)}
    with subprocess.Popen(command, env=shell) as process:
        try:
            eventually(lambda: desk.skr.get(ObjectRef(KYMA, "kyma-system", "default")) is not None, "it is copied")
            held = desk.hold(TEMPLATE, "held", "example.org/held")
            desk.kcp.delete(REF)
            eventually(lambda: desk.kcp.get(REF) is None, "the Kyma is deleted")
            assert desk.skr.get(held) is None
        finally:
            process.terminate()
            process.wait(20)
