"""What every object has is checked where it is read: an answer that is not understood is an error, and no ground."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.objects.api_resource import ApiResource
from kymatui.adapters.kube.watch.kube_cluster import KubeCluster
from kymatui.domain.kubernetes.managed_fields import field_writers
from kymatui.domain.kubernetes.object_meta import field_managers
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.ownership import read_owner
from kymatui.engine.dryrun.preview import observe
from kymatui.errors import ServerError
from tests import kube_writes
from tests.adapters import hostile
from tests.adapters.clusters import Exchange, serving, transport

Json = dict[str, Any]
THING = ApiResource("example.org", "v1", "Thing", "things", True, ("get", "list", "patch"))
PATH = "/apis/example.org/v1/namespaces/n/things/a"
GOOD: Json = {
    "apiVersion": "example.org/v1",
    "kind": "Thing",
    "metadata": {
        "name": "a",
        "namespace": "n",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": None,
        "labels": {"a": "b"},
        "finalizers": ["x/y"],
        "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "o", "uid": "u", "controller": True}],
        "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {".": {}, "f:a": {}}}}],
    },
    "spec": {"anything": [1, None, "x"]},
}


def changed(path: str, value: Any) -> Json:
    found = copy.deepcopy(GOOD)
    *above, last = path.split(".")
    spot: Any = found
    for key in above:
        spot = spot[int(key) if isinstance(spot, list) else key]
    if value is ...:
        del spot[last]
    else:
        spot[int(last) if isinstance(spot, list) else last] = value
    return found


BROKEN: list[tuple[str, Any, str]] = [
    ("metadata", ..., "metadata"),
    ("metadata", None, "metadata"),
    ("metadata", 5, "metadata"),
    ("metadata", [], "metadata"),
    ("metadata.name", ..., "name"),
    ("metadata.name", None, "metadata.name"),
    ("metadata.name", "", "metadata.name"),
    ("metadata.name", "b", "metadata.name is 'b' instead of 'a'"),
    ("metadata.namespace", ..., "metadata.namespace"),
    ("metadata.namespace", "other", "metadata.namespace is 'other' instead of 'n'"),
    ("metadata.uid", 5, "metadata.uid"),
    ("metadata.resourceVersion", {}, "metadata.resourceVersion"),
    ("metadata.deletionTimestamp", True, "metadata.deletionTimestamp"),
    ("metadata.labels", "text", "metadata.labels"),
    ("metadata.labels.a", None, "metadata.labels"),
    ("metadata.finalizers", {"x": 1}, "metadata.finalizers"),
    ("metadata.finalizers.0", 5, "metadata.finalizers[0]"),
    ("metadata.ownerReferences", [5], "metadata.ownerReferences[0]"),
    ("metadata.ownerReferences.0.uid", [], "metadata.ownerReferences[0].uid"),
    ("metadata.managedFields", {}, "metadata.managedFields"),
    ("metadata.managedFields", [None], "metadata.managedFields[0]"),
    ("metadata.managedFields.0.manager", 5, "metadata.managedFields[0].manager"),
    ("metadata.managedFields.0.fieldsV1", [], "metadata.managedFields[0].fieldsV1"),
    ("metadata.managedFields.0.fieldsV1.f:spec", "x", "metadata.managedFields[0].fieldsV1"),
    ("kind", "Other", "kind is 'Other' instead of 'Thing'"),
    ("kind", 5, "kind"),
    ("apiVersion", "example.org/v2", "apiVersion is 'example.org/v2' instead of 'example.org/v1'"),
]


def answering(document: Any) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.json(document)


@pytest.mark.parametrize(("path", "value", "field"), BROKEN)
def test_an_object_that_cannot_be_read_is_an_error_that_names_server_path_and_field(
    path: str, value: Any, field: str
) -> None:
    body = changed(path, value)
    with serving(answering(body)) as address:
        client = Client(transport(address))
        for part in ("", "status"):
            with pytest.raises(ServerError) as caught:
                client.get(THING, "a", "n", subresource=part)
            said = str(caught.value)
            assert f"the answer of {address} to GET {PATH}" in said
            assert field in said
    listed = {"kind": "ThingList", "apiVersion": "example.org/v1", "items": [GOOD, body]}
    if field.startswith("metadata.name is 'b'"):
        return
    with serving(answering(listed)) as address, pytest.raises(ServerError, match=r"items\[1\]") as caught:
        Client(transport(address)).list(THING, "n", decode=dict[str, Any])
    assert field in str(caught.value)


@pytest.mark.parametrize("body", [b"null", b"[]", b"5", b'"x"', b"", b"{", b"\xff", b"<html>", b'{"a":1e999}'])
def test_what_is_no_object_is_an_error(body: bytes) -> None:
    with serving(lambda exchange: exchange.answer(200, body)) as address:
        client = Client(transport(address))
        reads: list[Callable[[], object]] = [
            lambda: client.get(THING, "a", "n"),
            lambda: kube_writes.apply(client, THING, GOOD),
            client.version,
        ]
        for read in reads:
            with pytest.raises(ServerError):
                read()


def test_the_answer_to_a_write_is_read_as_any_other() -> None:
    with serving(answering(changed("metadata.managedFields", 5))) as address:
        client = Client(transport(address))
        with pytest.raises(ServerError, match=r"metadata\.managedFields"):
            kube_writes.apply(client, THING, GOOD)


def test_nulls_of_metadata_are_left_out_and_the_rest_stays_as_it_is() -> None:
    body = changed("metadata.labels", None)
    with serving(answering(body)) as address:
        found = Client(transport(address)).get(THING, "a", "n")
    assert "labels" not in found["metadata"]
    assert "creationTimestamp" not in found["metadata"]
    assert found["spec"] == GOOD["spec"]
    observe(found), read_owner(found), field_managers(found), field_writers(found)


def test_metadata_alone_is_an_object_of_any_kind() -> None:
    body = {**GOOD, "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
    with serving(answering(body)) as address:
        assert Client(transport(address)).get(THING, "a", "n")["metadata"]["name"] == "a"


@pytest.mark.parametrize("document", [{}, {"kind": "Status", "status": "Success"}, {"kind": "ThingList"}])
def test_a_list_that_was_not_understood_is_not_taken_for_nothing(document: Json) -> None:
    """By an empty list it is decided that a namespace may go."""

    def respond(exchange: Exchange) -> None:
        if exchange.path.count("/") == 3:
            resource = {"name": "things", "kind": "Thing", "namespaced": True, "verbs": ["list"]}
            exchange.json({"kind": "APIResourceList", "resources": [resource]})
        elif exchange.path == "/apis":
            versions = [{"version": "v1"}]
            exchange.json({"kind": "APIGroupList", "groups": [{"name": "example.org", "versions": versions}]})
        else:
            exchange.json(document)

    with serving(respond) as address:
        cluster = KubeCluster(Client(transport(address)))
        kind = GroupVersionKind("example.org", "v1", "Thing")
        with pytest.raises(ServerError):
            cluster.list(kind, "n")
        with pytest.raises(ServerError):
            cluster.get(ObjectRef(kind, "n", "a"))


def test_the_hostile_discovery_is_read() -> None:
    with serving(lambda exchange: hostile.answered(exchange, hostile.repeated_token)) as address:
        client = Client(transport(address))
        assert client.discovery.find_kind("apps", "Deployment") is not None
