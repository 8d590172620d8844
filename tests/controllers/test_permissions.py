"""Controllers as the ServiceAccount that is printed for them: they need no more than they declare."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from msgspec.structs import replace

from kymatui.adapters.kube.objects.decoder import read_object
from kymatui.adapters.kube.transport.transport import Request
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import ForbiddenError
from kymatui.operator.catalogs.runtime_catalog import RELEASE_META, CatalogCache
from kymatui.operator.framework.controller import GroupReports, OperatorController, RequeueIntervals
from kymatui.operator.framework.controller_group import ControllerGroup
from kymatui.operator.framework.runtime_cache import RuntimeCache, SingleCluster
from kymatui.operator.installation.deployment import (
    LISTENER_PERMISSIONS,
    DeploymentOptions,
    PermissionScope,
    operator_objects,
)
from kymatui.operator.kymas.kyma_context import KYMA, KymaContext
from kymatui.operator.kymas.mandatory_modules import MandatoryInstallation, MandatoryRemoval
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.monitoring.state_metrics import StateMetrics
from kymatui.operator.program import tenant_context
from kymatui.operator.watchers.event_listener import RUNTIME_ID, EventTargets
from kymatui.operator.watchers.runtime_events import RuntimeEvent
from kymatui.operator.watchers.watcher_controller import WatcherController
from kymatui.sessions.fetching import FetchOptions
from tests.controllers.desks import Desk, run_alone
from tests.controllers.test_watchers import WatcherDesk
from tests.domain import builders
from tests.engine.objects import config_map
from tests.engine.objects import secret as make_secret
from tests.engine.places import Place, eventually
from tests.integration.used_permissions import used_permissions

SECRET = GroupVersionKind("", "v1", "Secret")
UNMANAGED = {"operator.kyma-project.io/is-unmanaged": "true"}
ACCESS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


def as_operator(place: Place, *controllers: str, **more: Any) -> KubeCluster:
    """The cluster with the printed permissions of these controllers."""
    for body in operator_objects(DeploymentOptions("k:1", place.namespace, controllers=controllers, **more)):
        if body["kind"] in ACCESS:
            place.kubectl(body)
    path = f"/api/v1/namespaces/{place.namespace}/serviceaccounts/kymatui-operator/token"
    ask = b'{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{}}'
    made = place.raw.client.transport.read(Request("POST", path, (), ask, content_type="application/json"), read_object)
    return place.connect(token=made["status"]["token"])


def test_watcher_and_metrics_work_with_what_they_declare(place: Place) -> None:
    desk = WatcherDesk(place)
    desk.put()
    home, stop = as_operator(place, "watcher"), threading.Event()
    failures: list[str] = []
    reports = GroupReports(lambda ref, error, seconds: failures.append(f"{ref}: {error}"))
    registry, clock = MetricRegistry(METRICS), SystemClock()
    place.faults.requests(forget=True)
    controllers: list[OperatorController] = [
        WatcherController(home, clock, place.namespace, RequeueIntervals.every(1.0)),
        StateMetrics(home, place.namespace, registry),
    ]
    group = ControllerGroup(home, clock, controllers, reports)
    thread = threading.Thread(target=group.run, args=(stop,))
    thread.start()
    try:
        eventually(lambda: desk.watcher().get("status", {}).get("state") == "Ready", "the Watcher is ready")
        eventually(lambda: "lifecycle_mgr_mandatory_modules 0" in registry.text(), "mandatory modules are counted")
        place.raw.delete(desk.service)
        eventually(lambda: bool(desk.route()), "the route is there again")
        place.raw.delete(desk.ref)
        eventually(lambda: desk.watcher() == {}, "the Watcher is released")
    finally:
        stop.set()
        thread.join(30)
        home.client.transport.close()
    assert failures == []
    assert place.raw.get(desk.service) is None
    assert forbidden(place) == []


def forbidden(place: Place) -> list[str]:
    """The operator's own requests that were refused, without those for Manifests that other tests left behind."""
    log = [one for one in place.faults.requests()["requests"] if not one["impersonated"]]
    refused = [one for one in log if one["agent"].startswith("kymatui") and one["status"] == 403]
    own = [one for one in refused if "/namespaces/" not in one["path"] or f"/{place.namespace}" in one["path"]]
    return [f"{one['method']} {one['path']}{' (watch)' if one['watch'] else ''}" for one in own]


def test_manifests_and_access_secrets_need_what_is_declared(desk: Desk) -> None:
    place = desk.place
    own, desk.ref = desk.ref, ObjectRef(desk.ref.kind, place.namespace, "unmanaged")
    label = {"operator.kyma-project.io/kyma-name": "far"}
    home, stop = as_operator(place, "manifest"), threading.Event()
    thread = threading.Thread(target=run_alone, args=(replace(desk.context, home=home), place.namespace, stop))
    place.faults.requests(forget=True)
    try:
        desk.put(desk.layers.push(config_map("of-unmanaged", place.namespace)))
        thread.start()
        eventually(lambda: desk.status().get("state") == "Ready", "it is installed")
        place.raw.patch(desk.ref, {"metadata": {"annotations": UNMANAGED}}, PatchKind.MERGE)
        eventually(lambda: place.raw.get(desk.ref) is None, "it is released")
        assert desk.config("of-unmanaged") is not None
        desk.ref = own
        desk.put(desk.layers.push(config_map("of-remote", place.namespace)), remote=True, metadata={"labels": label})
        eventually(lambda: "orphaned" in str(desk.status()), "it has a status")
        for value in ("1", "2"):
            secret = make_secret("access", place.namespace, v=value)
            place.kubectl({**secret, "metadata": {**secret["metadata"], "labels": label}})
        place.raw.delete(ObjectRef(SECRET, place.namespace, "access"))
        time.sleep(1)
    finally:
        stop.set()
        thread.join(30)
        home.client.transport.close()
    assert forbidden(place) == []


