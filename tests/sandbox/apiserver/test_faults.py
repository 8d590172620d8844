"""Misbehaviour on demand."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kymatui.errors import UsageError
from kymatui.sandbox.apimachinery.exchange import ServerRequest
from kymatui.sandbox.apiserver.http.server_faults import ServerFault, ServerFaults, parse_fault
from kymatui.sandbox.apiserver.server.api_server import ApiServer
from tests.sandbox.apiserver.plain import VIEWER_TOKEN, ask, plain_server

ADMIN = "/sandbox.kymatui.io"


@pytest.fixture
def server() -> ApiServer:
    return plain_server()


def send(server: ApiServer, path: str, body: dict[str, Any] | None = None, method: str = "POST") -> Any:
    response = ask(server, method, f"{ADMIN}/{path}", msgspec.json.encode(body or {}))
    assert response.status < 300, response.body
    return response.json()


@pytest.mark.parametrize(
    ("kind", "status"), [("throttle", 429), ("error", 500), ("conflict", 409), ("unauthorized", 401)]
)
def test_an_answer_that_is_a_failure(kind: str, status: int) -> None:
    faults = ServerFaults()
    faults.add(parse_fault({"kind": kind, "seconds": 3}))
    outcome = faults.meet(ServerRequest("GET", "/api/v1/namespaces/x/pods/p"))
    assert outcome is not None
    assert outcome.response is not None
    assert outcome.response.status == status
    assert dict(outcome.response.headers).get("Retry-After") == ("3" if kind == "throttle" else None)


def test_a_fault_meets_what_it_selects_as_often_as_it_says() -> None:
    faults = ServerFaults()
    faults.add(ServerFault("error", verb="list", resource="deployments.apps", count=2))
    listing = ServerRequest("GET", "/apis/apps/v1/deployments")
    assert faults.meet(ServerRequest("GET", "/api/v1/pods")) is None
    assert faults.meet(ServerRequest("GET", "/apis/apps/v1/namespaces/x/deployments/d")) is None
    assert [faults.meet(listing) is not None for _ in range(3)] == [True, True, False]
    assert faults.active == {}


def test_delays_add_up_and_a_dropped_connection_follows() -> None:
    faults = ServerFaults()
    faults.add(ServerFault("latency", seconds=0.5))
    faults.add(ServerFault("latency", seconds=0.25))
    faults.add(ServerFault("drop"))
    outcome = faults.meet(ServerRequest("GET", "/api/v1/pods"))
    assert outcome is not None
    assert (outcome.delay, outcome.drop) == (0.75, True)


def test_chance_decides_where_it_is_asked() -> None:
    chances = iter([0.4, 0.6])
    faults = ServerFaults(lambda: next(chances))
    faults.add(ServerFault("error", probability=0.5))
    listing = ServerRequest("GET", "/api/v1/pods")
    assert [faults.meet(listing) is not None for _ in range(2)] == [True, False]


def test_the_admin_path_is_never_met() -> None:
    faults = ServerFaults()
    faults.add(ServerFault("error"))
    assert faults.meet(ServerRequest("GET", f"{ADMIN}/faults")) is None


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "nope"},
        {"kind": "error", "what": 1},
        {"kind": "error", "probability": 2},
        {"kind": "error", "count": -1},
    ],
)
def test_a_fault_that_makes_no_sense(given: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        ServerFaults().add(parse_fault(given))


def test_faults_are_listed_switched_on_and_off_over_the_admin_path(server: ApiServer) -> None:
    number = send(server, "faults", {"kind": "error", "verb": "list"})["number"]
    assert [f["kind"] for f in send(server, "faults", method="GET")["faults"]] == ["error"]
    send(server, f"faults/{number}", method="DELETE")
    assert send(server, "faults", method="GET")["faults"] == []


def test_only_the_admin_may(server: ApiServer) -> None:
    assert ask(server, "GET", f"{ADMIN}/faults", token=VIEWER_TOKEN).status == 403
    assert ask(server, "GET", f"{ADMIN}/faults", token="").status == 403


def test_a_token_stops_being_valid(server: ApiServer) -> None:
    send(server, "revoke-token", {"token": VIEWER_TOKEN})
    assert ask(server, "GET", "/apis", token=VIEWER_TOKEN).status == 401
    send(server, "restore-token", {"token": VIEWER_TOKEN})
    assert ask(server, "GET", "/apis", token=VIEWER_TOKEN).status == 200


def test_a_held_object_goes_when_it_is_released(server: ApiServer) -> None:
    client = server.client
    client.create("configmaps", {"metadata": {"name": "x"}}, namespace="default")
    held = {"resource": "configmaps", "namespace": "default", "name": "x"}
    finalizer = send(server, "hold", held)["finalizer"]
    client.delete("configmaps", "x", namespace="default")
    client.patch("configmaps", "x", {"metadata": {"finalizers": None}}, namespace="default")
    found = client.get("configmaps", "x", namespace="default")
    assert found["metadata"]["finalizers"] == [finalizer]
    send(server, "release", held)
    assert client.find("configmaps", "x", namespace="default") is None


@pytest.mark.parametrize(
    ("kind", "drop", "silent", "carried_out"),
    [
        ("drop", True, False, False),
        ("lose", True, False, True),
        ("hang", False, True, False),
        ("stall", False, True, True),
    ],
)
def test_what_is_not_answered_is_carried_out_or_not(kind: str, drop: bool, silent: bool, carried_out: bool) -> None:
    faults = ServerFaults()
    faults.add(parse_fault({"kind": kind}))
    outcome = faults.meet(ServerRequest("PATCH", "/api/v1/namespaces/x/pods/p"))
    assert outcome is not None
    assert (outcome.drop, outcome.silent, outcome.carried_out) == (drop, silent, carried_out)


def test_what_was_asked_is_told_without_the_admin_path_and_forgotten_on_demand(server: ApiServer) -> None:
    handle = server.requests.noting(server.api.handle)
    agent = {"user-agent": "someone/1"}
    handle(ServerRequest("GET", "/api/v1/pods", {"watch": ["1"]}, agent))
    handle(ServerRequest("POST", "/api/v1/namespaces", {"dryRun": ["All"]}, agent))
    handle(ServerRequest("GET", f"{ADMIN}/faults"))
    told = send(server, "requests", method="GET")
    assert told["count"] == 2
    assert [(one["method"], one["watch"], one["dry_run"], one["agent"]) for one in told["requests"]] == [
        ("GET", True, False, "someone/1"),
        ("POST", False, True, "someone/1"),
    ]
    send(server, "requests", method="DELETE")
    assert send(server, "requests", method="GET") == {"count": 0, "requests": []}
