"""Sessions: what is watched, how much that costs, and what happens when the cluster changes or refuses."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import ModuleRow
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.snapshot.snapshots import FeedState, ReadCache
from kymatui.errors import (
    ConfigurationError,
    ForbiddenError,
    KymatuiError,
    NotFoundError,
    ServerError,
    UnauthorizedError,
    UnreachableError,
)
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from tests.adapters.clusters import Cluster, Exchange, eventually, serving, write_kubeconfig
from tests.sessions.worlds import (
    DEFINITIONS,
    KYMAS,
    MANIFESTS,
    METAS,
    NAMESPACE,
    OPERATOR,
    TEMPLATES,
    add_module,
    kyma_cluster,
    module_collection,
    serve_module,
)

QUICK = WatchTiming(wait=lambda event, seconds: event.wait(min(seconds, 0.02)))


@contextlib.contextmanager
def session_on(cluster: Cluster, folder: Path, *, wait: bool = True) -> Iterator[CatalogSession]:
    with serving(cluster.respond) as address:
        session = open_session(SessionOptions(str(write_kubeconfig(folder, address))), QUICK)
        session.start(lambda: None)
        try:
            if wait:
                assert session.wait_complete(20)
            yield session
        finally:
            session.close()
            cluster.close()


def state(session: CatalogSession, feed: str) -> FeedState | None:
    found = session.feeds.get(feed)
    return found.state if found else None


def test_a_catalog_of_thirty_modules_costs_at_most_forty_three_requests(tmp_path: Path) -> None:
    cluster = kyma_cluster(30)
    with session_on(cluster, tmp_path) as session:
        snapshot = session.snapshot()
        assert len(snapshot.templates) == len(snapshot.module_resources) == 30
        assert {feed.state for feed in snapshot.feeds.values()} == {FeedState.LIVE}
        assert sum(session.client.transport.counts.values()) == len(cluster.requests) <= 43


def test_each_kind_is_listed_and_watched_once_where_lists_cannot_be_streamed(tmp_path: Path) -> None:
    """But ConfigMaps: kymatui's records and those of helm have no label in common."""
    cluster = kyma_cluster(2, streams_lists=False)
    with session_on(cluster, tmp_path) as session:
        assert {feed.state for feed in session.feeds.values()} == {FeedState.LIVE}
        lists = [request for request in cluster.requests if "watch" not in request and request != "GET /apis"]
        assert Counter(lists) == {**dict.fromkeys(lists, 1), "GET /api/v1/configmaps": 2}
        assert len(lists) == 14


