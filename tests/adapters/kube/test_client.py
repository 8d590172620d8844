"""The client on the embedded API server; with KYMATUI_TEST_KUBECONFIG on any other, to hold the two together."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client, Reviews
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.adapters.kube.watch.projections import MetadataOnly
from kymatui.adapters.kube.watch.watch import Watch
from kymatui.adapters.kube.watch.watch_cache import Store
from kymatui.adapters.kube.watch.watch_reader import PARTIAL_LIST, WatchSubject
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.engine.cluster.ports import PatchKind
from kymatui.errors import ConflictError, InvalidError, NotFoundError, UnauthorizedError
from tests import kube_writes
from tests.adapters.clusters import eventually

pytestmark = pytest.mark.xdist_group("kube-client")
DRY = {"dry_run": True}


@pytest.fixture(scope="module")
def kubeconfig() -> Iterator[str]:
    if given := os.environ.get("KYMATUI_TEST_KUBECONFIG"):
        yield given
        return
    from tests.sandboxes.starting import ready_sandbox

    with ready_sandbox() as running:
        yield str(running.kubeconfig)


@pytest.fixture
def client(kubeconfig: str) -> Client:
    return Client(Transport(connect(kubeconfig)))


@pytest.fixture
def namespace(client: Client) -> Iterator[str]:
    name = f"kube-client-{uuid.uuid4().hex[:8]}"
    namespaces = client.resource(GroupVersionKind("", "v1", "Namespace"))
    kube_writes.create(client, namespaces, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kube_writes.delete(client, namespaces, name)


@pytest.fixture
def config_maps(client: Client) -> ApiResource:
    return client.resource(GroupVersionKind("", "v1", "ConfigMap"))


def config_map(name: str, namespace: str, **data: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": "it"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def test_objects_are_created_read_replaced_and_deleted(
    client: Client, namespace: str, config_maps: ApiResource
) -> None:
    created = kube_writes.create(client, config_maps, config_map("a", namespace, x="1"), namespace)
    assert client.get(config_maps, "a", namespace)["data"] == {"x": "1"}
    assert kube_writes.update(client, config_maps, {**created, "data": {"x": "2"}})["data"] == {"x": "2"}
    with pytest.raises(ConflictError) as caught:
        kube_writes.update(client, config_maps, {**created, "data": {"x": "3"}})
    assert caught.value.reason == "Conflict"
    kube_writes.delete(client, config_maps, "a", namespace)
    with pytest.raises(NotFoundError):
        client.get(config_maps, "a", namespace)


def test_what_is_there_already_is_a_conflict(client: Client, namespace: str, config_maps: ApiResource) -> None:
    kube_writes.create(client, config_maps, config_map("a", namespace), namespace)
    with pytest.raises(ConflictError) as caught:
        kube_writes.create(client, config_maps, config_map("a", namespace), namespace)
    assert caught.value.reason == "AlreadyExists"


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (PatchKind.MERGE, {"data": {"x": None, "y": "2"}}),
        (PatchKind.STRATEGIC, {"data": {"x": None, "y": "2"}}),
        (PatchKind.JSON, [{"op": "remove", "path": "/data/x"}, {"op": "add", "path": "/data/y", "value": "2"}]),
    ],
)
def test_patches_change_a_part(
    client: Client, namespace: str, config_maps: ApiResource, kind: PatchKind, patch: Any
) -> None:
    kube_writes.create(client, config_maps, config_map("a", namespace, x="1"), namespace)
    assert kube_writes.patch(client, config_maps, "a", patch, kind, namespace)["data"] == {"y": "2"}


def test_apply_owns_its_fields_and_takes_others_only_by_force(
    client: Client, namespace: str, config_maps: ApiResource
) -> None:
    kube_writes.apply(client, config_maps, config_map("a", namespace, x="1"), manager="other")
    with pytest.raises(ConflictError) as caught:
        kube_writes.apply(client, config_maps, config_map("a", namespace, x="2"))
    (cause,) = caught.value.body["details"]["causes"]
    assert cause["field"] == ".data.x"
    assert "other" in cause["message"]
    assert kube_writes.apply(client, config_maps, config_map("a", namespace, x="2"), force=True)["data"] == {"x": "2"}
    managers = {entry["manager"] for entry in client.get(config_maps, "a", namespace)["metadata"]["managedFields"]}
    assert "kymatui" in managers


def test_a_dry_run_leaves_nothing(client: Client, namespace: str, config_maps: ApiResource) -> None:
    assert kube_writes.apply(client, config_maps, config_map("a", namespace, x="1"), **DRY)["data"] == {"x": "1"}
    with pytest.raises(NotFoundError):
        client.get(config_maps, "a", namespace)
    kube_writes.create(client, config_maps, config_map("b", namespace), namespace)
    kube_writes.delete(client, config_maps, "b", namespace, dry_run=True)
    assert client.get(config_maps, "b", namespace)


def test_unknown_fields_are_refused(client: Client, namespace: str, config_maps: ApiResource) -> None:
    with pytest.raises(InvalidError, match="unknown field"):
        kube_writes.create(client, config_maps, {**config_map("a", namespace), "dta": {}}, namespace)


def test_only_the_object_that_was_meant_is_deleted(client: Client, namespace: str, config_maps: ApiResource) -> None:
    created = kube_writes.create(client, config_maps, config_map("a", namespace), namespace)
    with pytest.raises(ConflictError):
        kube_writes.delete(client, config_maps, "a", namespace, uid="00000000-0000-0000-0000-000000000000")
    with pytest.raises(ConflictError):
        kube_writes.delete(client, config_maps, "a", namespace, resource_version="1")
    kube_writes.delete(client, config_maps, "a", namespace, uid=created["metadata"]["uid"])


def test_an_object_that_is_held_is_answered_with_itself(
    client: Client, namespace: str, config_maps: ApiResource
) -> None:
    body = config_map("held", namespace)
    body["metadata"]["finalizers"] = ["example.com/hold"]
    kube_writes.create(client, config_maps, body, namespace)
    answer = kube_writes.delete(client, config_maps, "held", namespace, propagation="Foreground")
    assert answer["metadata"]["deletionTimestamp"]
    kube_writes.patch(client, config_maps, "held", {"metadata": {"finalizers": None}}, PatchKind.MERGE, namespace)


def test_lists_come_in_pages(client: Client, namespace: str, config_maps: ApiResource) -> None:
    for name in "abcde":
        kube_writes.create(client, config_maps, config_map(name, namespace), namespace)
    pages = list(client.pages(config_maps, namespace, labels="app=it", limit=2))
    assert [len(page.items) for page in pages] == [2, 2, 1]
    assert len({page.resource_version for page in pages}) == 1
    whole = client.list(config_maps, namespace, labels="app=it", limit=2)
    assert [item["metadata"]["name"] for item in whole.items] == list("abcde")
    assert {item["kind"] for item in whole.items} == {"ConfigMap"}
    assert client.list(config_maps, namespace, fields="metadata.name=b").items[0]["metadata"]["name"] == "b"


def test_what_is_not_projected_is_not_there(client: Client, namespace: str, config_maps: ApiResource) -> None:
    kube_writes.create(client, config_maps, config_map("a", namespace, x="1"), namespace)
    (found,) = client.list(config_maps, namespace, labels="app=it", decode=MetadataOnly).items
    assert "data" not in found
    assert found["metadata"]["labels"] == {"app": "it"}
    (partial,) = next(client.pages(config_maps, namespace, labels="app=it", accept=PARTIAL_LIST)).items
    assert "data" not in partial


def test_tables_have_a_row_an_object(client: Client, namespace: str, config_maps: ApiResource) -> None:
    kube_writes.create(client, config_maps, config_map("a", namespace, x="1"), namespace)
    found = client.table(config_maps, namespace, labels="app=it")
    assert found["kind"] == "Table"
    assert [row["object"]["metadata"]["name"] for row in found["rows"]] == ["a"]


def test_parts_of_objects_are_read_and_written(client: Client, namespace: str) -> None:
    deployments = client.resource(GroupVersionKind("apps", "v1", "Deployment"))
    labels = {"app": "d"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "namespace": namespace},
        "spec": spec,
    }
    kube_writes.apply(client, deployments, body)
    patch = {"spec": {"replicas": 1}}
    scale = kube_writes.patch(client, deployments, "d", patch, PatchKind.MERGE, namespace, subresource="scale")
    assert scale["kind"] == "Scale"
    assert client.get(deployments, "d", namespace, subresource="scale")["spec"]["replicas"] == 1


def test_the_log_of_a_pod_that_does_not_exist(client: Client, namespace: str) -> None:
    with pytest.raises(NotFoundError):
        client.open_log(LogQuery(namespace, "gone", "main"))


def test_kinds_and_names_are_found(client: Client) -> None:
    assert client.discovery.find(GroupVersionKind("apps", "v1", "Deployment")) is not None
    assert client.discovery.find(GroupVersionKind("apps", "v1beta9", "Deployment")) is None
    with pytest.raises(NotFoundError, match=r"does not serve Thing\.v1\.example\.com"):
        client.resource(GroupVersionKind("example.com", "v1", "Thing"))
    found = client.discovery.find_kind("apps", "Deployment", ("v9", "v1"))
    assert found is not None
    assert found.version == "v1"


def test_rights_are_asked_once_a_namespace(client: Client, namespace: str) -> None:
    reviews = Reviews(client.transport)
    assert reviews.allowed("list", "configmaps", namespace=namespace)
    asked = client.transport.counts["POST"]
    assert reviews.allowed("delete", "secrets", namespace=namespace)
    assert reviews.allowed("get", "pods/log", namespace=namespace)
    assert client.transport.counts["POST"] == asked
    assert reviews.allowed("list", "nodes")


def test_the_version_is_told(client: Client) -> None:
    assert client.version()["gitVersion"].startswith("v")


def test_a_wrong_token_is_refused(kubeconfig: str) -> None:
    from kymatui.adapters.kube.auth.connection import Connection
    from kymatui.adapters.kube.auth.credentials import CredentialSource, bearer_credential

    found = connect(kubeconfig)
    wrong = Connection(found.key, "c", "", "ann", found.endpoint, CredentialSource(lambda: bearer_credential("wrong")))
    with pytest.raises(UnauthorizedError, match="'ann'"):
        Client(Transport(wrong)).list(ApiResource("", "v1", "Node", "nodes", False))


def test_impersonation_is_honoured(kubeconfig: str) -> None:
    from kymatui.adapters.kube.auth.connection import Connection
    from kymatui.adapters.kube.auth.credentials import Credential, CredentialSource

    found = connect(kubeconfig)
    mine = found.credentials.present()
    other = Credential(
        (*mine.headers, ("Impersonate-User", "jane"), ("Impersonate-Group", "readers")), mine.certificate
    )
    transport = Transport(Connection(found.key, "c", "", "", found.endpoint, CredentialSource(lambda: other)))
    assert not Reviews(transport).allowed("delete", "nodes")


@pytest.mark.parametrize("streams", [True, False], ids=["list in the watch", "list, then watch"])
def test_watches_follow_what_happens(client: Client, namespace: str, config_maps: ApiResource, streams: bool) -> None:
    client.streams_lists = streams
    kube_writes.create(client, config_maps, config_map("a", namespace), namespace)
    store = Store(lambda: None)
    watch = Watch(client, WatchSubject(config_maps), store)
    watch.start()
    eventually(lambda: store.feed.state is FeedState.LIVE, 20)
    assert (namespace, "a") in store.keys()  # noqa: SIM118 (a store is no mapping)
    kube_writes.create(client, config_maps, config_map("b", namespace), namespace)
    eventually(lambda: (namespace, "b") in store.keys())  # noqa: SIM118
    kube_writes.delete(client, config_maps, "a", namespace)
    eventually(lambda: (namespace, "a") not in store.keys())  # noqa: SIM118
    watch.stop()
    watch.join(5)
