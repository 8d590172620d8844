"""Pods and the like are followed where somebody looks, and for no longer."""

from __future__ import annotations

from typing import Any

import pytest

from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.object_index import index_objects
from kymatui.domain.snapshot.snapshots import FeedState, ReadCache, namespaced_feed
from kymatui.sessions.cluster.catalog_session import CatalogSession
from tests.integration.embedded import KYMAS, Embedded, eventually, reaches

MANAGER = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "test-a", "web")
PODS = namespaced_feed("pods", "test-a")


@pytest.fixture
def cluster(strict: Embedded) -> Embedded:
    strict.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test-a"}})
    return strict


def web() -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "test-a"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template},
    }


def kinds(session: CatalogSession) -> list[str]:
    return sorted(item["kind"] for item in session.snapshot().owned)


def test_what_a_deployment_became_is_found_below_it(cluster: Embedded) -> None:
    cluster.put(web())
    with cluster.session() as session:
        assert PODS not in session.feeds
        session.follow_owned([MANAGER])
        eventually(lambda: kinds(session) == ["Pod", "Pod", "ReplicaSet"], "two pods and their set")
        found = session.snapshot()
        locations = index_objects(found, ReadCache())
        deployment = locations.find(MANAGER)
        assert deployment is not None
        (replicas,) = locations.owned_by(deployment)
        assert len(locations.owned_by(replicas)) == 2
        assert build_catalog(found, 0.0).cluster
        session.follow_owned(())
        assert PODS not in session.feeds
        assert not session.snapshot().owned


def named(kind: str, api: str, name: str, namespace: str = "test-a") -> ObjectRef:
    return ObjectRef(GroupVersionKind.of(api, kind), namespace, name)


def test_what_was_installed_is_seen_or_missed_and_secrets_stay_unread(cluster: Embedded) -> None:
    cluster.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "there", "namespace": "test-a"}})
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "test-a"}}
    cluster.put({**secret, "stringData": {"password": "hunter2"}})
    wanted = [
        named("ConfigMap", "v1", "there"),
        named("ConfigMap", "v1", "gone"),
        named("Secret", "v1", "keys"),
        named("ClusterRole", "rbac.authorization.k8s.io/v1", "nobody", ""),
        named("Unheard", "example.org/v1", "of"),
    ]
    with cluster.session() as session:
        session.follow_owned(wanted)
        for name in ("configmaps in test-a", "secrets in test-a", "clusterroles in the cluster"):
            reaches(session, name, FeedState.LIVE)
        found = session.snapshot()
        locations = index_objects(found, ReadCache())
        assert [locations.find(ref) is not None for ref in wanted] == [True, False, True, False, False]
        places = {("", "ConfigMap", "test-a"), ("rbac.authorization.k8s.io", "ClusterRole", "")}
        assert places <= found.namespaced_kinds
        assert "hunter2" not in repr(found.owned)
        assert "aHVudGVyMg" not in repr(found.owned)


def test_pods_that_may_not_be_read_are_said_and_hide_nothing(cluster: Embedded) -> None:
    cluster.grant("test-owned", KYMAS)
    with cluster.session(viewer=True) as session:
        session.follow_owned([MANAGER])
        reaches(session, PODS, FeedState.FORBIDDEN)
