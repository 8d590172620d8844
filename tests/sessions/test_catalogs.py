"""Catalogs from outside beside the watches of a session: read once, said how they are doing, never in the way."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kymatui.adapters.content.community_catalog import CommunityCatalog
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog, CatalogOrigin
from kymatui.domain.kubernetes.refs import GroupVersionKind
from kymatui.domain.kyma.problems import Severity
from kymatui.domain.snapshot.snapshots import CATALOG_FEED, Feed, FeedState
from kymatui.errors import NotFoundError, RegistryError
from kymatui.sessions.cluster.catalog_session import CatalogSession, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.feeds.community_catalogs import MAX_SOURCES, CommunityCatalogs
from kymatui.sessions.feeds.feeds import module_kinds
from tests.adapters.clusters import Cluster, Exchange, eventually, serving, write_kubeconfig
from tests.sessions.test_sessions import QUICK
from tests.sessions.worlds import KYMAS, MANIFESTS, METAS, OPERATOR, TEMPLATES, kyma_cluster, serve_module

Json = dict[str, Any]


def community(name: str, version: str = "0.1.0", kind: str = "") -> Json:
    data = {"apiVersion": f"{OPERATOR}/v1alpha1", "kind": kind or name.capitalize(), "metadata": {"name": "x"}}
    return {
        "apiVersion": f"{OPERATOR}/v1beta2",
        "kind": "ModuleTemplate",
        "metadata": {"name": f"{name}-{version}"},
        "spec": {"moduleName": name, "version": version, "data": data, "descriptor": {}},
    }


def write(folder: Path, *templates: Json) -> str:
    file = folder / "all-modules.yaml"
    file.write_text(yaml.safe_dump_all(templates))
    return str(file)


@contextlib.contextmanager
def session_on(cluster: Cluster, folder: Path, *sources: str, wait: bool = True) -> Iterator[CatalogSession]:
    with serving(cluster.respond) as address:
        session = open_session(SessionOptions(str(write_kubeconfig(folder, address)), catalogs=sources), QUICK)
        session.start(lambda: None)
        try:
            if wait:
                assert session.wait_complete(20)
            yield session
        finally:
            session.close()
            cluster.close()


def feed(session: CatalogSession, source: str) -> Feed:
    return session.feeds[CATALOG_FEED + source]


def shown(session: CatalogSession) -> Catalog:
    return build_catalog(session.snapshot(), 0.0)


def test_modules_from_outside_are_offered_beside_the_clusters_own(tmp_path: Path) -> None:
    source = write(tmp_path, community("late"), community("late", "0.2.0"))
    with session_on(kyma_cluster(1), tmp_path, source) as session:
        found = shown(session).row("late")
        assert found is not None
        assert (found.origin, found.newest, found.sources) == (CatalogOrigin.COMMUNITY, "0.2.0", (source,))
        assert feed(session, source).state is FeedState.LIVE
        own = shown(session).row("moduleaa")
        assert own is not None
        assert own.origin is CatalogOrigin.KYMA


def test_what_the_cluster_has_wins_over_the_same_from_outside(tmp_path: Path) -> None:
    source = write(tmp_path, community("moduleaa", "1.0.0"), community("moduleaa", "9.0.0"))
    with session_on(kyma_cluster(1), tmp_path, source) as session:
        found = shown(session).row("moduleaa")
        assert found is not None
        assert [(offer.version, offer.source) for offer in found.offers] == [("1.0.0", ""), ("9.0.0", source)]
        assert (found.origin, found.desired) == (CatalogOrigin.KYMA, "1.0.0")


def test_the_kinds_of_modules_from_outside_are_watched_where_they_are_served(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    serve_module(cluster, "late")
    with session_on(cluster, tmp_path, write(tmp_path, community("late"), community("never"))) as session:
        assert session.feeds[f"lates.{OPERATOR}"].state is FeedState.LIVE
        assert session.feeds[f"never.{OPERATOR}"].state is FeedState.ABSENT
        assert len(session.snapshot().module_resources[GroupVersionKind(OPERATOR, "v1alpha1", "Late")]) == 1


@pytest.mark.parametrize("api", ["v1", "apps/v1", "rbac.authorization.k8s.io/v1"])
def test_a_file_on_the_web_names_no_built_in_kind(api: str) -> None:
    item = community("sly")
    item["spec"]["data"].update(apiVersion=api, kind="Secret")
    assert not module_kinds([], [item])
    assert len(module_kinds([item])) == 1, "who may put templates into the cluster is trusted"


def test_a_source_that_fails_is_said_and_read_again_when_asked(tmp_path: Path) -> None:
    answers = [404]

    def respond(exchange: Exchange) -> None:
        exchange.answer(answers[-1], yaml.safe_dump(community("late")).encode(), {"Content-Type": "text/plain"})

    with serving(respond) as address, session_on(kyma_cluster(1), tmp_path, address) as session:
        assert feed(session, address).state is FeedState.FAILED
        (problem,) = [one for one in shown(session).problems if address in one.message]
        assert "HTTP 404" in problem.message
        assert problem.severity is Severity.WARNING
        answers.append(200)
        session.retry()
        eventually(lambda: shown(session).row("late") is not None)
        answers.append(500)
        session.retry()
        eventually(lambda: feed(session, address).state is FeedState.STALE)
        assert shown(session).row("late") is not None, "what was read once stays, and is said to be old"
        assert any("may be outdated" in one.message for one in shown(session).problems)


def test_what_is_passed_over_or_malformed_is_said(tmp_path: Path) -> None:
    source = write(tmp_path, community("late"), {"kind": "Secret"}, {**community("odd"), "spec": []})
    with session_on(kyma_cluster(1), tmp_path, source) as session:
        said = {problem.severity: problem.message for problem in shown(session).problems}
        assert "skipped: 1 Secret" in said[Severity.INFO]
        assert "odd-0.1.0 is malformed: spec is not an object" in said[Severity.ERROR]


def test_a_catalog_from_outside_is_shown_on_a_cluster_without_kyma(tmp_path: Path) -> None:
    cluster = kyma_cluster(1)
    for name in (KYMAS, TEMPLATES, METAS, MANIFESTS):
        cluster.remove(name)
    with session_on(cluster, tmp_path, write(tmp_path, community("late"))) as session:
        session.require_kyma()
        assert [row.name for row in shown(session).rows] == ["late"]
    with session_on(cluster, tmp_path, str(tmp_path / "gone")) as session, pytest.raises(NotFoundError):
        session.require_kyma()


def test_a_slow_source_holds_nothing_else_up(tmp_path: Path) -> None:
    release = threading.Event()

    def respond(exchange: Exchange) -> None:
        release.wait(20)
        exchange.answer(200, yaml.safe_dump(community("late")).encode(), {"Content-Type": "text/plain"})

    with serving(respond) as address, session_on(kyma_cluster(1), tmp_path, address, wait=False) as session:
        eventually(lambda: shown(session).row("moduleaa") is not None)
        assert feed(session, address).state is FeedState.SYNCING
        assert not session.wait_complete(0.1), "a part is not the whole"
        release.set()
        assert session.wait_complete(20)
        assert shown(session).row("late") is not None


def test_raw_manifests_name_a_tag_that_is_no_version(tmp_path: Path) -> None:
    from tests.adapters.test_catalogs import workload

    commit = "49b1192071ec05bfdd18c1f667544ac34aa927a1"
    item = community("late")
    manager = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "late", "namespace": "kyma-system"}
    item["spec"]["manager"] = manager
    folder = tmp_path / "catalog"
    folder.mkdir()
    write(folder, item, community("late", "0.2.0"))
    cluster = kyma_cluster(1)
    cluster.put("deployments.apps", workload("late", f"r.io/late:{commit}"))
    with session_on(cluster, tmp_path, str(folder)) as session:
        found = shown(session).row("late")
        assert found is not None
        assert (found.installed, found.drift.kind.value) == (commit, "unknown")
    (folder / "late-0.1.0.yaml").write_text(yaml.safe_dump(workload("late", f"r.io/late:{commit}")))
    with session_on(cluster, tmp_path, str(folder)) as session:
        found = shown(session).row("late")
        assert found is not None
        assert (found.installed, found.drift.kind.value) == ("0.1.0", "behind")


# without a cluster


def test_each_source_is_read_once_and_changes_ring_once() -> None:
    asked: list[str] = []
    rung = threading.Semaphore(0)

    def read(address: str) -> CommunityCatalog:
        asked.append(address)
        return CommunityCatalog(address, (community(address),))

    found = CommunityCatalogs(["one", "two", "one"], rung.release, read)
    found.start()
    try:
        assert rung.acquire(timeout=10)
        assert rung.acquire(timeout=10)
        assert sorted(asked) == ["one", "two"]
        assert [item["metadata"]["name"] for item in found.templates] == ["one-0.1.0", "two-0.1.0"]
        before = found.templates
        found.retry()
        eventually(lambda: len(asked) == 4)
        assert rung.acquire(timeout=10)
        assert found.templates == before
    finally:
        found.close()


@pytest.mark.parametrize("error", [RegistryError("no"), RuntimeError("no"), MemoryError("no")])
def test_whatever_goes_wrong_is_said_and_not_waited_for(error: Exception) -> None:
    def read(address: str) -> CommunityCatalog:
        raise error

    found = CommunityCatalogs(["one"], lambda: None, read)
    found.start()
    try:
        eventually(lambda: found.feeds()[f"{CATALOG_FEED}one"].state is FeedState.FAILED)
        assert "no" in found.feeds()[f"{CATALOG_FEED}one"].message
    finally:
        found.close()


def test_more_sources_than_anybody_has_are_left_out_and_said() -> None:
    found = CommunityCatalogs(map(str, range(MAX_SOURCES + 3)), lambda: None, CommunityCatalog)  # type: ignore[arg-type]
    states = list(found.feeds().values())
    assert len(states) == MAX_SOURCES + 1
    assert "3 more sources" in states[-1].message


def test_passwords_in_addresses_are_in_no_name() -> None:
    found = CommunityCatalogs(["https://me:secret@host/x"], lambda: None, CommunityCatalog)  # type: ignore[arg-type]
    assert list(found.feeds()) == [f"{CATALOG_FEED}https://host/x"]