def test_discovery_is_kept_for_the_next_start(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    with serving(cluster.respond) as address:
        options = SessionOptions(str(write_kubeconfig(tmp_path, address)))
        for _ in range(2):
            session = open_session(options, QUICK)
            session.start(lambda: None)
            assert session.wait_complete(20)
            session.close()
        cluster.close()
    assert cluster.requests.count("GET /apis") == 1


def test_the_snapshot_becomes_rows(tmp_path: Path) -> None:
    with session_on(kyma_cluster(2), tmp_path) as session:
        rows = build_catalog(session.snapshot(), 0.0).rows
        assert [row.name for row in rows] == ["moduleaa", "moduleab"]
        assert {row.desired for row in rows} == {"1.0.0"}


def test_definitions_are_named_by_discovery(tmp_path: Path) -> None:
    with session_on(kyma_cluster(1), tmp_path) as session:
        (found,) = session.snapshot().definitions
        assert found["kind"] == "CustomResourceDefinition"
        assert found["spec"]["group"] == OPERATOR
        assert found["spec"]["names"] == {"plural": "moduleaas", "kind": "Moduleaa"}
        assert {"type": "Established", "status": "True"} in found["status"]["conditions"]


def test_it_tells_of_changes_once_until_somebody_looked(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    with session_on(cluster, tmp_path) as session:
        rung = threading.Semaphore(0)
        session._bell.on_change = rung.release
        session.snapshot()
        eventually(lambda: bool(cluster.collections[KYMAS].watchers))
        for number in range(5):
            cluster.put(
                KYMAS, {"metadata": {"name": "default", "namespace": NAMESPACE}, "spec": {"channel": f"c{number}"}}
            )
        eventually(lambda: session._feeds.objects(KYMAS)[0]["spec"]["channel"] == "c4")
        assert rung.acquire(timeout=5)
        assert not rung.acquire(blocking=False)
        assert session.snapshot().kymas[0]["spec"]["channel"] == "c4"


def test_modules_that_come_and_go_take_their_kinds_with_them(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    with session_on(cluster, tmp_path) as session:
        add_module(cluster, "late")
        eventually(lambda: state(session, f"lates.{OPERATOR}") is FeedState.LIVE)
        kind = GroupVersionKind(OPERATOR, "v1alpha1", "Late")
        assert len(session.snapshot().module_resources[kind]) == 1
        cluster.drop(TEMPLATES, (NAMESPACE, "late-1.0.0"))
        eventually(lambda: f"lates.{OPERATOR}" not in session.feeds)
        assert kind not in session.snapshot().module_resources


def test_a_kind_that_is_installed_later_is_noticed_and_one_that_is_removed_too(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    add_module(cluster, "slow", served=False)
    with session_on(cluster, tmp_path) as session:
        assert state(session, f"slow.{OPERATOR}") is FeedState.ABSENT
        serve_module(cluster, "slow")
        eventually(lambda: state(session, f"slows.{OPERATOR}") is FeedState.LIVE)
        assert f"slow.{OPERATOR}" not in session.feeds
        cluster.remove(f"slows.{OPERATOR}")
        cluster.drop(DEFINITIONS, ("", f"slows.{OPERATOR}"))
        eventually(lambda: state(session, f"slow.{OPERATOR}") is FeedState.ABSENT)


def test_kyma_that_is_installed_later_is_noticed(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    kept = {name: cluster.collections.pop(name) for name in (KYMAS, TEMPLATES, METAS, MANIFESTS)}
    with session_on(cluster, tmp_path) as session:
        assert state(session, TEMPLATES) is FeedState.ABSENT
        with pytest.raises(NotFoundError, match="no Kyma"):
            session.require_kyma()
        for name, collection in kept.items():
            cluster.add(collection)
            cluster.put(DEFINITIONS, {"metadata": {"name": name}})
        eventually(lambda: len(session.snapshot().module_resources) == 1)
        session.require_kyma()


def test_forbidden_kinds_leave_the_rest(tmp_path: Path) -> None:
    cluster = kyma_cluster(2)
    for name in (MANIFESTS, "deployments.apps", f"moduleaas.{OPERATOR}", DEFINITIONS):
        cluster.refusals[name] = cluster.refusals[f"{name}/{NAMESPACE}"] = 403
    with session_on(cluster, tmp_path) as session:
        forbidden = {name for name, feed in session.feeds.items() if feed.state is FeedState.FORBIDDEN}
        assert forbidden == {MANIFESTS, "deployments.apps", f"moduleaas.{OPERATOR}", DEFINITIONS}
        session.require_kyma()
        assert len(build_catalog(session.snapshot(), 0.0).rows) == 2


def test_who_may_read_one_namespace_sees_that(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    cluster.refusals["deployments.apps"] = 403
    cluster.put("deployments.apps", {"metadata": {"name": "manager", "namespace": NAMESPACE}})
    with session_on(cluster, tmp_path) as session:
        assert [item["metadata"]["name"] for item in session.snapshot().workloads] == ["manager"]
        assert NAMESPACE in session.feeds["deployments.apps"].message


def test_who_may_read_nothing_of_kyma_is_told(tmp_path: Path) -> None:
    cluster = kyma_cluster()
    for name in (KYMAS, TEMPLATES, METAS, MANIFESTS):
        cluster.refusals[name] = cluster.refusals[f"{name}/{NAMESPACE}"] = 403
    with (
        session_on(cluster, tmp_path) as session,
        pytest.raises(ForbiddenError, match="you may not read Kyma's objects"),
    ):
        session.require_kyma()


def test_plain_discovery_asks_for_the_groups_that_matter_and_no_other(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    cluster.aggregated = False
    cluster.add(module_collection("other"))
    cluster.collections[f"others.{OPERATOR}"].group = "unrelated.example"
    with session_on(cluster, tmp_path) as session:
        assert state(session, f"moduleaas.{OPERATOR}") is FeedState.LIVE
        assert "GET /apis/unrelated.example/v1alpha1" not in cluster.requests


def refuse_all(code: int) -> Cluster:
    cluster = kyma_cluster()

    def refuse(exchange: Exchange) -> bool:
        exchange.status(code, "Unauthorized" if code == 401 else "InternalError")
        return True

    cluster.before = refuse
    return cluster


def test_refused_credentials_are_said_and_it_recovers_by_itself(tmp_path: Path) -> None:
    cluster = refuse_all(401)
    with session_on(cluster, tmp_path, wait=False) as session:
        with pytest.raises(UnauthorizedError):
            session.wait_complete(10)
        assert {feed.state for feed in session.feeds.values()} == {FeedState.FAILED}
        assert isinstance(session.failure, UnauthorizedError)
        cluster.before = lambda exchange: False
        session.retry()
        eventually(lambda: state(session, KYMAS) is FeedState.LIVE)
        eventually(lambda: session.failure is None)


def test_a_login_page_is_said_at_once_and_a_server_in_trouble_when_the_time_is_over(tmp_path: Path) -> None:
    cluster = kyma_cluster()

    def page(exchange: Exchange) -> bool:
        exchange.answer(200, b"<html>log in</html>", {"Content-Type": "text/html"})
        return True

    cluster.before = page
    with session_on(cluster, tmp_path, wait=False) as session, pytest.raises(ServerError, match="as a Kubernetes"):
        session.wait_complete(60)
    with session_on(refuse_all(500), tmp_path, wait=False) as session:
        eventually(lambda: session.failure is not None)
        with pytest.raises(ServerError, match="InternalError"):
            session.wait_complete(0.3)


def test_a_list_that_fails_at_first_is_awaited_and_one_that_always_fails_is_not(tmp_path: Path) -> None:
    cluster = kyma_cluster()
    first = threading.Semaphore(1)

    def drop_once(exchange: Exchange) -> bool:
        if not exchange.path.endswith("/moduletemplates") or not first.acquire(blocking=False):
            return False
        exchange.drop()
        return True

    cluster.before = drop_once
    with session_on(cluster, tmp_path) as session:
        assert state(session, TEMPLATES) is FeedState.LIVE
        assert not first.acquire(blocking=False)
    cluster = kyma_cluster()
    cluster.refusals[TEMPLATES] = 503
    with session_on(cluster, tmp_path) as session:
        assert state(session, TEMPLATES) is FeedState.FAILED


def test_a_server_that_is_not_there_is_said(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path, "http://127.0.0.1:9")  # no test and no program listens on this port
    session = open_session(SessionOptions(str(file)), QUICK)
    session.start(lambda: None)
    with pytest.raises(UnreachableError):
        session.wait_complete(10)
    session.close()


def test_a_plugin_that_fails_is_said(tmp_path: Path) -> None:
    import json

    file = write_kubeconfig(tmp_path, "http://127.0.0.1:1")
    document = json.loads(file.read_text())
    plan = {"apiVersion": "client.authentication.k8s.io/v1", "command": "no-such-plugin-here"}
    document["users"][0]["user"] = {"exec": plan}
    file.write_text(json.dumps(document))
    session = open_session(SessionOptions(str(file)), QUICK)
    session.start(lambda: None)
    with pytest.raises(ConfigurationError, match="no-such-plugin-here"):
        session.wait_complete(10)
    session.close()


def test_a_session_that_is_closed_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with session_on(kyma_cluster(2), tmp_path):
        pass

    def left() -> list[str]:
        """Return the session's own threads; sessions of other tests may still be ending theirs."""
        names = [thread.name for thread in threading.enumerate() if thread not in before]
        return [name for name in names if name.startswith(("watch-", "catalog-session"))]

    eventually(lambda: not left())


def test_templates_that_make_no_sense_take_nothing_down(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    odd: list[object] = [None, 5, {"data": []}, {"data": {"apiVersion": 3}}, {"data": {"kind": "X"}}]
    for number, spec in enumerate(odd):
        cluster.put(TEMPLATES, {"metadata": {"name": f"odd-{number}", "namespace": NAMESPACE}, "spec": spec})
    with session_on(cluster, tmp_path) as session:
        assert state(session, f"moduleaas.{OPERATOR}") is FeedState.LIVE
        assert issubclass(KymatuiError, Exception)
        assert any(row.name == "moduleaa" for row in build_catalog(session.snapshot(), 0.0).rows)


def test_one_event_makes_one_row_again(tmp_path: Path) -> None:
    """Everything that rows are compared by stays the same object, from one snapshot to the next."""
    cluster, memory = kyma_cluster(6), ReadCache()
    with session_on(cluster, tmp_path) as session:
        before = build_catalog(session.snapshot(), 0.0, cache=memory).rows
        assert all(one is other for one, other in zip(before, rows_of(session, memory), strict=True))
        changed = {"metadata": {"name": "default", "namespace": NAMESPACE}, "status": {"state": "Warning"}}
        cluster.put(f"moduleacs.{OPERATOR}", changed)
        eventually(lambda: rows_of(session, memory)[2].state.value == "Warning")
        after = rows_of(session, memory)
        assert [one is other for one, other in zip(before, after, strict=True)] == [True, True, False, True, True, True]


def rows_of(session: CatalogSession, memory: ReadCache) -> tuple[ModuleRow, ...]:
    return build_catalog(session.snapshot(), 0.0, cache=memory).rows
