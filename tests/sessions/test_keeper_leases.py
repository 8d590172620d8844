"""What works on a Kyma, by its Lease over HTTP: never said to be stopped where something shows that it runs."""

from __future__ import annotations

import http.server
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path

import pytest

from kymatui.adapters.kube.api.client import Client
from kymatui.adapters.kube.auth.connection import connect
from kymatui.adapters.kube.transport.transport import Transport
from kymatui.domain.kubernetes.object_meta import format_time
from kymatui.domain.kyma.kyma_keeper import ELECTION, OWN_OPERATOR
from kymatui.domain.kyma.problems import Actor
from kymatui.sessions.cluster.catalog_feeds import KeeperLeases, KeeperWatch, lease_namespaces, read_keeper
from tests.adapters.clusters import Cluster, Collection, Exchange, serving, write_kubeconfig
from tests.sessions.worlds import KYMAS, NAMESPACE, kyma_cluster, named

LEASES = "leases.coordination.k8s.io"
HOUR = 3600.0
KLM = frozenset({Actor.KLM})


@pytest.fixture
def cluster() -> Cluster:
    cluster = kyma_cluster()
    cluster.add(Collection("coordination.k8s.io", "v1", "Lease", "leases"))

    def answer(exchange: Exchange) -> bool:
        folder, _, name = exchange.path.rpartition("/")
        if not folder.endswith("/leases"):
            return False
        namespace = folder.split("/")[-2]
        lease = cluster.collections[LEASES].objects.get((namespace, name))
        if refusal := cluster.refusals.get(LEASES) or cluster.refusals.get(f"{LEASES}/{namespace}"):
            exchange.status(refusal, "Forbidden")
        elif lease is None:
            exchange.status(404, "NotFound")
        else:
            exchange.json(lease)
        return True

    cluster.before = answer
    return cluster


@pytest.fixture
def client(cluster: Cluster, tmp_path: Path) -> Iterator[Client]:
    with serving(cluster.respond) as address:
        yield Client(Transport(connect(str(write_kubeconfig(tmp_path, address)))))
        cluster.close()


def put_lease(
    cluster: Cluster, age: float, *, holder: str = "pod-1", namespace: str = NAMESPACE, now: float = 0.0
) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": format_time((now or time.time()) - age)}
    cluster.put(LEASES, {"metadata": {"name": ELECTION, "namespace": namespace}, "spec": spec})


def put_kyma(cluster: Cluster, manager: str, age: float) -> None:
    fields = [{"manager": manager, "operation": "Update", "time": format_time(time.time() - age)}]
    cluster.put(KYMAS, {"metadata": named("default", managedFields=fields), "spec": {"channel": "regular"}})


@pytest.mark.parametrize(
    ("manager", "written", "works", "unread"),
    [
        ("lifecycle-manager", 3 * HOUR, False, ""),
        ("kubectl", 10.0, False, ""),
        (OWN_OPERATOR, 10.0, False, ""),
        ("lifecycle-manager", 10.0, False, "pod-1 holds its Lease, renewed 2h ago, but it wrote Kyma"),
    ],
)
def test_what_writes_without_its_lease_may_run(
    manager: str, written: float, works: bool, unread: str, cluster: Cluster, client: Client
) -> None:
    """As lifecycle-manager does with `--leader-elect=false`."""
    put_lease(cluster, 2 * HOUR)
    put_kyma(cluster, manager, written)
    lease = read_keeper(client, KLM, (NAMESPACE,))
    assert lease is not None
    assert (lease.works, lease.unread.startswith(unread), bool(lease.unread)) == (works, True, bool(unread))


@pytest.mark.parametrize(("age", "unread"), [(10.0, "its Lease was released 1"), (HOUR, "")])
def test_a_released_lease_is_unknown_until_the_next_replica_has_had_its_time(
    age: float, unread: str, cluster: Cluster, client: Client
) -> None:
    put_lease(cluster, age, holder="")
    lease = read_keeper(client, KLM, (NAMESPACE,))
    assert lease is not None
    assert (lease.works, lease.unread.startswith(unread), bool(lease.unread)) == (False, True, bool(unread))


