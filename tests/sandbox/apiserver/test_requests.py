"""Paths, queries and media types, as a real API server reads them."""

from __future__ import annotations

import pytest

from kymatui.sandbox.apimachinery.exchange import ServerRequest, parse_query
from kymatui.sandbox.apimachinery.statuses import StatusError
from kymatui.sandbox.apiserver.encoding.content_negotiation import negotiate, parse_clauses
from kymatui.sandbox.apiserver.reads.object_reads import (
    INCONSISTENT,
    ContinuePosition,
    decode_position,
    encode_position,
)
from kymatui.sandbox.apiserver.requests.request_info import request_info, without_watch_prefix
from kymatui.sandbox.apiserver.requests.request_options import agent_name, list_options, write_options


def request(method: str, url: str, **headers: str) -> ServerRequest:
    path, _, query = url.partition("?")
    return ServerRequest(method, path, parse_query(query), {k.replace("_", "-"): v for k, v in headers.items()})


@pytest.mark.parametrize(
    ("method", "url", "verb", "resource", "namespace", "name", "subresource"),
    [
        ("GET", "/api/v1/pods", "list", "pods", "", "", ""),
        ("GET", "/api/v1/pods?watch=true", "watch", "pods", "", "", ""),
        ("GET", "/api/v1/pods?watch=0", "list", "pods", "", "", ""),
        ("GET", "/api/v1/watch/pods", "watch", "pods", "", "", ""),
        ("GET", "/apis/apps/v1/watch/namespaces/n/deployments/d", "watch", "deployments.apps", "n", "d", ""),
        ("GET", "/api/v1/namespaces", "list", "namespaces", "", "", ""),
        ("GET", "/api/v1/namespaces/x", "get", "namespaces", "x", "x", ""),
        ("PUT", "/api/v1/namespaces/x/finalize", "update", "namespaces", "x", "x", "finalize"),
        ("GET", "/api/v1/namespaces/x/pods/p/log", "get", "pods", "x", "p", "log"),
        ("POST", "/api/v1/namespaces/x/pods", "create", "pods", "x", "", ""),
        ("DELETE", "/api/v1/namespaces/x/pods", "deletecollection", "pods", "x", "", ""),
        ("DELETE", "/apis/apps/v1/namespaces/x/deployments/d", "delete", "deployments.apps", "x", "d", ""),
        ("PATCH", "/apis/apps/v1/namespaces/x/deployments/d/status", "patch", "deployments.apps", "x", "d", "status"),
        ("GET", "/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Dp", "list", "pods", "x", "p", ""),
        ("GET", "/apis/apps", "get", "", "", "", ""),
        ("GET", "/version", "get", "", "", "", ""),
    ],
)
def test_what_a_url_asks_for(
    method: str, url: str, verb: str, resource: str, namespace: str, name: str, subresource: str
) -> None:
    info = request_info(without_watch_prefix(request(method, url)))
    found = (info.verb, info.full_resource, info.namespace, info.name, info.subresource)
    assert found == (verb, resource, namespace, name, subresource)


def test_clauses_stand_by_quality_and_keep_their_order() -> None:
    found = parse_clauses("text/plain;q=0.2, application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9, application/yaml")
    assert [(c.type, c.parameters.get("as")) for c in found] == [
        ("application/yaml", None),
        ("application/json", "Table"),
        ("text/plain", None),
    ]


@pytest.mark.parametrize(
    ("accept", "media_type", "as_kind"),
    [
        ("", "application/json", ""),
        ("*/*", "application/json", ""),
        ("application/vnd.kubernetes.protobuf,application/json", "application/json", ""),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json", "Table"),
        ("application/json;as=Table;v=v9;g=meta.k8s.io,application/json", "application/json", ""),
        ("application/yaml", "application/yaml", ""),
    ],
)
def test_the_form_of_an_answer(accept: str, media_type: str, as_kind: str) -> None:
    accepted = negotiate(request("GET", "/api/v1/pods", accept=accept))
    assert (accepted.media_type, accepted.as_kind) == (media_type, as_kind)


@pytest.mark.parametrize(
    "accept", ["text/html", "application/vnd.kubernetes.protobuf", "application/json;as=Nope;v=v1"]
)
def test_a_form_that_is_not_served(accept: str) -> None:
    with pytest.raises(StatusError) as caught:
        negotiate(request("GET", "/api/v1/pods", accept=accept))
    assert caught.value.code == 406


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("resourceVersionMatch=Exact", 422, "resourceVersionMatch"),
        ("resourceVersionMatch=Exact&resourceVersion=0", 422, "resourceVersionMatch"),
        ("sendInitialEvents=true", 422, "sendInitialEvents"),
        ("watch=1&sendInitialEvents=true", 422, "resourceVersionMatch"),
        ("watch=1&resourceVersionMatch=NotOlderThan", 422, "resourceVersionMatch"),
        ("limit=abc", 400, ""),
    ],
)
def test_list_options_that_make_no_sense(query: str, code: int, field: str) -> None:
    with pytest.raises(StatusError) as caught:
        list_options(request("GET", f"/api/v1/pods?{query}"))
    assert caught.value.code == code
    causes = caught.value.status.get("details", {}).get("causes", [])
    assert [cause["field"] for cause in causes] == ([field] if field else [])


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("dryRun=Some", "dryRun"),
        ("fieldValidation=Nope", "fieldValidation"),
        ("fieldManager=" + "x" * 129, "fieldManager"),
        ("fieldManager=a%01", "fieldManager"),
        ("force=true", "force"),
    ],
)
def test_write_options_that_make_no_sense(query: str, field: str) -> None:
    with pytest.raises(StatusError) as caught:
        write_options(request("PATCH", f"/api/v1/pods?{query}"), "PatchOptions")
    assert [cause["field"] for cause in caught.value.status["details"]["causes"]] == [field]


@pytest.mark.parametrize(
    ("agent", "manager"),
    [("kubectl/v1.32 (linux)", "kubectl"), ("", "unknown"), ("a" * 200, "a" * 128), ("Mozilla/5.0", "Mozilla")],
)
def test_the_field_manager_of_a_client_that_names_none(agent: str, manager: str) -> None:
    assert agent_name(agent) == manager


@pytest.mark.parametrize(
    ("position", "namespace"),
    [
        (ContinuePosition(("ns", "a"), 7), None),
        (ContinuePosition(("ns", "a"), 7), "ns"),
        (ContinuePosition(("", "node-1"), INCONSISTENT), None),
    ],
)
def test_a_continue_token_comes_back_as_it_was(position: ContinuePosition, namespace: str | None) -> None:
    token = encode_position(position, namespace)
    assert decode_position(token, namespace, namespaced=bool(position.after[0])) == position


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("garbage", "invalid character '\\u0081' looking for beginning of value"),
        ("YWJj", "invalid character 'a' looking for beginning of value"),
        ("%%%", "illegal base64 data at input byte 0"),
        ("eyJ2IjoibWV0YS5rOHMuaW8vdjIifQ", "server does not recognize this encoded version meta.k8s.io/v2"),
    ],
)
def test_a_continue_token_that_is_none(token: str, why: str) -> None:
    with pytest.raises(StatusError) as caught:
        decode_position(token, "ns", namespaced=True)
    assert str(caught.value) == f"invalid continue token: continue key is not valid: {why}"
