"""Every key and every command of every screen of a fleet and of a runtime, in audit mode over two servers.

    python -m tests.benchmarks.two_servers_walk

What was sent is told by both servers themselves. Ends with 1 where anything but reading reached one of them.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from kymatui.adapters.kube.transport.transport import is_read_only_request
from kymatui.domain.snapshot.snapshots import FeedState
from kymatui.sandbox.door import start_sandbox
from kymatui.sandbox.fault_client import FaultClient
from kymatui.sessions.cluster.session_options import RemoteOptions, SessionOptions
from kymatui.sessions.control_plane.remote_session import RemoteSession
from kymatui.settings.config_file import Settings
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from tests.cli.walking import SIZE, Tried, Walker, all_screens
from tests.ui.driving import until
from tests.ui.parsing import parse_once

SIDES = ("kcp", "skr")
RUNTIME = ("kcp-system", "skr")
ROW = "/".join(RUNTIME)


async def walk(kubeconfig: Path) -> tuple[Tried, tuple[int, int]]:
    """What was tried, and what the app itself counted: requests that read, and that could have changed something."""
    tried = Tried()
    options = RemoteOptions(SessionOptions(str(kubeconfig), "kcp", read_only=True))
    app = FleetApp(lambda: RemoteSession(options), settings=Settings(), read_only=True, audit=True)
    app.animation_level = "none"
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.fleet is not None and bool(app.fleet.rows))
        app.look_at(RUNTIME)  # so that it is connected when the walk comes there
        await until(pilot, lambda: connected(app))
        app.ways.climb_to(0)
        await until(pilot, lambda: isinstance(app.screen, FleetScreen) and app.screen.main_widget().move_to(ROW))
        await pilot.press("space", "home")  # what is marked can be edited
        await Walker(pilot, tried).walk()
        session = app.fleet_view.fleet_link.session
        counted = session.traffic if session is not None else (0, 0)
    return tried, counted


def connected(app: FleetApp) -> bool:
    """Whether both sides of the runtime on show are there."""
    feed = app.runtime_feed
    return feed is not None and feed.state is FeedState.LIVE and app.catalog is not None and len(app.catalog.rows) > 10


def requests(kubeconfig: Path) -> dict[str, list[tuple[str, str]]]:
    """What the program asked of each server, by the server's own log."""
    told = {side: FaultClient.for_kubeconfig(kubeconfig, side).requests()["requests"] for side in SIDES}
    return {
        side: [(one["method"], one["path"]) for one in found if "kymatui" in one["agent"]]
        for side, found in told.items()
    }


def main() -> None:
    with start_sandbox(clusters=SIDES, settled=True, fleet=1) as sandbox, tempfile.TemporaryDirectory() as folder:
        for side in SIDES:
            FaultClient.for_kubeconfig(sandbox.kubeconfig, side).requests(forget=True)
        os.environ["HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        os.chdir(folder)  # what is saved goes there
        began = time.monotonic()
        with pytest.MonkeyPatch.context() as patch:
            parse_once(patch)
            tried, (reads, writes) = asyncio.run(walk(sandbox.kubeconfig))
        asked = requests(sandbox.kubeconfig)
        os.chdir("/")
    missing = ", ".join(sorted(all_screens() - tried.screens))
    print(f"{len(tried.screens)} screens (not {missing}), {len(tried.keys)} keys, {len(tried.commands)} commands")
    print(f"{time.monotonic() - began:.0f} s; the control plane's connection counted {reads} reads and {writes} writes")
    writing = {side: [one for one in found if not is_read_only_request(*one)] for side, found in asked.items()}
    for side, found in asked.items():
        print(f"{side}: {len(found)} requests {dict(Counter(m for m, _ in found))}, {len(writing[side])} writing")
        for one in writing[side]:
            print(*one)
    sys.exit(1 if writes or any(writing.values()) else 0)


if __name__ == "__main__":
    main()
