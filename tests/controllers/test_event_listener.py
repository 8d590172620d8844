"""The listener: whom it believes, what it refuses with which status, and what an event wakes."""

from __future__ import annotations

import ipaddress
import json
import threading
import time
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import given
from hypothesis import strategies as st

from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.engine.jobs.run import SystemClock
from kymatui.errors import NotFoundError, UnreachableError
from kymatui.operator.monitoring.metric_registry import MetricRegistry
from kymatui.operator.monitoring.operator_metrics import METRICS
from kymatui.operator.watchers.event_listener import (
    ANNOTATION_EVENT,
    KYMA,
    MANIFEST,
    EventLimits,
    EventListener,
    EventRelay,
    EventRequest,
    EventTargets,
    ListenerTrust,
)
from kymatui.operator.watchers.runtime_events import EventRefusal, RuntimeEvent, read_event
from tests.controllers.certificates import Issued, issue
from tests.engine.places import Json

PATH = "/v2/lifecycle-manager/event"
AUTHORITY = issue("authority")
OTHER = issue("authority")
RUNTIME = issue("runtime-a", AUTHORITY)
KYMA_EVENT = {
    "watched": {"Namespace": "kyma-system", "Name": "default"},
    "watchedGvk": {"group": "operator.kyma-project.io", "version": "v1beta2", "kind": "Kyma"},
}


class Home:
    """A control plane with two Kymas and two Manifests of the first."""

    def __init__(self) -> None:
        self.unreachable = False
        self.marked: list[ObjectRef] = []
        self.kymas = [self._kyma("a"), self._kyma("b")]
        resource = {"apiVersion": "x.io/v1", "kind": "Nats", "metadata": {"name": "main", "namespace": "kyma-system"}}
        synced = [{"group": "apps", "version": "v1", "kind": "Deployment", "name": "m", "namespace": "kyma-system"}]
        self.manifests = [
            self._manifest("a-nats", {"resource": resource}, {"synced": synced}),
            self._manifest("a-keda", {}, {}),
        ]

    def _kyma(self, name: str) -> Json:
        labels = {"kyma-project.io/runtime-id": f"runtime-{name}"}
        metadata = {"name": name, "namespace": "kcp-system", "labels": labels}
        return {"apiVersion": KYMA.api_version, "kind": "Kyma", "metadata": metadata}

    def _manifest(self, name: str, spec: Json, status: Json) -> Json:
        metadata = {"name": name, "namespace": "kcp-system", "labels": {"operator.kyma-project.io/kyma-name": "a"}}
        return {
            "apiVersion": MANIFEST.api_version,
            "kind": "Manifest",
            "metadata": metadata,
            "spec": spec,
            "status": status,
        }

    def list(self, kind: GroupVersionKind, namespace: str, *, labels: str, cancel: threading.Event) -> list[Json]:
        if self.unreachable:
            raise UnreachableError("no answer")
        key, _, value = labels.partition("=")
        found = self.kymas if kind == KYMA else self.manifests
        return [one for one in found if one["metadata"]["labels"].get(key) == value and namespace == "kcp-system"]

    def patch(self, ref: ObjectRef, patch: Json, *given: Any, **more: Any) -> Json:
        if self.unreachable:
            raise UnreachableError("no answer")
        if ref.name.endswith("keda"):
            raise NotFoundError("gone")
        assert patch["metadata"]["annotations"][ANNOTATION_EVENT].startswith("20")
        self.marked.append(ref)
        return {}