@pytest.mark.parametrize(("written", "unknown"), [(30.0, True), (2 * HOUR, False)])
def test_an_operator_that_wrote_a_moment_ago_may_be_between_two_leases(
    written: float, unknown: bool, cluster: Cluster, client: Client
) -> None:
    put_kyma(cluster, OWN_OPERATOR, written)
    lease = read_keeper(client, {Actor.OPERATOR}, (NAMESPACE,))
    assert lease is not None
    assert (lease.works, bool(lease.unread)) == (False, unknown)


def test_the_clock_of_the_server_counts(cluster: Cluster, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The own one is two hours ahead of it."""
    put_lease(cluster, 2 * HOUR)
    server_time = formatdate(time.time() - 2 * HOUR, usegmt=True)
    monkeypatch.setattr(http.server.BaseHTTPRequestHandler, "date_time_string", lambda *_: server_time)
    lease = read_keeper(client, KLM, (NAMESPACE,))
    assert lease is not None
    assert lease.works
    monkeypatch.setattr(http.server.BaseHTTPRequestHandler, "date_time_string", lambda *_: "yesterday")
    client.get(client.discovery.find_kind("coordination.k8s.io", "Lease"), ELECTION, NAMESPACE)  # type: ignore[arg-type]
    assert abs(client.transport.server_time() - time.time()) < 5


def test_a_lease_that_is_renewed_between_two_readings_is_held(
    cluster: Cluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder's clock is two hours behind."""
    now = time.time()
    leases, watch = KeeperLeases(), KeeperWatch()
    monkeypatch.setattr("kymatui.sessions.cluster.catalog_feeds.KEEPER_PERIOD", 0.0)
    for age, works in ((2 * HOUR, False), (2 * HOUR, False), (2 * HOUR - 10, True)):
        put_lease(cluster, age, now=now)
        lease = leases.read(client, KLM, frozenset({NAMESPACE}))
        assert lease is not None
        assert lease.works is works, age
    put_lease(cluster, 2 * HOUR, now=now)
    assert watch.refresh(client, KLM, (NAMESPACE,))
    assert not watch.refresh(client, KLM, (NAMESPACE,))
    put_lease(cluster, 2 * HOUR - 10, now=now)
    assert watch.refresh(client, KLM, (NAMESPACE,))
    cluster.refusals = {LEASES: 403}
    assert watch.refresh(client, KLM, (NAMESPACE,)), "a list that may no longer be read"


def test_sessions_of_one_cluster_read_each_lease_once(cluster: Cluster, client: Client) -> None:
    put_lease(cluster, 1.0)
    put_lease(cluster, 2 * HOUR, namespace="other")
    leases = KeeperLeases()
    first, second, third = (KeeperWatch(leases) for _ in range(3))
    before = len(cluster.requests)
    assert first.refresh(client, KLM, (NAMESPACE,))
    assert second.refresh(client, KLM, (NAMESPACE,))
    assert len(cluster.requests) == before + 1
    third.refresh(client, KLM, ("other",))
    assert [watch.lease.works for watch in (first, second, third) if watch.lease is not None] == [True, True, False]
    asked = len(cluster.requests)
    assert not KeeperWatch(leases).refresh(client, frozenset(), (NAMESPACE,))
    assert len(cluster.requests) == asked


def test_the_lease_is_looked_for_beside_the_kymas_of_each_namespace(cluster: Cluster, client: Client) -> None:
    put_lease(cluster, 2 * HOUR)
    put_lease(cluster, 1.0, namespace="other")
    lease = read_keeper(client, KLM, lease_namespaces(["other", NAMESPACE, NAMESPACE]))
    assert lease is not None
    assert lease.works
    cluster.refusals = {f"{LEASES}/other": 403}
    unknown = read_keeper(client, KLM, ("other", NAMESPACE))
    assert unknown is not None
    assert unknown.unread, "the Lease that may not be read may be the one that is held"
    assert lease_namespaces(["a", "b", "b", *"cdefgh"]) == ("b", "a", "c", "d", "e")
