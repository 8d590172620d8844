"""Controllers of the operator inside the sandbox: their cluster port, and what wakes them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence

import pytest

from kymatui.domain.kubernetes.backoff import Backoff
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.cluster.ports import OPERATOR_FIELD_MANAGER, PatchKind
from kymatui.errors import (
    CancelledError,
    ConflictError,
    InvalidError,
    KymatuiError,
    NotFoundError,
    RegistryError,
    ServerError,
)
from kymatui.operator.framework.controller import KindWatch, RequeueIntervals, Wake
from kymatui.sandbox.registry.registry_store import OCI_MANIFEST, RegistryStore
from kymatui.sandbox.world.lifecycle.lifecycle_manager import HostedController, RegistryComponents
from kymatui.sandbox.world.lifecycle.local_cluster import LocalCluster
from kymatui.sandbox.world.modules.module_packages import pack, repository_of
from kymatui.sandbox.world.modules.sample_modules import module_named
from tests.sandbox.living import Living, Obj, workload

CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
SERVICE_ACCOUNT = GroupVersionKind("", "v1", "ServiceAccount")
SECRET = GroupVersionKind("", "v1", "Secret")
UNKNOWN = GroupVersionKind("example.org", "v1", "Unknown")
ONE = ObjectRef(CONFIG_MAP, "default", "one")


@pytest.fixture
def living() -> Living:
    return Living()


@pytest.fixture
def cluster(living: Living) -> LocalCluster:
    return LocalCluster("here", living.client)


def config(name: str = "one", **data: str) -> Obj:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_objects_are_written_under_lifecycle_managers_name(cluster: LocalCluster) -> None:
    cluster.create(config(a="1"), manager=OPERATOR_FIELD_MANAGER)
    cluster.apply(config(b="2"), manager="somebody", force=True)
    cluster.patch(ONE, {"data": {"c": "3"}}, PatchKind.MERGE, manager="somebody")
    live = cluster.get(ONE)
    assert live is not None
    assert live["data"] == {"a": "1", "b": "2", "c": "3"}
    assert {one["manager"] for one in live["metadata"]["managedFields"]} == {"lifecycle-manager", "somebody"}
    cluster.update({**live, "data": {}}, manager=OPERATOR_FIELD_MANAGER)
    [listed] = [one for one in cluster.list(CONFIG_MAP, "default") if one["metadata"]["name"] == "one"]
    assert (listed["kind"], listed.get("data")) == ("ConfigMap", None)


def test_failures_are_the_engines(cluster: LocalCluster) -> None:
    live = cluster.create(config())
    with pytest.raises(ConflictError) as caught:
        cluster.create(config())
    assert (caught.value.reason, caught.value.status) == ("AlreadyExists", 409)
    with pytest.raises(ConflictError):
        cluster.delete(ONE, resource_version="1")
    with pytest.raises(ConflictError):
        cluster.delete(ONE, uid="another")
    with pytest.raises(InvalidError):
        cluster.create(config("Not A Name"))
    cluster.delete(ONE, uid=live["metadata"]["uid"], resource_version=live["metadata"]["resourceVersion"])
    assert cluster.get(ONE) is None
    with pytest.raises(NotFoundError):
        cluster.delete(ONE)


def test_a_kind_that_is_not_served_has_no_objects(cluster: LocalCluster) -> None:
    assert cluster.kind(UNKNOWN) is None
    assert cluster.list(UNKNOWN) == []
    assert cluster.get(ObjectRef(UNKNOWN, "default", "one")) is None
    with pytest.raises(NotFoundError):
        cluster.delete(ObjectRef(UNKNOWN, "default", "one"))


def test_kinds_are_those_of_the_server(cluster: LocalCluster) -> None:
    served = cluster.kind(DEPLOYMENT)
    assert served is not None
    assert (served.resource, served.namespaced) == ("deployments", True)
    assert cluster.kinds("apps", "Deployment") == [served]
    assert served in cluster.all_kinds()


def test_what_only_a_real_connection_has_is_refused(cluster: LocalCluster) -> None:
    with pytest.raises(InvalidError):
        cluster.apply(config(), dry_run=True)
    with pytest.raises(InvalidError):
        cluster.follow([(CONFIG_MAP, "")])
    assert cluster.get(ONE) is None
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CancelledError):
        cluster.get(ONE, cancel=stopped)


class Counting:
    """A controller of Deployments that also depends on ConfigMaps with the name of their Deployment."""

    name = "counting"
    workers = 1
    intervals = RequeueIntervals(backoff=Backoff(1.0, 2.0))
    resync = 600.0

    def __init__(self) -> None:
        self.reconciled: list[str] = []
        self.error: KymatuiError | None = None

    def watches(self) -> Sequence[KindWatch]:
        def same_name(ref: ObjectRef) -> Sequence[ObjectRef]:
            return [ObjectRef(DEPLOYMENT, ref.namespace, ref.name)]

        def labelled(ref: ObjectRef, name: str) -> Sequence[ObjectRef]:
            return [ObjectRef(DEPLOYMENT, ref.namespace, name)] if name else []

        return (
            KindWatch(DEPLOYMENT, namespace="default", listed=True),
            KindWatch(CONFIG_MAP, same_name, "default"),
            KindWatch(SERVICE_ACCOUNT, namespace="default", label="for", owner=labelled),
            KindWatch(SECRET, lambda _: None, "default"),
        )

    def begin(self, wake: Wake) -> None:
        raise AssertionError("streams are not for hosted controllers")

    def end(self) -> None:
        raise AssertionError("nothing was begun")

    def leave(self, ref: ObjectRef) -> None:
        raise AssertionError("no other replica takes objects over")

    def reconcile(self, ref: ObjectRef, cancel: threading.Event) -> float | None:
        self.reconciled.append(ref.name)
        if self.error is not None:
            raise self.error
        return None


def hosted(living: Living, concerns: Callable[[tuple[str, str]], bool] = lambda _: True) -> Counting:
    controller = Counting()
    cluster = LocalCluster("here", living.client)
    living.controllers.add(HostedController(controller, cluster, living.controllers.context.observer, concerns))
    return controller


def test_existing_objects_and_changes_are_reconciled_but_not_for_a_status(living: Living) -> None:
    living.create("deployments.apps", workload("one"))
    living.create("deployments.apps", workload("other"))
    living.create("namespaces", {"metadata": {"name": "elsewhere"}}, "")
    living.advance(3)
    controller = hosted(living, lambda key: key[1] != "other")
    living.advance()
    assert controller.reconciled == ["one"]
    living.client.patch_status("deployments.apps", "one", {"status": {"observedGeneration": 1}}, namespace="default")
    living.create("deployments.apps", workload("one"), "elsewhere")
    living.advance(5)
    assert controller.reconciled == ["one"]
    living.client.patch("deployments.apps", "one", {"metadata": {"labels": {"a": "b"}}}, namespace="default")
    living.advance()
    assert controller.reconciled == ["one", "one"]
    living.client.delete("deployments.apps", "one", namespace="default")
    living.advance()
    assert len(controller.reconciled) > 2
    living.clock.advance(controller.resync)  # what was planned before the deletion
    controller.reconciled.clear()
    living.clock.advance(2 * controller.resync)
    assert controller.reconciled == []


def test_an_unchanged_object_is_reconciled_after_the_resync(living: Living) -> None:
    living.create("deployments.apps", workload("one"))
    living.advance(3)
    controller = hosted(living)
    living.clock.advance(controller.resync)
    assert controller.reconciled == ["one", "one"]


def test_changes_of_what_an_object_depends_on_are_collected(living: Living) -> None:
    controller = hosted(living)
    living.create("configmaps", {"metadata": {"name": "one"}})
    for number in range(5):
        living.client.patch("configmaps", "one", {"data": {"number": str(number)}}, namespace="default")
    living.advance()
    assert controller.reconciled == ["one"]


def test_a_label_or_no_object_at_all_tells_what_depends_on_a_change(living: Living) -> None:
    for name in ("one", "other"):
        living.create("deployments.apps", workload(name))
    living.advance(3)
    controller = hosted(living)
    living.advance()
    controller.reconciled.clear()
    living.create("serviceaccounts", {"metadata": {"name": "account", "labels": {"for": "other"}}})
    living.create("serviceaccounts", {"metadata": {"name": "nobodys"}})
    living.advance()
    assert controller.reconciled == ["other"]
    living.create("secrets", {"metadata": {"name": "for-all"}})
    living.advance()
    assert sorted(controller.reconciled[1:]) == ["one", "other"]


def test_a_failure_is_tried_again_with_growing_delays(living: Living) -> None:
    controller = hosted(living)
    controller.error = ServerError("no")
    living.create("configmaps", {"metadata": {"name": "one"}})
    living.advance(0.5)
    assert len(controller.reconciled) == 1
    living.advance(1)
    assert len(controller.reconciled) == 2
    controller.error = None
    living.advance(2)
    assert len(controller.reconciled) == 3
    living.advance(10)
    assert len(controller.reconciled) == 3


def test_a_component_that_cannot_be_read_is_a_registry_error() -> None:
    store, keda = RegistryStore(), module_named("keda")
    components = RegistryComponents(store)
    with pytest.raises(RegistryError):
        components.component(keda.component, "1.5.0")
    pack(store, keda, "1.5.0", "127.0.0.1:5000")
    assert components.component(keda.component, "1.5.0").version == "1.5.0"
    config_digest = store.push_blob(repository_of(keda), b"[]")
    manifest = {"config": {"digest": config_digest}, "mediaType": OCI_MANIFEST}
    store.push_manifest(repository_of(keda), "1.6.0", json.dumps(manifest).encode())
    with pytest.raises(RegistryError):
        components.component(keda.component, "1.6.0")