class Bench:
    """A listener that believes the gateway 10.0.0.7, and what it has woken."""

    def __init__(self, *, others: bool = False, **trust: Any) -> None:
        """Make a listener; with `others`, all objects are those of another replica."""
        self.home = Home()
        self._others = others
        self.woken: list[ObjectRef] = []
        self.registry = MetricRegistry(METRICS)
        found = {"gateways": [ipaddress.ip_network("10.0.0.7")], "authorities": [AUTHORITY.certificate], **trust}
        self.listener = EventListener(
            ListenerTrust(**found),
            EventTargets(self.home, "kcp-system"),  # type: ignore[arg-type]
            self._wake,
            self.registry,
            SystemClock(),
            EventRelay(self.home, SystemClock()) if others else None,  # type: ignore[arg-type]
        )

    def _wake(self, ref: ObjectRef) -> bool:
        if not self._others:
            self.woken.append(ref)
        return not self._others

    def ask(self, body: object = KYMA_EVENT, **request: Any) -> int:
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given: Json = {"method": "POST", "path": PATH, "peer": "10.0.0.7", "forwarded": (RUNTIME.forwarded(),)}
        return self.listener.answer(EventRequest(**{**given, **request, "body": content})).status


def kyma(name: str = "a") -> ObjectRef:
    return ObjectRef(KYMA, "kcp-system", name)


def test_an_event_of_a_kyma_wakes_exactly_the_kyma_of_that_runtime() -> None:
    bench = Bench()
    assert bench.ask() == 200
    assert bench.woken == [kyma()]
    assert bench.ask(forwarded=(issue("runtime-b", AUTHORITY).forwarded(""),)) == 200
    assert bench.woken == [kyma(), kyma("b")]


@pytest.mark.parametrize(
    ("group", "kind", "name", "namespace", "woken"),
    [
        ("x.io", "Nats", "main", "kyma-system", ["a-nats"]),
        ("apps", "Deployment", "m", "kyma-system", ["a-nats"]),
        ("apps", "Deployment", "m", "other", []),
        ("x.io", "Nats", "other", "kyma-system", []),
        ("", "Kyma", "default", "kyma-system", []),
    ],
)
def test_an_event_of_another_object_wakes_the_manifests_that_have_it(
    group: str, kind: str, name: str, namespace: str, woken: list[str]
) -> None:
    bench = Bench()
    watched = {"Namespace": namespace, "Name": name}
    assert bench.ask({"watched": watched, "watchedGvk": {"group": group, "version": "v1", "kind": kind}}) == 200
    assert bench.woken == [ObjectRef(MANIFEST, "kcp-system", one) for one in woken]


def test_an_event_for_another_replica_marks_the_object() -> None:
    bench = Bench(others=True)
    assert bench.ask() == 200
    gvk = {"group": "x.io", "version": "v1", "kind": "Nats"}
    assert bench.ask({"watched": {"Namespace": "kyma-system", "Name": "main"}, "watchedGvk": gvk}) == 200
    assert bench.home.marked == [kyma(), ObjectRef(MANIFEST, "kcp-system", "a-nats")]
    assert bench.woken == []
    bench.home.unreachable = True
    assert bench.ask() == 503


def test_a_gone_object_is_not_marked() -> None:
    bench = Bench(others=True)
    bench.home.manifests[0]["metadata"]["name"] = "a-nats-keda"
    gvk = {"group": "x.io", "version": "v1", "kind": "Nats"}
    assert bench.ask({"watched": {"Namespace": "kyma-system", "Name": "main"}, "watchedGvk": gvk}) == 200
    assert bench.home.marked == []


def header(issued: Issued) -> dict[str, Any]:
    return {"forwarded": (issued.forwarded(),)}


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"path": "/v2/other/event"}, 404),
        ({"path": "/v1/lifecycle-manager/event"}, 404),
        ({"method": "GET"}, 405),
        ({"body": None}, 413),
        ({"peer": "10.0.0.8"}, 401),
        ({"peer": "nonsense"}, 401),
        ({"forwarded": ()}, 401),
        ({"forwarded": (RUNTIME.forwarded(), RUNTIME.forwarded())}, 401),
        ({"forwarded": (f"{RUNTIME.forwarded()},{RUNTIME.forwarded()}",)}, 401),
        ({"forwarded": ("Cert=nonsense",)}, 401),
        ({"forwarded": ("By=x;Hash=y",)}, 401),
        ({"forwarded": ("Cert=" + "a" * 40_000,)}, 401),
        (header(issue("runtime-a", AUTHORITY, days=0.5)), 401),
        (header(issue("runtime-a", AUTHORITY, started=-1)), 401),
        (header(issue("runtime-a", OTHER)), 401),
        (header(issue("runtime-a")), 401),
        (header(issue("", AUTHORITY)), 400),
        (header(issue("runtime-a,other=x", AUTHORITY)), 400),
        (header(issue("runtime-z", AUTHORITY)), 403),
        ({"body": b"no json"}, 500),
        ({"body": b"[" * 16_000}, 500),
        ({"body": {"watched": {}, "watchedGvk": {}}}, 400),
        ({"body": {"watched": 1, "watchedGvk": []}}, 400),
        ({"body": []}, 400),
    ],
)
def test_what_is_refused_wakes_nothing(request_: dict[str, Any], status: int) -> None:
    bench = Bench()
    assert bench.ask(**request_) == status
    assert bench.woken == []


