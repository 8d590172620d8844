"""The Watcher controller against a real server: its VirtualService, the reported state, and the deletion."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kymatui.crds import read_crds
from kymatui.domain.kubernetes.refs import ObjectRef
from kymatui.engine.cluster.ports import PatchKind
from kymatui.engine.jobs.run import SystemClock
from kymatui.operator.framework.controller import GONE, RequeueIntervals
from kymatui.operator.watchers.watcher_controller import FINALIZER, GATEWAY, VIRTUAL_SERVICE, WATCHER, WatcherController
from tests.engine.objects import definition
from tests.engine.places import Json, Place, eventually


class WatcherDesk:
    """One Watcher, one Gateway with the label gateway=one, and the controller."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.ref = ObjectRef(WATCHER, place.namespace, "events")
        self.service = ObjectRef(VIRTUAL_SERVICE, place.namespace, "events")
        place.make_namespace()
        for body in read_crds():
            place.raw.apply(body, manager="test")
        for kind in (GATEWAY, VIRTUAL_SERVICE):
            place.raw.apply(definition(kind.group, kind.kind, version="v1beta1"), manager="test", force=True)
        for kind in (WATCHER, GATEWAY, VIRTUAL_SERVICE):
            eventually(lambda kind=kind: self._is_served(kind), f"{kind.kind} is served")  # type: ignore[misc]
        place.cluster.forget_kinds()
        self.put_gateway("one", "a.example.org", "b.example.org")
        self.controller = WatcherController(
            place.cluster, SystemClock(), place.namespace, RequeueIntervals(success=60.0, error=2.0)
        )

    def _is_served(self, kind: Any) -> bool:
        self.place.raw.forget_kinds()
        return self.place.raw.kind(kind) is not None

    def put_gateway(self, name: str, *hosts: str) -> None:
        body = {
            "apiVersion": GATEWAY.api_version,
            "kind": "Gateway",
            "metadata": {"name": name, "namespace": self.place.namespace, "labels": {"gateway": name}},
            "spec": {"servers": [{"hosts": list(hosts)}]},
        }
        self.place.raw.apply(body, manager="test", force=True)

    def put(self, **spec: Any) -> None:
        wanted = {
            "field": "spec",
            "gateway": {"selector": {"matchLabels": {"gateway": "one"}}},
            "labelsToWatch": {"operator.kyma-project.io/watched-by": "kyma"},
            "manager": "lifecycle-manager",
            "resourceToWatch": {"group": "operator.kyma-project.io", "version": "*", "resource": "kymas"},
            "serviceInfo": {"name": "events", "namespace": "kcp-system", "port": 8082},
            **spec,
        }
        metadata = {"name": self.ref.name, "namespace": self.ref.namespace}
        body = {"apiVersion": WATCHER.api_version, "kind": "Watcher", "metadata": metadata, "spec": wanted}
        self.place.raw.apply(body, manager="test", force=True)

    def turn(self) -> float | None:
        return self.controller.reconcile(self.ref, threading.Event())

    def watcher(self) -> Json:
        return self.place.raw.get(self.ref) or {}

    def route(self) -> Json:
        found = self.place.raw.get(self.service)
        return found["spec"] if found is not None else {}

    def reported(self) -> tuple[str, str]:
        """Return state and condition."""
        status = self.watcher()["status"]
        return status["state"], status["conditions"][0]["status"]


@pytest.fixture
def desk(place: Place) -> WatcherDesk:
    return WatcherDesk(place)


def test_a_watcher_gets_a_route_that_it_owns_and_the_next_turn_writes_nothing(desk: WatcherDesk) -> None:
    desk.put()
    assert desk.turn() == 60.0
    namespace = desk.place.namespace
    assert desk.route() == {
        "gateways": [f"{namespace}/one"],
        "hosts": ["a.example.org", "b.example.org"],
        "http": [
            {
                "name": f"{namespace}/events",
                "match": [{"uri": {"prefix": "/v2/lifecycle-manager/event"}}],
                "route": [{"destination": {"host": "events.kcp-system.svc.cluster.local", "port": {"number": 8082}}}],
            }
        ],
    }
    owners = (desk.place.raw.get(desk.service) or {})["metadata"]["ownerReferences"]
    assert [(one["kind"], one["name"], one.get("controller")) for one in owners] == [("Watcher", "events", None)]
    assert desk.watcher()["metadata"]["finalizers"] == [FINALIZER]
    assert desk.reported() == ("Ready", "True")
    before = desk.watcher(), desk.place.raw.get(desk.service)
    assert desk.turn() == 60.0
    assert (desk.watcher(), desk.place.raw.get(desk.service)) == before


def test_a_changed_service_and_a_foreign_edit_are_written_back_whole(desk: WatcherDesk) -> None:
    desk.put()
    desk.turn()
    desk.place.raw.patch(desk.service, {"spec": {"exportTo": ["."], "hosts": ["evil.example"]}}, PatchKind.MERGE)
    desk.put(serviceInfo={"name": "events", "namespace": "other", "port": 8099})
    desk.turn()
    route = desk.route()
    assert "exportTo" not in route
    assert route["hosts"] == ["a.example.org", "b.example.org"]
    assert route["http"][0]["route"][0]["destination"] == {
        "host": "events.other.svc.cluster.local",
        "port": {"number": 8099},
    }


@pytest.mark.parametrize(
    "broken",
    [
        {"gateway": {"selector": {"matchLabels": {"gateway": "other"}}}},
        {"gateway": {"selector": {"matchExpressions": [{"key": "a", "operator": "Odd"}]}}},
        {"serviceInfo": {"name": "events", "namespace": "kcp-system", "port": 70000}},
        {"manager": ""},
    ],
    ids=["no gateway", "selector", "port", "no manager"],
)
def test_a_watcher_without_a_valid_route_is_in_error_and_keeps_the_last_one(
    desk: WatcherDesk, broken: dict[str, Any]
) -> None:
    desk.put()
    desk.turn()
    route = desk.route()
    desk.put(**broken)
    assert desk.turn() == 2.0
    assert desk.reported() == ("Error", "False")
    assert desk.route() == route
    desk.put()
    desk.turn()
    assert desk.reported() == ("Ready", "True")


def test_a_gateway_without_hosts_is_an_error_and_gateways_wake_all_watchers(desk: WatcherDesk) -> None:
    desk.put()
    desk.put_gateway("one")
    desk.turn()
    assert desk.reported() == ("Error", "False")
    assert desk.place.raw.get(desk.service) is None
    by_kind = {watch.kind.kind: watch for watch in desk.controller.watches()}
    gateway = ObjectRef(GATEWAY, desk.place.namespace, "one")
    assert desk.ref in set(by_kind["Gateway"].keys(gateway) or ())
    assert list(by_kind["VirtualService"].keys(desk.service) or ()) == [desk.ref]


def test_a_deleted_watcher_takes_its_route_along(desk: WatcherDesk) -> None:
    desk.put()
    desk.turn()
    desk.place.raw.delete(desk.ref)
    assert desk.turn() is None
    assert desk.place.raw.get(desk.ref) is None
    assert desk.place.raw.get(desk.service) is None
    assert desk.turn() == GONE


def test_a_watcher_whose_route_is_gone_already_is_released(desk: WatcherDesk) -> None:
    desk.put()
    desk.turn()
    desk.place.raw.delete(desk.ref)
    desk.place.raw.delete(desk.service)
    desk.turn()
    assert desk.place.raw.get(desk.ref) is None