def test_manifests_of_a_further_namespace_need_what_is_declared_and_an_account(desk: Desk) -> None:
    place = desk.place
    tenant = f"{place.namespace}-tenant"
    place.kubectl({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": tenant}})
    allow(place, tenant, "deployer")
    desk.ref = ObjectRef(desk.ref.kind, tenant, "own")
    home, stop = as_operator(place, "manifest", tenants=(tenant,), account="deployer"), threading.Event()
    context = tenant_context(replace(desk.context, home=home), tenant, "deployer", FetchOptions())
    thread = threading.Thread(target=run_alone, args=(replace(context, blobs=desk.layers), tenant, stop))
    place.faults.requests(forget=True)
    config = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), tenant, "of-tenant")
    try:
        desk.put(desk.layers.push({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "of-tenant"}}))
        thread.start()
        eventually(lambda: desk.status().get("state") == "Ready", "it is installed")
        assert place.raw.get(config) is not None
        place.raw.delete(desk.ref)
        eventually(lambda: place.raw.get(desk.ref) is None, "it is uninstalled")
        assert place.raw.get(config) is None
    finally:
        stop.set()
        thread.join(30)
        home.client.transport.close()
        place.raw.delete(ObjectRef(GroupVersionKind("", "v1", "Namespace"), "", tenant))
    assert forbidden(place) == []


def allow(place: Place, namespace: str, account: str) -> None:
    """Let a ServiceAccount write ConfigMaps and Leases of its namespace."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": account, "namespace": namespace}
    resources = {"apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "leases"], "verbs": ["*"]}
    place.kubectl({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": [resources]})
    reference = {"apiGroup": rbac, "kind": "Role", "name": account}
    subjects = [{"kind": "ServiceAccount", **metadata}]
    binding = {"metadata": metadata, "roleRef": reference, "subjects": subjects}
    place.kubectl({"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", **binding})


@pytest.mark.parametrize(
    ("controller", "namespace", "allowed"),
    [("kyma", "home", True), ("kyma", "", False), ("kyma", "kube-system", False), ("watcher", "home", False)],
)
def test_secrets_are_read_only_at_home(place: Place, controller: str, namespace: str, *, allowed: bool) -> None:
    place.make_namespace()
    home = as_operator(place, controller)
    where = place.namespace if namespace == "home" else namespace
    try:
        if allowed:
            assert home.list(SECRET, where) == []
            return
        with pytest.raises(ForbiddenError):
            home.list(SECRET, where)
    finally:
        home.client.transport.close()


def test_the_listener_needs_what_is_granted_for_it_and_not_more(desk: Desk) -> None:
    place = desk.place
    kyma = builders.kyma(name="one", namespace=place.namespace, labelled={RUNTIME_ID: "r-1"})
    place.kubectl({**kyma, "apiVersion": KYMA.api_version})
    targets, cancel = EventTargets(place.cluster, place.namespace), threading.Event()
    place.faults.requests(forget=True)
    found = targets.kyma("r-1", cancel)
    assert found == ObjectRef(KYMA, place.namespace, "one")
    assert list(targets.of(found, RuntimeEvent("", "v1", "ConfigMap", "n", "c"), cancel)) == []
    used = {one for one in used_permissions(place.faults.requests()) if one.namespace == place.namespace}
    (granted,) = LISTENER_PERMISSIONS
    assert granted.scope is PermissionScope.HOME
    assert {one[1:] for one in used} == {
        (granted.group, resource, verb) for resource in granted.resources for verb in granted.verbs
    }


def test_mandatory_modules_alone_need_what_they_declare(desk: Desk) -> None:
    place = desk.place
    meta = {"name": "warden", "namespace": place.namespace}
    spec = {
        "moduleName": "warden",
        "ocmComponentName": "kyma-project.io/module/warden",
        "mandatory": {"version": "1.0.0"},
    }
    place.kubectl({"apiVersion": RELEASE_META.api_version, "kind": "ModuleReleaseMeta", "metadata": meta, "spec": spec})
    place.kubectl({**builders.kyma(name="one", namespace=place.namespace), "apiVersion": KYMA.api_version})
    home, stop = as_operator(place, "mandatory"), threading.Event()
    failures: list[str] = []
    reports = GroupReports(lambda ref, error, seconds: failures.append(f"{ref}: {error}"))
    context = KymaContext(
        home,
        SystemClock(),
        place.namespace,
        RuntimeCache(SingleCluster(home)),
        CatalogCache(home, place.namespace),
        None,  # type: ignore[arg-type]
        intervals=RequeueIntervals.every(1.0),
    )
    controllers: list[OperatorController] = [MandatoryInstallation(context, workers=1), MandatoryRemoval(context)]
    thread = threading.Thread(target=ControllerGroup(home, SystemClock(), controllers, reports).run, args=(stop,))
    thread.start()
    ref = ObjectRef(RELEASE_META, place.namespace, "warden")
    try:
        eventually(lambda: bool((place.raw.get(ref) or {})["metadata"].get("finalizers")), "it is held")
        eventually(lambda: bool(failures), "the template is missing")
        place.raw.delete(ref)
        eventually(lambda: place.raw.get(ref) is None, "it is released")
    finally:
        stop.set()
        thread.join(30)
        home.client.transport.close()
    assert {"ModuleTemplate warden-1.0.0 is missing" in one for one in failures} == {True}
