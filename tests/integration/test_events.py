"""Events are asked for where somebody looks, one watch a namespace, and dropped when nobody looks any more."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.adapters.kube.watch.watch_cache import NewestStore
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sessions.cluster.catalog_session import CatalogSession, feed_name
from kymatui.sessions.feeds.feeds import NAMESPACES
from tests.integration.embedded import GROUP, KYMAS, NAMESPACE, Embedded, eventually, feed, reaches

HERE = feed_name(NAMESPACE)


def about(name: str, namespace: str = NAMESPACE) -> ObjectRef:
    return ObjectRef(GroupVersionKind(GROUP, "v1alpha1", "Alpha"), namespace, name)


def event(name: str, namespace: str = NAMESPACE, last: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": {"kind": "Alpha", "namespace": namespace, "name": "default"},
        "type": "Warning",
        "reason": "Odd",
        "message": f"says {name}",
        "lastTimestamp": last,
    }


@pytest.fixture
def cluster(strict: Embedded) -> Embedded:
    for name in ("test-a", "test-b"):
        strict.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return strict


def messages(session: CatalogSession) -> set[str]:
    return {str(item["message"]) for item in session.snapshot().events}


def test_nobody_asks_for_events_by_itself(cluster: Embedded) -> None:
    cluster.put(event("one"))
    with cluster.session() as session:
        assert HERE not in session.feeds
        assert not session.snapshot().events


def test_events_come_while_somebody_looks_and_go_afterwards(cluster: Embedded) -> None:
    cluster.put(event("one"))
    with cluster.session() as session:
        session.follow_events([about("default")])
        reaches(session, HERE, FeedState.LIVE)
        assert messages(session) == {"says one"}
        cluster.put(event("two"))
        eventually(lambda: messages(session) == {"says one", "says two"}, "a new one comes")
        session.follow_events(())
        assert not session.snapshot().events
        assert HERE not in session.feeds


def test_a_namespace_costs_one_request_however_many_objects_are_looked_at(cluster: Embedded) -> None:
    with cluster.session() as session:
        before = sum(session.client.transport.counts.values())
        session.follow_events([about("a"), about("b"), about("c", "test-a")])
        session.follow_events([about("b"), about("c", "test-a")])
        reaches(session, HERE, FeedState.LIVE)
        reaches(session, feed_name("test-a"), FeedState.LIVE)
        assert sum(session.client.transport.counts.values()) - before == 2


def test_what_is_looked_at_next_replaces_what_was_looked_at(cluster: Embedded) -> None:
    cluster.put(event("there", "test-b"))
    cluster.put(event("here"))
    with cluster.session() as session:
        session.follow_events([about("x")])
        eventually(lambda: messages(session) == {"says here"}, "here")
        session.follow_events([about("x", "test-b")])
        eventually(lambda: messages(session) == {"says there"}, "there")
        assert HERE not in session.feeds


def test_events_of_objects_without_a_namespace_are_in_default(cluster: Embedded) -> None:
    with cluster.session() as session:
        session.follow_events([about("x", "")])
        assert feed_name("default") in session.feeds


def test_no_more_than_a_few_namespaces_are_followed(cluster: Embedded) -> None:
    with cluster.session() as session:
        session.follow_events([about("x", f"test-{number}") for number in range(50)])
        assert sum(name.startswith("events in ") for name in session.feeds) == NAMESPACES


def test_events_that_may_not_be_read_are_said_and_hide_nothing(cluster: Embedded) -> None:
    cluster.add_kyma()
    cluster.grant("test-some", KYMAS)
    with cluster.session(viewer=True) as session:
        session.follow_events([about("x")])
        reaches(session, HERE, FeedState.FORBIDDEN)
        assert 'resource "events"' in feed(session, HERE).message
        assert len(session.snapshot().kymas) == 1


def test_events_come_back_after_trouble(cluster: Embedded) -> None:
    with cluster.session() as session:
        session.follow_events([about("x")])
        reaches(session, HERE, FeedState.LIVE)
        cluster.fault("error", resource="events")
        cluster.fault("end-watches", resource="events")
        reaches(session, HERE, FeedState.STALE)
        cluster.clear()
        cluster.put(event("late"))
        eventually(lambda: messages(session) == {"says late"}, "it comes after all")


def test_of_too_many_events_the_newest_are_kept() -> None:
    store = NewestStore(lambda: None, 10)
    for number in range(500):
        name = f"e{number:03}"
        store.put(("ns", name), event(name, last=f"2026-01-01T{number // 60:02}:{number % 60:02}:00Z"))
    kept = [item["metadata"]["name"] for item in store.values()]
    assert 10 <= len(kept) <= 12
    assert kept[-10:] == [f"e{number:03}" for number in range(490, 500)]
    store.replace({("ns", f"e{n}"): event(f"e{n}", last=f"2026-01-{n:02}T00:00:00Z") for n in range(1, 32)})
    assert {item["metadata"]["name"] for item in store.values()} == {f"e{n}" for n in range(22, 32)}
