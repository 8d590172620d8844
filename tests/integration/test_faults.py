"""A server that misbehaves: nothing crashes, nothing wrong is shown as right, and it recovers by itself."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kymatui.adapters.kube.watch.watch_reader import WatchTiming
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.catalog.rows import Catalog, ModuleRow
from kymatui.domain.snapshot.cluster_index import RELEASE_MAP_FEED
from kymatui.domain.snapshot.snapshots import FeedState, Object
from kymatui.errors import UnauthorizedError, UnreachableError
from kymatui.sessions.cluster.catalog_session import CatalogSession
from kymatui.sessions.feeds.feeds import WATCHED_KINDS
from tests.integration.embedded import (
    GROUP,
    KYMAS,
    METAS,
    NAMESPACE,
    TEMPLATES,
    VIEWER,
    Embedded,
    all_live,
    eventually,
    feed,
    kyma,
    named,
    reaches,
    release_meta,
    resource,
)

ALPHAS = f"alphas.{GROUP}"
EVERYTHING = (*(fixed.feed for fixed in WATCHED_KINDS if fixed.feed != RELEASE_MAP_FEED), ALPHAS)


@pytest.fixture
def cluster(strict: Embedded) -> Embedded:
    """One module, installed and well."""
    strict.add_module("alpha")
    strict.add_kyma("alpha")
    return strict


def shown(session: CatalogSession) -> Catalog:
    return build_catalog(session.snapshot(), time.time())


def row(session: CatalogSession, name: str) -> ModuleRow:
    found = shown(session).row(name)
    assert found is not None, name
    return found


def resources(session: CatalogSession) -> list[Object]:
    return [item for items in session.snapshot().module_resources.values() for item in items]


def names_seen(session: CatalogSession) -> set[str]:
    snapshot = session.snapshot()
    objects = (*snapshot.kymas, *snapshot.templates, *snapshot.release_metas, *snapshot.manifests)
    return {item["metadata"]["name"] for item in objects}


def is_right(session: CatalogSession) -> None:
    """The one module is shown as it is."""
    (row,) = shown(session).rows
    assert (row.name, row.channel, row.desired, row.state) == ("alpha", "regular", "1.0.0", "Ready")


def test_without_faults_all_is_live(cluster: Embedded) -> None:
    with cluster.session() as session:
        all_live(session)
        is_right(session)


# at the start

AT_START = {
    "every answer takes a while": {"word": "latency", "seconds": 0.2},
    "every second answer takes longer": {"word": "latency", "seconds": 0.5, "probability": 0.5},
    "the first questions are put off for a second": {"word": "throttle", "seconds": 1, "count": 3},
    "the first answers are failures": {"word": "error", "count": 3},
    "the first connections break off": {"word": "drop", "count": 6},
    "discovery fails at first": {"word": "error", "verb": "get", "count": 1},
}


@pytest.mark.parametrize("fault", AT_START.values(), ids=AT_START)
def test_a_start_with_trouble_comes_to_the_same(cluster: Embedded, fault: dict[str, Any]) -> None:
    cluster.fault(**fault)
    with cluster.session(wait=False) as session:
        all_live(session)
        is_right(session)


@pytest.mark.parametrize(("word", "said"), [("error", "Internal error"), ("throttle", "too many requests")])
def test_a_kind_that_never_answers_has_failed_and_hides_nothing_else(cluster: Embedded, word: str, said: str) -> None:
    cluster.fault(word, resource=TEMPLATES, seconds=60)
    with cluster.session(wait=False) as session:
        reaches(session, TEMPLATES, FeedState.FAILED)
        reaches(session, KYMAS, FeedState.LIVE)
        assert said in feed(session, TEMPLATES).message
        assert any(TEMPLATES in problem.message for problem in shown(session).problems)
        cluster.clear()
        all_live(session)
        is_right(session)


def test_a_server_that_refuses_everything_is_said_and_comes_back(cluster: Embedded) -> None:
    cluster.fault("drop")
    with cluster.session(wait=False) as session:
        with pytest.raises(UnreachableError):
            session.wait_complete(20)
        assert {found.state for found in session.feeds.values()} == {FeedState.FAILED}
        cluster.clear()
        session.retry()
        all_live(session)
        assert session.failure is None
        is_right(session)


# while it runs


@pytest.mark.parametrize("word", ["end-watches", "expire-watches"])
def test_watches_that_end_are_opened_again_and_miss_nothing(cluster: Embedded, word: str) -> None:
    """What changes while nobody watches is there afterwards, and what went is gone."""
    cluster.add_module("bravo")
    with cluster.session() as session:
        cluster.fault("drop", verb="watch")
        cluster.fault("drop", verb="list")
        cluster.fault(word)
        cluster.put(resource("alpha", "Warning"))
        cluster.remove(TEMPLATES, "bravo-1.0.0")
        cluster.remove(METAS, "bravo")
        reaches(session, TEMPLATES, FeedState.STALE)
        assert row(session, "alpha").state == "Ready"
        cluster.clear()
        eventually(lambda: row(session, "alpha").state == "Warning", "the change is seen")
        eventually(lambda: len(shown(session).rows) == 1, "what went is gone")
        all_live(session)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("error", "Internal error"),
        ("drop", "connection"),
        ("throttle", "too many requests"),
        ("unauthorized", "does not accept the credentials"),
    ],
)
def test_what_was_right_is_stale_while_the_server_fails(cluster: Embedded, word: str, said: str) -> None:
    with cluster.session() as session:
        before = time.time()
        cluster.fault(word, seconds=60)
        cluster.fault("end-watches")
        for name in session.feeds:
            reaches(session, name, FeedState.STALE)
            assert said in feed(session, name).message
            assert feed(session, name).since <= before + 5
        is_right(session)
        cluster.clear()
        all_live(session)
        is_right(session)


def test_watches_that_always_end_at_once_are_not_asked_in_a_circle(cluster: Embedded) -> None:
    waits: list[float] = []
    with cluster.session(timing=WatchTiming(wait=lambda event, seconds: _noted(waits, event, seconds))) as session:
        eventually(lambda: _grow(waits, cluster), "waits grow")
        is_right(session)


def _grow(waits: list[float], cluster: Embedded) -> bool:
    cluster.fault("end-watches", resource=KYMAS)
    return max(waits, default=0.0) >= 2.0


def _noted(waits: list[float], event: threading.Event, seconds: float) -> bool:
    waits.append(seconds)
    return event.wait(min(seconds, 0.05))


# credentials and rights


def test_a_token_that_stops_being_valid_and_comes_back(cluster: Embedded) -> None:
    cluster.grant("test-all", *EVERYTHING)
    with cluster.session(viewer=True) as session:
        all_live(session)
        cluster.fault("revoke-token", token=VIEWER)
        cluster.fault("end-watches")
        for name in session.feeds:
            reaches(session, name, FeedState.STALE)
        assert "does not accept the credentials" in feed(session, KYMAS).message
        assert feed(session, KYMAS).is_login_rejected
        assert "log in again" in feed(session, KYMAS).hint
        cluster.fault("restore-token", token=VIEWER)
        all_live(session)
        assert not feed(session, KYMAS).is_login_rejected
        is_right(session)


def test_a_user_may_write_where_a_role_allows_it(cluster: Embedded) -> None:
    cluster.grant("test-all", *EVERYTHING)
    with cluster.session() as admin, cluster.session(viewer=True) as viewer:
        assert admin.home.may_write(["kyma-system"])
        assert not viewer.home.may_write(["kyma-system"]), "its role lists and watches"
        cluster.fault("error", resource="selfsubjectrulesreviews.authorization.k8s.io")
        assert viewer.home.may_write(["kyma-system"]), "what is unknown is not denied"


def test_a_plugin_is_asked_again_when_its_token_is_refused(cluster: Embedded, tmp_path: Path) -> None:
    """Nobody notices but the plugin: what was revoked is replaced by what it gives next."""
    cluster.grant("test-all", *EVERYTHING)
    tokens = tmp_path / "tokens"
    tokens.write_text(VIEWER)
    with cluster.session(kubeconfig=cluster.kubeconfig_with_plugin(tokens)) as session:
        all_live(session)
        tokens.write_text(f"{VIEWER} {cluster.admin_token()}")
        cluster.fault("revoke-token", token=VIEWER)
        cluster.fault("end-watches")
        cluster.put(resource("alpha", "Warning"))
        eventually(lambda: row(session, "alpha").state == "Warning", "the change is seen")
        all_live(session)
        calls = tokens.with_suffix(".calls").read_text().split()
        assert set(calls) == {VIEWER, cluster.admin_token()}
        assert len(calls) < 8, "one call serves all watches, not one each"


def test_a_plugin_that_only_has_a_refused_token_is_said_and_comes_back(cluster: Embedded, tmp_path: Path) -> None:
    cluster.grant("test-all", *EVERYTHING)
    tokens = tmp_path / "tokens"
    tokens.write_text(VIEWER)
    with cluster.session(kubeconfig=cluster.kubeconfig_with_plugin(tokens)) as session:
        cluster.fault("revoke-token", token=VIEWER)
        cluster.fault("end-watches")
        reaches(session, KYMAS, FeedState.STALE)
        eventually(lambda: "does not accept the credentials" in feed(session, KYMAS).message, "it is said")
        is_right(session)
        cluster.fault("restore-token", token=VIEWER)
        all_live(session)
        is_right(session)


def test_a_server_that_says_when_to_come_back_is_not_asked_before(cluster: Embedded) -> None:
    waits: list[float] = []
    cluster.fault("throttle", resource=TEMPLATES, seconds=77)
    with cluster.session(
        wait=False, timing=WatchTiming(wait=lambda event, seconds: _noted(waits, event, seconds))
    ) as session:
        reaches(session, TEMPLATES, FeedState.FAILED)
        eventually(lambda: len(waits) >= 3, "it is asked again")
        assert min(waits) >= 77
        cluster.clear()
        all_live(session)


def test_a_token_that_is_not_valid_at_the_start(cluster: Embedded) -> None:
    cluster.grant("test-all", *EVERYTHING)
    cluster.fault("revoke-token", token=VIEWER)
    with cluster.session(viewer=True, wait=False) as session:
        with pytest.raises(UnauthorizedError):
            session.wait_complete(20)
        assert feed(session, KYMAS).is_login_rejected
        cluster.fault("restore-token", token=VIEWER)
        all_live(session)
        is_right(session)


def test_kinds_that_are_forbidden_are_said_and_everything_else_is_shown(cluster: Embedded) -> None:
    cluster.grant("test-some", KYMAS, TEMPLATES, METAS, "alphas.operator.kyma-project.io")
    with cluster.session(viewer=True) as session:
        states = {name: found.state for name, found in session.feeds.items()}
        assert {name for name, state in states.items() if state is FeedState.LIVE} == {
            KYMAS,
            TEMPLATES,
            METAS,
            "alphas.operator.kyma-project.io",
        }
        assert set(states.values()) == {FeedState.LIVE, FeedState.FORBIDDEN}
        assert 'User "viewer" cannot watch resource "deployments"' in feed(session, "deployments.apps").message
        found = row(session, "alpha")
        assert (found.desired, found.state) == ("1.0.0", "Ready")


def test_rights_that_are_given_and_taken_while_it_runs(cluster: Embedded) -> None:
    cluster.grant("test-some", *(name for name in EVERYTHING if name != TEMPLATES))
    with cluster.session(viewer=True) as session:
        assert feed(session, TEMPLATES).state is FeedState.FORBIDDEN
        cluster.grant("test-templates", TEMPLATES)
        all_live(session)
        is_right(session)
        cluster.remove("clusterrolebindings.rbac.authorization.k8s.io", "test-templates")
        cluster.fault("end-watches", resource=TEMPLATES)
        reaches(session, TEMPLATES, FeedState.FORBIDDEN)
        assert not session.snapshot().templates, "what may not be read any more is not shown as if it were known"


def test_rights_in_one_namespace_show_that_namespace_and_say_so(cluster: Embedded) -> None:
    cluster.grant("test-here", KYMAS, TEMPLATES, METAS, namespace=NAMESPACE)
    with cluster.session(viewer=True) as session:
        assert feed(session, TEMPLATES).state is FeedState.LIVE
        assert feed(session, TEMPLATES).message == f"only the namespace {NAMESPACE} may be read"
        assert not session.use_namespace("elsewhere"), "its lists would be others"
        assert [item["metadata"]["name"] for item in session.snapshot().templates] == ["alpha-1.0.0"]


# definitions that come and go


def test_the_definition_of_a_modules_resource_goes_and_comes_back(cluster: Embedded) -> None:
    with cluster.session() as session:
        is_right(session)
        cluster.undefine(ALPHAS)
        eventually(lambda: not any(session.snapshot().module_resources.values()), "the resources are gone")
        eventually(lambda: row(session, "alpha").state != "Ready" or not row(session, "alpha").checked, "not right")
        cluster.define_module("alpha")
        cluster.put(resource("alpha", "Ready"))
        all_live(session)
        eventually(
            lambda: any(item.klm.state == "Ready" for item in row(session, "alpha").checked), "it is back, and well"
        )
        is_right(session)


def test_a_definition_in_another_version_is_followed(cluster: Embedded) -> None:
    with cluster.session() as session:
        cluster.undefine(ALPHAS)
        cluster.define_module("alpha", "v1beta1")
        cluster.put(resource("alpha", "Warning", "v1beta1"))
        eventually(
            lambda: [item.get("status") for item in resources(session)] == [{"state": "Warning"}], "it is followed"
        )


def test_a_kind_of_kyma_itself_goes_and_comes_back(cluster: Embedded) -> None:
    with cluster.session() as session:
        cluster.undefine(METAS)
        reaches(session, METAS, FeedState.ABSENT)
        assert row(session, "alpha").desired != "1.0.0"
        cluster.define_kyma()
        cluster.put(release_meta("alpha", "1.0.0"))
        eventually(lambda: row(session, "alpha").desired == "1.0.0", "it is right again")
        all_live(session)


def test_modules_that_come_and_go_are_followed_and_dropped(cluster: Embedded) -> None:
    with cluster.session() as session:
        cluster.add_module("bravo")
        eventually(lambda: "bravo" in {found.name for found in shown(session).rows}, "it comes")
        reaches(session, "bravos.operator.kyma-project.io", FeedState.LIVE)
        cluster.remove(TEMPLATES, "bravo-1.0.0")
        cluster.remove(METAS, "bravo")
        eventually(lambda: "bravos.operator.kyma-project.io" not in session.feeds, "its kind is followed no more")
        eventually(lambda: len(shown(session).rows) == 1, "its row is gone")
        is_right(session)


# objects that make no sense

LABELLED = named("odd", labels={f"{GROUP}/kyma-name": "default", f"{GROUP}/module-name": "alpha"})
MALFORMED: dict[str, dict[str, Any]] = {
    "a template without a spec": {"kind": "ModuleTemplate", "spec": None},
    "a template whose spec is a text": {"kind": "ModuleTemplate", "spec": "none"},
    "a template whose data is a list": {"kind": "ModuleTemplate", "spec": {"data": [], "version": 1, "moduleName": {}}},
    "a template whose rules are a number": {
        "kind": "ModuleTemplate",
        "spec": {"moduleName": "odd", "version": "1.0.0", "customStateCheck": 7, "manager": "x"},
    },
    "a release meta whose channels are an object": {"kind": "ModuleReleaseMeta", "spec": {"channels": {"a": "b"}}},
    "a manifest without a spec": {"kind": "Manifest", "metadata": LABELLED, "spec": "none"},
    "a manifest whose status is a list": {"kind": "Manifest", "metadata": LABELLED, "spec": {}, "status": []},
    "a manifest whose version is a number": {"kind": "Manifest", "metadata": LABELLED, "spec": {"version": 1.5}},
    "a release meta that names no module": {"kind": "ModuleReleaseMeta", "spec": {"moduleName": [], "channels": 4}},
    "a Kyma whose spec is a list": {"kind": "Kyma", "spec": []},
    "a second Kyma whose modules are a text": {"kind": "Kyma", "spec": {"modules": "many"}, "status": {"modules": 3}},
}


def is_read(odd: dict[str, Any]) -> bool:
    """Whether anything is made of it: a template without a spec is an old one that says nothing, a second Kyma is only
    counted."""
    return not (odd["kind"] == "Kyma" and isinstance(odd["spec"], dict)) and odd.get("spec") is not None


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_an_object_that_makes_no_sense_takes_nothing_else_down(loose: Embedded, body: dict[str, Any]) -> None:
    loose.add_module("alpha")
    loose.add_kyma("alpha")
    odd = {"apiVersion": f"{GROUP}/v1beta2", "metadata": named("odd"), **body}
    with loose.session() as session:
        loose.put(odd)
        eventually(lambda: "odd" in names_seen(session), "it arrives")
        found = row(session, "alpha")
        assert (found.desired, found.state) == ("1.0.0", "Ready")
        told = [problem for problem in shown(session).problems if "odd" in f"{problem.object} {problem.message}"]
        assert any(
            "malformed" in one.message or "does not match its schema" in one.message for one in told
        ) or not is_read(odd)
        assert {item.state for item in session.feeds.values()} <= {FeedState.LIVE, FeedState.ABSENT}


def test_a_kyma_that_makes_no_sense_becomes_right_when_it_is_mended(loose: Embedded) -> None:
    loose.add_module("alpha")
    loose.put({**kyma("alpha"), "spec": 1, "status": "well"})
    with loose.session() as session:
        assert row(session, "alpha").desired != "nonsense"
        assert shown(session).problems
        loose.remove(KYMAS, "default")
        loose.put(kyma("alpha"))
        eventually(lambda: row(session, "alpha").state == "Ready", "it is right again")
        is_right(session)
