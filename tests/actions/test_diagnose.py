"""A diagnosis has what can be read and says what cannot; no secret is in it, whatever a server sends."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

import pytest

from kymatui.actions.diagnose import LOG_LINES, MOST_OBJECTS, Diagnosis, diagnose
from kymatui.actions.session import Session
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.logs.log_query import LogQuery
from kymatui.domain.objects.redaction import Redactor
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Object, Snapshot, namespaced_feed
from kymatui.errors import ForbiddenError, NotFoundError, UnreachableError
from tests.domain import builders as b
from tests.domain.test_logs import STATUS
from tests.domain.test_trees import SYNCED, owned, snapshot

HIDDEN = "hunter2"
SECRET = {"group": "", "version": "v1", "kind": "Secret", "namespace": "kyma-system", "name": "keda-secret"}


class FakeStream:
    def __init__(self, text: str) -> None:
        self._text = text

    def chunks(self) -> Iterator[bytes]:
        yield self._text.encode()

    def close(self) -> None:
        pass


class FakeSession:
    """A session whose server sends more than it should."""

    target = ClusterTarget("test")
    traffic = (7, 0)
    name = "test"

    def __init__(self, found: Snapshot, *, complete: bool = True) -> None:
        self._snapshot = found
        self._complete = complete
        self.queries: list[LogQuery] = []
        self.refused: set[str] = set()
        self.followed: list[ObjectRef] = []

    def snapshot(self) -> Snapshot:
        return self._snapshot

    @property
    def cluster(self) -> FakeSession:
        return self

    home = cluster

    def follow_owned(self, refs: Iterable[ObjectRef]) -> None:
        self.followed = list(refs)

    def follow_events(self, refs: Iterable[ObjectRef]) -> None:
        pass

    def wait_complete(self, timeout: float) -> bool:
        return self._complete

    def read(self, ref: ObjectRef) -> Object:
        if ref.kind.kind in self.refused:
            raise ForbiddenError(f"may not get {ref} with Bearer abcdef123456{HIDDEN}")
        if ref.kind.kind == "ConfigMap":
            raise NotFoundError("gone")
        env = [{"name": "PASSWORD", "value": HIDDEN}]
        body = {"apiVersion": ref.kind.api_version, "kind": ref.kind.kind, "metadata": {"name": ref.name}}
        return (
            {**body, "data": {"a": HIDDEN}, "password": HIDDEN} if ref.kind.kind == "Secret" else {**body, "env": env}
        )

    def open_log(self, query: LogQuery, *, cancel: object = None) -> FakeStream:
        del cancel
        self.queries.append(query)
        return FakeStream(f"2026-03-01T12:00:00Z login password={HIDDEN}\n2026-03-01T12:00:01Z ready\n")

    def allowed(self, verb: str, gvk: GroupVersionKind, namespace: str = "", name: str = "") -> bool:
        if gvk.kind == "Event":
            raise UnreachableError("silent")
        return verb != "delete"

    def may_write(self, namespaces: object) -> bool:
        del namespaces
        return True

    def version(self) -> str:
        return "v1.34.2"


def world(**more: Any) -> Snapshot:
    event = {
        "metadata": {"uid": "e"},
        "involvedObject": {"kind": "Pod", "namespace": "kyma-system", "name": "keda-manager-1-a"},
        "type": "Warning",
        "reason": "Failed",
        "message": f"token={HIDDEN}",
    }
    manifest = b.manifest("keda", "1.0.0")
    manifest["status"]["synced"] = [*SYNCED, SECRET]
    found = snapshot(events=(event,), manifests=(manifest,), **more)
    status = {**STATUS, "phase": "Running"}
    return snapshot(
        events=(event,),
        manifests=(manifest,),
        owned=(found.owned[0], owned("Pod", "keda-manager-1-a", "p", "rs", status=status)),
        **more,
    )


def gathered(session: FakeSession, *, deep: bool = True) -> tuple[Diagnosis, Redactor]:
    redactor = Redactor()
    row = build_catalog(session.snapshot(), b.NOW).row("keda")
    assert row is not None
    return diagnose(cast("Session", session), [row], redactor, 5.0, deep=deep), redactor


def everything(found: Diagnosis) -> str:
    return json.dumps(
        [list(found.objects.values()), [one.message for one in found.events], found.logs, found.unread], default=str
    )


def test_no_secret_is_in_it_whatever_a_server_sends() -> None:
    session = FakeSession(world())
    session.refused = {"Deployment"}
    found, redactor = gathered(session)
    assert any(ref.kind.kind == "Secret" for ref in found.objects)
    assert HIDDEN not in everything(found)
    assert {"secret-data", "variable", "assignment", "authorization"} <= set(redactor.hits)


def test_what_a_ticket_needs_is_in_it() -> None:
    session = FakeSession(world())
    found, _ = gathered(session)
    assert {ref.kind.kind for ref in found.objects} >= {"Kyma", "Manifest", "Keda", "Deployment", "Pod", "ReplicaSet"}
    assert [one.message for one in found.events] == ["token=(redacted: assignment)"]
    assert found.logs["kyma-system_keda-manager-1-a_manager.log"].endswith("2026-03-01T12:00:01Z ready\n")
    assert found.versions == {"cluster": "v1.34.2"}
    assert found.rights["Pod.v1"] == {"get": True, "list": True, "watch": True, "patch": True, "delete": False}
    assert set(found.rights["Event.v1"].values()) == {None}
    assert all(query.options.tail == LOG_LINES and not query.options.follow for query in session.queries)


def test_the_log_before_a_restart_is_in_it() -> None:
    session = FakeSession(world())
    found, _ = gathered(session)
    assert sorted(found.logs) == [
        "kyma-system_keda-manager-1-a_istio-proxy.log",
        "kyma-system_keda-manager-1-a_manager.log",
        "kyma-system_keda-manager-1-a_manager.previous.log",
    ]


def test_without_depth_what_a_module_installed_is_left_out() -> None:
    found, _ = gathered(FakeSession(world()), deep=False)
    assert not any(ref.kind.kind in ("Secret", "ConfigMap") for ref in found.objects)
    assert any(ref.kind.kind == "Pod" for ref in found.objects)


def test_what_cannot_be_read_is_said() -> None:
    feeds = {namespaced_feed("pods", "kyma-system"): Feed(FeedState.FORBIDDEN, b.NOW, "you may not")}
    session = FakeSession(world(feeds=feeds), complete=False)
    session.refused = {"Keda"}
    found, _ = gathered(session)
    text = "\n".join(found.unread)
    assert "some lists were not complete within 5 s" in text
    assert "list of pods in kyma-system: forbidden: you may not" in text
    assert "ConfigMap kyma-system/keda-config: does not exist" in text
    assert "Keda kyma-system/default: may not get" in text


@pytest.mark.parametrize("number", [MOST_OBJECTS + 50])
def test_a_hostile_number_of_objects_is_not_read(number: int) -> None:
    manifest = b.manifest("keda", "1.0.0")
    manifest["status"]["synced"] = [{**SECRET, "name": f"s{one}"} for one in range(number)]
    found, _ = gathered(FakeSession(snapshot(manifests=(manifest,))))
    assert len(found.objects) <= MOST_OBJECTS
    assert any(f"more than {MOST_OBJECTS} are not read" in one for one in found.unread)
