"""Requests and the answers of a real API server, side by side: status and words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kymatui.sandbox.apimachinery.exchange import ServerRequest, parse_query
from tests.sandbox.living import Living

Obj = dict[str, Any]
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
MAPS = "/api/v1/namespaces/default/configmaps"
SERVICES = "/api/v1/namespaces/default/services"


class Asked:
    """A server, and one word for each way to ask it."""

    def __init__(self) -> None:
        self.living = Living()

    def __call__(self, method: str, url: str, body: Any = None, kind: str = "application/json") -> tuple[int, Obj]:
        path, _, query = url.partition("?")
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        headers = {"authorization": "Bearer admin", "content-type": kind, "accept": "application/json"}
        response = self.living.server.api.handle(ServerRequest(method, path, parse_query(query), headers, data))
        return response.status, json.loads(response.body)


@pytest.fixture(scope="module")
def ask() -> Asked:
    asked = Asked()
    asked("POST", MAPS, {"metadata": {"name": "a"}, "data": {"x": "1"}})
    asked("POST", SERVICES, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"a": "b"}}})
    return asked


UNRECOGNIZED = "the object provided is unrecognized (must be of type ConfigMap): "


@pytest.mark.parametrize(
    ("method", "url", "body", "kind", "status", "words"),
    [
        ("POST", MAPS, "{", "", 400, UNRECOGNIZED + "couldn't get version/kind; json parse error: unexpected end"),
        ("POST", MAPS, '{"apiVersion":5}', "", 400, UNRECOGNIZED + "couldn't get version/kind"),
        ("POST", MAPS, "a: b: c", "application/yaml", 400, UNRECOGNIZED + "yaml: mapping values are not allowed"),
        (
            "POST",
            f"{MAPS}?fieldValidation=Strict",
            "kind: ConfigMap\nmetadata: {name: strict}\ndata: {a: b, a: c}",
            "application/yaml",
            400,
            'strict decoding error: yaml: unmarshal errors:\n  line 3: key "a" already set in map',
        ),
        (
            "PATCH",
            f"{MAPS}/a",
            '{"data":{"a":5}}',
            STRATEGIC,
            422,
            '"map[data:map[a:5]]": cannot convert int64 to string',
        ),
        ("PATCH", f"{MAPS}/a", '{"data":[]}', STRATEGIC, 422, "cannot restore map from slice"),
        ("PATCH", f"{MAPS}/a", '{"metadata":{"finalizers":"x"}}', STRATEGIC, 422, "cannot restore slice from string"),
        (
            "PATCH",
            f"{MAPS}/a",
            "[5]",
            JSON_PATCH,
            400,
            "cannot unmarshal number into Go value of type handlers.jsonPatchOp",
        ),
        (
            "PATCH",
            f"{MAPS}/a?fieldValidation=Strict",
            '{"data":{"a":"1","a":"2"}}',
            MERGE,
            422,
            'strict decoding error: duplicate field "data.a"',
        ),
        (
            "PATCH",
            f"{MAPS}/a?fieldManager=m",
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "managedFields": []}},
            APPLY,
            400,
            "metadata.managedFields must be nil",
        ),
        ("DELETE", f"{MAPS}/a", {"gracePeriodSeconds": "x"}, "", 400, "DeleteOptions.gracePeriodSeconds of type int64"),
        ("DELETE", "/api/v1/configmaps", None, "", 405, "the server does not allow this method"),
        ("GET", f"{MAPS}?labelSelector=a%20in%20(", None, "", 400, "found '', expected: ',', ')' or identifier"),
        ("GET", f"{MAPS}?labelSelector=a/b/c=d", None, "", 400, '<nil>: Invalid value: "a/b/c": a valid label key'),
        (
            "POST",
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            {"metadata": {"name": "other"}},
            "",
            422,
            "must match the service account name if specified",
        ),
        (
            "PATCH",
            f"{SERVICES}/s",
            {"spec": {"ipFamilyPolicy": "RequireDualStack"}},
            MERGE,
            422,
            "this cluster is not configured for dual-stack services",
        ),
        (
            "POST",
            SERVICES,
            {"metadata": {"name": "far"}, "spec": {"clusterIP": "1.2.3.4", "ports": [{"port": 1}]}},
            "",
            422,
            "the provided network does not match the current range",
        ),
        (
            "POST",
            SERVICES,
            {"metadata": {"name": "low"}, "spec": {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]}},
            "",
            422,
            "provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
    ],
)
def test_what_is_refused(ask: Asked, method: str, url: str, body: Any, kind: str, status: int, words: str) -> None:
    found, answer = ask(method, url, body, kind or "application/json")
    assert (found, words in answer["message"]) == (status, True), answer["message"]


def test_a_service_changes_its_type_and_comes_back(ask: Asked) -> None:
    def changed(**spec: Any) -> Obj:
        status, answer = ask("PATCH", f"{SERVICES}/s", {"spec": spec}, MERGE)
        assert status == 200, answer
        found: Obj = answer["spec"]
        return found

    address = changed()["clusterIP"]
    node = changed(type="NodePort")
    assert node["ports"][0]["nodePort"] in range(30_000, 32_768)
    assert node["externalTrafficPolicy"] == "Cluster"
    inside = changed(type="ClusterIP")
    assert "nodePort" not in inside["ports"][0]
    assert "externalTrafficPolicy" not in inside
    assert inside["clusterIP"] == address
    assert "clusterIP" not in changed(type="ExternalName", externalName="example.com")


def test_a_page_that_a_selector_fills_does_not_know_whether_there_is_more() -> None:
    ask = Asked()
    for index in range(4):
        ask("POST", MAPS, {"metadata": {"name": f"m{index}", "labels": {"even": str(index % 2 == 0)}}})
    _, first = ask("GET", f"{MAPS}?labelSelector=even=True&limit=2")
    assert [item["metadata"]["name"] for item in first["items"]] == ["m0", "m2"]
    assert "continue" in first["metadata"]
    assert "remainingItemCount" not in first["metadata"]
    _, rest = ask("GET", f"{MAPS}?labelSelector=even=True&limit=2&continue={first['metadata']['continue']}")
    assert (rest["items"], rest["metadata"].get("continue")) == ([], None)


def test_a_collection_is_deleted_page_by_page() -> None:
    ask = Asked()
    for index in range(3):
        ask("POST", MAPS, {"metadata": {"name": f"m{index}", "labels": {"g": "1"}}})
    _, page = ask("DELETE", f"{MAPS}?labelSelector=g&limit=2")
    assert [item["metadata"]["name"] for item in page["items"]] == ["m0", "m1"]
    assert page["metadata"]["continue"]
    assert [item["metadata"]["name"] for item in ask("GET", f"{MAPS}?labelSelector=g")[1]["items"]] == ["m2"]


def test_a_scale_is_applied_with_its_owner() -> None:
    ask = Asked()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/default/deployments/d"
    assert ask("PATCH", f"{path}?fieldManager=one", deployment, APPLY)[0] == 201
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 2}}
    status, refused = ask("PATCH", f"{path}/scale?fieldManager=two", scale, APPLY)
    assert (status, refused["details"]["causes"][0]["field"]) == (409, ".spec.replicas")
    status, forced = ask("PATCH", f"{path}/scale?fieldManager=two&force=true", scale, APPLY)
    assert (status, forced["spec"]["replicas"]) == (200, 2)


def test_a_daemon_set_counts_the_changes_of_its_template() -> None:
    ask = Asked()
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    path = "/apis/apps/v1/namespaces/default/daemonsets"
    name = "deprecated.daemonset.template.generation"
    assert ask("POST", path, {"metadata": {"name": "d"}, "spec": spec})[1]["metadata"]["annotations"] == {name: "1"}
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}}
    assert ask("PATCH", f"{path}/d", image, STRATEGIC)[1]["metadata"]["annotations"] == {name: "2"}


def test_a_stateful_set_may_mount_what_it_claims() -> None:
    ask = Asked()
    container = {"name": "c", "image": "i", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = {"selector": {"matchLabels": {"a": "b"}}, "serviceName": "s", "template": template}
    path = "/apis/apps/v1/namespaces/default/statefulsets"
    assert ask("POST", path, {"metadata": {"name": "without"}, "spec": spec})[0] == 422
    assert (
        ask("POST", path, {"metadata": {"name": "with"}, "spec": {**spec, "volumeClaimTemplates": [claim]}})[0] == 201
    )


def test_versions_of_a_kind_show_what_is_stored() -> None:
    """What only the other version knows is not kept: the storage version decides."""
    ask = Asked()
    known = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    versions = [
        {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": known}},
        {"name": "v2", "served": True, "storage": False, "schema": {"openAPIV3Schema": free}},
    ]
    names = {"plural": "things", "kind": "Thing"}
    made = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}
    ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {"metadata": {"name": "things.example.com"}, "spec": made},
    )
    ask.living.advance(1)
    thing = {"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "t"}, "spec": {"a": "1", "b": "2"}}
    status, answer = ask("POST", "/apis/example.com/v2/namespaces/default/things", thing)
    assert (status, answer["spec"]) == (201, {"a": "1"})
