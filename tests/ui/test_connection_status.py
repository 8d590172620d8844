"""What the screen says of its connection: how old the data is, who refuses it, and whether one may write."""

from __future__ import annotations

import functools
from typing import Any, cast

import pytest
from msgspec.structs import asdict, replace

from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.engine.cluster.ports import Cluster
from kymatui.errors import UnauthorizedError, UnreachableError
from kymatui.ui.connection.connection_status import connection_banner, describe_connection
from kymatui.ui.panes.runtimes_pane import fleet_notice
from kymatui.ui.presenters.catalog.table_notices import table_notice
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, table, text, until
from tests.ui.fleets import StillFleet, fleet_app
from tests.ui.worlds import SilentCluster, StillSession, app_on, world

REJECTED = UnauthorizedError("x does not accept the credentials", hint="log in again, or get a new kubeconfig")
SILENT = UnreachableError("x did not answer", hint="check the network")
KINDS = ("kymas", "moduletemplates", "modulereleasemetas")


def feeds(state: FeedState, error: UnauthorizedError | UnreachableError) -> dict[str, Feed]:
    return {f"{kind}.operator.kyma-project.io": Feed.of_error(state, b.NOW - 42, error) for kind in KINDS}


@pytest.mark.parametrize("state", [FeedState.FAILED, FeedState.STALE])
def test_a_rejected_login_is_not_a_cluster_that_does_not_answer(state: FeedState) -> None:
    connection = describe_connection(feeds(state, REJECTED), b.NOW)
    assert connection.word == "login rejected"
    banner = connection_banner(connection, None)
    assert banner.startswith("▲ The cluster rejects your login")
    assert "Log in again" in banner
    assert "retries" not in banner
    silent = describe_connection(feeds(state, SILENT), b.NOW)
    assert silent.word in ("offline", "stale 42s")
    assert "login" not in connection_banner(silent, None)


def test_data_behind_a_rejected_login_is_as_old_as_behind_a_silent_server() -> None:
    connection = describe_connection(feeds(FeedState.STALE, REJECTED), b.NOW)
    assert connection.stale_since == b.NOW - 42
    assert "the data is 42s old" in connection_banner(connection, None)


def test_a_table_that_a_rejected_login_leaves_empty_names_the_login() -> None:
    snapshot = replace(world(), kymas=(), templates=(), release_metas=(), feeds=feeds(FeedState.FAILED, REJECTED))
    notice = table_notice(snapshot, empty_catalog(), None, shown=0, filtered=False)
    assert notice is not None
    assert notice.title == "The cluster rejects your login"
    assert notice.hint.startswith("Log in again")
    for empty in (table_notice(None, None, REJECTED, shown=0, filtered=False), fleet_notice(None, REJECTED, 0)):
        assert empty is not None
        assert empty.title == "The cluster rejects your login"


def empty_catalog() -> Any:
    from kymatui.domain.catalog.catalog import build_catalog

    return build_catalog(Snapshot("test"), b.NOW)


class Viewer(SilentCluster):
    """A cluster of a user who may only read; `asked` are the namespaces that were asked about."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def may_write(self, namespaces: Any) -> bool:
        self.asked += namespaces
        return False


async def test_the_mode_of_a_user_who_may_write_nothing_is_not_read_write() -> None:
    viewer = Viewer()

    class Session(StillSession):
        @property
        def cluster(self) -> Cluster:
            return cast("Cluster", viewer)

    async with app_on(Session(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: "[MAY ONLY READ]" in text(app, "TopLine"))
        assert viewer.asked == ["kyma-system"]
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: "[RW]" in text(app, "TopLine"))


async def test_the_mode_on_a_control_plane_asks_in_the_namespaces_of_its_kymas() -> None:
    fleet, viewer = StillFleet(), Viewer()
    fleet.home = cast("Cluster", viewer)
    async with fleet_app(fleet).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, lambda: "[MAY ONLY READ]" in text(app, "TopLine"))
        assert viewer.asked == ["kcp-system"]


async def test_the_header_and_plans_name_whom_requests_impersonate() -> None:
    session = StillSession(world())
    target = ClusterTarget("prod-eu", "api.prod-eu.example.com", "kyma-system", user="jane")
    session.target = target
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await until(pilot, functools.partial(lambda: "as jane" in text(app, "TopLine")))
    assert target.line.endswith("read-write, as jane")


async def test_a_table_that_comes_back_has_the_focus_again() -> None:
    session = StillSession(world())
    full, silent = session.snapshot(), Snapshot("test", feeds=feeds(FeedState.FAILED, SILENT))
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        session.show(**asdict(silent))
        await until(pilot, lambda: app.screen.focused is None)
        session.show(**asdict(full))
        await until(pilot, lambda: app.screen.focused is not None)
        assert app.screen.focused is table(app)
