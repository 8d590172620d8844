"""One object read from a server, as the screen does it for a line of the tree."""

from __future__ import annotations

import pytest

from kymatui.errors import ForbiddenError, NotFoundError
from tests.integration.embedded import KYMAS, Embedded
from tests.integration.test_owned import MANAGER, named, web


@pytest.fixture
def cluster(strict: Embedded) -> Embedded:
    strict.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "test-a"}})
    return strict


def test_an_object_comes_whole_in_a_version_that_is_served(cluster: Embedded) -> None:
    cluster.put(web())
    with cluster.session() as session:
        found = session.read(MANAGER)
        assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"
        assert session.read(named("Deployment", "apps/v1beta1", "web"))["apiVersion"] == "apps/v1"
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "test:read"}}
        cluster.put({**role, "rules": []})
        assert session.read(named("ClusterRole", "rbac.authorization.k8s.io/v1", "test:read"))["rules"] == []


def test_of_a_secret_the_data_does_not_leave_the_server(cluster: Embedded) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", "namespace": "test-a"}}
    cluster.put({**secret, "stringData": {"password": "hunter2"}})
    with cluster.session() as session:
        found = session.read(named("Secret", "v1", "keys"))
    assert (found["apiVersion"], found["kind"], found["metadata"]["name"]) == ("v1", "Secret", "keys")
    assert "data" not in found
    assert "hunter2" not in repr(found)
    assert "aHVudGVyMg" not in repr(found)


def test_what_is_not_there_not_served_or_forbidden_is_told_apart(cluster: Embedded) -> None:
    cluster.grant("test-read", KYMAS)
    with cluster.session() as session:
        for gone in (named("ConfigMap", "v1", "gone"), named("Unheard", "example.org/v1", "of")):
            with pytest.raises(NotFoundError):
                session.read(gone)
    with cluster.session(viewer=True) as session, pytest.raises(ForbiddenError):
        session.read(named("ConfigMap", "v1", "gone"))
