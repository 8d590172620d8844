"""In audit mode over two servers: the keys of the screens that only a fleet has, and what both servers saw of it.

All keys of all screens over two servers are pressed by tests/benchmarks/two_servers_walk.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from textual.binding import Binding
from textual.screen import Screen

from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.panes.catalog_pane import CatalogPane
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from kymatui.ui.screens.fleet.control_plane_screens import ReportScreen
from kymatui.ui.screens.fleet.fleet_list_screens import FleetListScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from tests.cli.walking import SIZE, Tried, Walker
from tests.ui.driving import until
from tests.ui.parsing import parse_once

pytestmark = pytest.mark.xdist_group("fleet")

OF_FLEETS = (FleetScreen, FleetListScreen, CompareScreen, ReportScreen)
OF_CONTEXTS = {"ContextVersionsScreen"}
"""A list of a fleet of contexts; `test_contexts_on_screen` opens it."""
OF_CLUSTERS = {*CatalogScreen.__mro__, *CatalogPane.__mro__}
SIDES = ("kcp", "skr")
ROW = "kcp-system/skr"


def bindings_of(kind: type[object]) -> list[Binding]:
    return [binding for binding in vars(kind).get("BINDINGS", ()) if isinstance(binding, Binding)]


class FleetWalker(Walker):
    """Presses what screens of fleets have themselves; other screens are opened, and left again."""

    def _fresh_key(self, screen: Screen[object]) -> str | None:
        if not isinstance(screen, OF_FLEETS):
            return None
        kinds = [*type(screen).__mro__, *(type(screen.focused).__mro__ if screen.focused is not None else ())]
        own = {binding.action for kind in kinds if kind not in OF_CLUSTERS for binding in bindings_of(kind)}
        for key, active in cast("Screen[object]", screen).active_bindings.items():
            here = (type(screen).__name__, "", active.binding.action)
            if active.binding.action in {*own, "choose"} and here not in self.tried.keys:
                self.tried.keys.add(here)
                return key
        return None

    def _commands(self, screen: Screen[object]) -> list[tuple[str, ScreenCommand]]:
        if not isinstance(screen, OF_FLEETS):
            return []
        wanted = ("sync", "windows", "watchers", "compare", "runtime", "problems")
        found = super()._commands(cast("Screen[object]", screen))
        return [(owner, command) for owner, command in found if owner != "app" or command.name in wanted]


@pytest.fixture(autouse=True)
def _own_home(two_clusters: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(two_clusters))
    monkeypatch.chdir(tmp_path)
    parse_once(monkeypatch)


async def test_no_key_of_a_fleets_screens_writes_to_either_server(two_clusters: Path) -> None:
    logs = [FaultClient.for_kubeconfig(two_clusters, side) for side in SIDES]
    for log in logs:
        log.requests(forget=True)
    options = RemoteOptions(SessionOptions(str(two_clusters), "kcp", read_only=True))
    app = FleetApp(lambda: RemoteSession(options), settings=Settings(), read_only=True, audit=True)
    app.animation_level = "none"
    tried = Tried()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.fleet is not None and bool(app.fleet.rows))
        app.look_at(("kcp-system", "skr"))
        await until(pilot, lambda: app.runtime_feed is not None and app.runtime_feed.state is FeedState.LIVE)
        app.ways.climb_to(0)
        await until(pilot, lambda: isinstance(app.screen, FleetScreen) and app.screen.main_widget().move_to(ROW))
        await pilot.press("space", "home")
        await FleetWalker(pilot, tried).walk()
        session = app.fleet_view.fleet_link.session
        counted = session.traffic if session is not None else (0, 0)
    assert {kind.__name__ for kind in _leaves(OF_FLEETS)} - OF_CONTEXTS <= tried.screens
    assert len(tried.keys) > 20
    control, runtime = ([one for one in log.requests()["requests"] if "kymatui" in one["agent"]] for log in logs)
    assert [one for one in (*control, *runtime) if not is_read_only_request(one["method"], one["path"])] == []
    assert counted == (counted[0], 0)
    assert len(runtime) > 10, "the runtime was looked at"


def _leaves(kinds: tuple[type[object], ...]) -> set[type[object]]:
    return {leaf for kind in kinds for leaf in (_leaves(tuple(kind.__subclasses__())) or {kind})}