def test_a_certificate_that_the_peer_presented_needs_no_gateway_and_beats_a_header() -> None:
    bench = Bench(gateways=[])
    der = issue("runtime-b", AUTHORITY).certificate.public_bytes(Encoding.DER)
    assert bench.ask(peer="192.0.2.1", presented=der) == 200
    assert bench.woken == [kyma("b")]


def test_a_gateway_over_a_socket_for_both_families_is_the_same_gateway() -> None:
    assert Bench().ask(peer="::ffff:10.0.0.7") == 200


def test_two_kymas_of_one_runtime_wake_neither() -> None:
    bench = Bench()
    bench.home.kymas.append(bench.home.kymas[0])
    assert bench.ask() == 403


def test_a_control_plane_that_is_gone_is_told_so_that_the_agent_tries_again() -> None:
    bench = Bench()
    bench.home.unreachable = True
    assert bench.ask() == 503


def test_a_flood_of_one_runtime_is_refused_and_another_still_heard() -> None:
    bench = Bench()
    statuses = [bench.ask() for _ in range(200)]
    assert 429 in statuses
    assert bench.ask(forwarded=(issue("runtime-b", AUTHORITY).forwarded(),)) == 200


def test_requests_are_counted_under_lifecycle_managers_names() -> None:
    bench = Bench()
    bench.ask()
    bench.ask(body=None)
    bench.ask(forwarded=())
    lines = bench.registry.text().splitlines()
    for line in (
        'watcher_listener_requests_total{server_name="listener"} 3',
        'watcher_listener_request_errors_total{server_name="listener"} 2',
        'watcher_listener_exceeding_size_limit_requests_total{server_name="listener"} 1',
        f'watcher_listener_failed_verification_requests_total{{server_name="listener",request_uri_label="{PATH}"}} 1',
        'watcher_listener_inflight_requests{server_name="listener"} 0',
    ):
        assert line in lines


def test_a_bucket_fills_again() -> None:
    now = [0.0]
    limits = EventLimits(lambda: now[0], rate=2, burst=3)
    assert [limits.take("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limits.take("b") == 0
    now[0] = 0.5
    assert [limits.take("a") for _ in range(2)] == [0, 0.5]
    now[0] = 100
    assert [limits.take("a") > 0 for _ in range(4)] == [False, False, False, True]


def test_a_new_runtime_is_found_as_soon_as_its_kyma_exists() -> None:
    home, stop = Home(), threading.Event()
    targets = EventTargets(home, "kcp-system", time.monotonic)  # type: ignore[arg-type]
    assert targets.kyma("runtime-c", stop) is None
    home.kymas.append(home._kyma("c"))
    assert targets.kyma("runtime-c", stop) == kyma("c")


FIELDS = st.sampled_from(["watched", "watchedGvk", "Name", "name", "kind"])
VALUES = st.recursive(
    st.none() | st.text() | st.integers(), lambda value: st.lists(value) | st.dictionaries(FIELDS, value), max_leaves=8
)


@given(st.binary(max_size=300) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_event_or_a_refusal(body: bytes) -> None:
    found = read_event(body)
    assert isinstance(found, RuntimeEvent | EventRefusal)
    if isinstance(found, EventRefusal):
        assert found.status in (400, 500)
