"""What a catalog costs the API server: one list and watch a kind, nothing while nothing happens, nothing twice."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator

import pytest

from kymatui.cli.main import main
from kymatui.domain.catalog.catalog import build_catalog
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.errors import UnknownNameError
from kymatui.sessions.cluster.catalog_session import CatalogSession, feed_name, open_session
from kymatui.sessions.cluster.session_options import SessionOptions
from kymatui.sessions.contexts import KubeContexts
from kymatui.sessions.feeds.feeds import WATCHED_KINDS
from kymatui.settings.config_file import Settings
from tests.integration.embedded import GROUP, NAMESPACE, eventually, reaches
from tests.integration.recording import Recorded, module_names, modules, recorded
from tests.ui.driving import until

MODULES = 30
BUDGET = 43
RIGHTS = "/selfsubjectrulesreviews"

pytestmark = pytest.mark.xdist_group("requests")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorded]:
    folder = tmp_path_factory.mktemp("recorded")
    with recorded(folder) as found:
        found.load(folder, modules(MODULES))
        yield found


@contextlib.contextmanager
def opened(server: Recorded) -> Iterator[CatalogSession]:
    server.asked.clear()
    session = open_session(SessionOptions(str(server.kubeconfig)))
    session.start(lambda: None)
    try:
        assert session.wait_complete(30)
        yield session
    finally:
        session.close()


def touch(server: Recorded, name: str, word: str) -> None:
    """Changes a module's resource inside the server."""
    client = server.cluster.server.client
    patch = {"metadata": {"annotations": {"word": word}}}
    server.call(lambda: client.patch(f"{name}s.{GROUP}", "default", patch, namespace=NAMESPACE))


def word_of(session: CatalogSession, name: str) -> str:
    kind = GroupVersionKind(GROUP, "v1alpha1", name.capitalize())
    (item,) = session.snapshot().module_resources[kind]
    return str((item["metadata"].get("annotations") or {}).get("word", ""))


def test_thirty_modules_cost_few_requests_and_no_kind_is_asked_for_twice(server: Recorded) -> None:
    with opened(server) as session:
        rows = build_catalog(session.snapshot(), 0.0).rows
        assert [row.name for row in rows] == module_names(MODULES)
        assert {row.state.value for row in rows} == {"Ready"}
        assert {feed.state for feed in session.feeds.values()} == {FeedState.LIVE}
        assert len(server.asked) <= BUDGET, server.asked
        twice = {asked: count for asked, count in server.counted().items() if count > 1}
        assert twice == {"GET /api/v1/configmaps": 2}, "kymatui's inventories, and helm's releases"
        assert len(session.feeds) == MODULES + len(WATCHED_KINDS) - 1, "the two lists of ConfigMaps are one feed"


def test_a_second_session_costs_no_more_than_the_first(server: Recorded) -> None:
    with opened(server):
        first = server.counted()
    with opened(server):
        assert server.counted() <= first


def test_what_changes_comes_by_the_watches_alone(server: Recorded) -> None:
    """Each change is seen, and none of them makes anybody ask for anything."""
    with opened(server) as session:
        before = list(server.asked)
        for number in range(20):
            name = module_names(MODULES)[number]
            touch(server, name, str(number))
            eventually(lambda name=name, number=number: word_of(session, name) == str(number), f"{name} is seen")  # type: ignore[misc]
            build_catalog(session.snapshot(), 0.0)
        assert server.asked == before


def test_events_cost_one_request_a_namespace_that_is_looked_at(server: Recorded) -> None:
    def about(name: str, namespace: str = NAMESPACE) -> ObjectRef:
        return ObjectRef(GroupVersionKind(GROUP, "v1alpha1", name.capitalize()), namespace, "default")

    one, two = module_names(2)
    with opened(server) as session:
        before = len(server.asked)
        session.follow_events([about(one)])
        reaches(session, feed_name(NAMESPACE), FeedState.LIVE)
        assert server.asked[before:] == [f"GET /api/v1/namespaces/{NAMESPACE}/events"]
        session.follow_events([about(two)])
        session.follow_events([about(one), about(two)])
        assert len(server.asked) == before + 1, "another object of the same namespace"
        session.follow_events([about(one), about(two, "default")])
        reaches(session, feed_name("default"), FeedState.LIVE)
        session.follow_events([])
        assert server.asked[before + 1 :] == ["GET /api/v1/namespaces/default/events"]


@pytest.mark.parametrize(
    "words", [["catalog"], ["module", "moduleaa"], ["checks", "moduleaa"], ["drift"]], ids=lambda words: words[0]
)
def test_commands_cost_no_more_and_watch_nothing(
    server: Recorded, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    server.asked.clear()
    server.watched.clear()
    assert main([*words, "--kubeconfig", str(server.kubeconfig), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert len(server.asked) <= BUDGET, server.asked
    assert all(asked.startswith("GET ") for asked in server.asked)
    assert server.watched == [], "each would be a connection"


async def test_the_screen_costs_no_more_than_its_session(server: Recorded) -> None:
    """And nothing while keys are pressed that only look around."""
    from kymatui.ui.application.kymatui_app import KymatuiApp

    server.asked.clear()
    app = KymatuiApp(lambda: open_session(SessionOptions(str(server.kubeconfig))))
    async with app.run_test(size=(120, 40)) as pilot:

        def shown() -> bool:
            feeds = app.view.snapshot.feeds.values() if app.view.snapshot is not None else ()
            live = bool(feeds) and all(feed.state is FeedState.LIVE for feed in feeds)
            return live and app.catalog is not None and len(app.catalog.rows) == MODULES

        await until(pilot, shown)
        assert len([asked for asked in server.asked if not asked.endswith(RIGHTS)]) <= BUDGET, server.asked
        assert len([asked for asked in server.asked if asked.endswith(RIGHTS)]) <= 1, "one review for each namespace"
        before = list(server.asked)
        await pilot.press("down", "down", "1", "0", "S", "ctrl+z", "ctrl+z", "end", "home")
        touch(server, "moduleaa", "fence")
        await until(pilot, lambda: app.view.snapshot is not None and "fence" in str(app.view.snapshot.module_resources))
        assert server.asked == before


def test_another_namespace_costs_one_request_for_its_name_and_reads_no_list_again(server: Recorded) -> None:
    contexts = KubeContexts(lambda: SessionOptions(str(server.kubeconfig)), Settings(), open_session)
    with opened(server) as session:
        before = list(server.asked)
        assert contexts.narrow(session, "kube-system")
        assert (session.namespace, session.target.namespace) == ("kube-system", "kube-system")
        assert contexts.narrow(session, "")
        assert session.namespace == ""
        assert set(server.asked[len(before) :]) <= {"GET /api", "GET /api/v1/namespaces/kube-system"}
        with pytest.raises(UnknownNameError, match="kube-sistem"):
            contexts.narrow(session, "kube-sistem")
        assert session.namespace == ""
