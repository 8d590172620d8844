"""Catalog sync, maintenance windows and Watchers: as lines, and as screens above the fleet and above a runtime."""

from __future__ import annotations

import calendar
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.remote.catalog_sync import plan_pair_sync
from kymatui.errors import ConfigurationError, NotFoundError
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.presenters.fleet.control_plane_reports import ReportTable, sync_report, watchers_report
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from kymatui.ui.screens.fleet.control_plane_screens import SyncScreen, WatchersScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.widgets.live_table import LiveTable
from tests.domain import builders as b
from tests.domain.test_pairs import World
from tests.domain.test_watcher_chains import Parts
from tests.ui.driving import table, text, until
from tests.ui.fleets import CONTROL, KYMAS, StillFleet, StillRuntime, fleet_app, two_sides
from tests.ui.test_fleet_screens import there

WINDOW = KYMAS[3]["metadata"]["name"]
SATURDAY = "Sat 11-21 21:00 – Sun 00:00"


def raising(error: Exception) -> Any:
    def fails(_: object) -> None:
        raise error

    return fails


def lines(told: ReportTable, *columns: str) -> list[tuple[str, ...]]:
    return [tuple(row.cells[name].text for name in columns) for row in told.rows]


def test_of_the_catalog_sync_what_is_amiss_comes_first_and_every_line_says_why() -> None:
    world = World()
    world.metas.append(b.meta("inner", {"regular": "1.0.0"}, namespace=CONTROL))
    world.copies = [raw for raw in world.copies if raw["kind"] != "ModuleTemplate"]
    plan = plan_pair_sync(world.pair())
    assert plan is not None
    told = sync_report(plan)
    assert lines(told, "standing", "module", "kind") == [
        ("✗ missing", "keda", "ModuleTemplate"),
        ("– withheld", "inner", "ModuleReleaseMeta"),
        ("● synced", "keda", "ModuleReleaseMeta"),
    ]
    missing, withheld, synced = (told.sentences[row.key] for row in told.rows)
    assert "expected in the runtime (in channel regular), not found" in missing
    assert "not expected in the runtime (no channel for this runtime: regular: inner-1.0.0 not found)" in withheld
    assert synced.endswith("expected in the runtime (with all its channels), found")
    assert told.counts == "1 missing   1 withheld   1 synced"


def test_of_watchers_the_broken_link_is_named_with_what_carries_the_events() -> None:
    parts = Parts()
    parts.hook["failurePolicy"] = "Fail"
    told = watchers_report(parts.chains(), b.NOW, in_runtime=True)
    assert [link for _, link in lines(told, "health", "link")] == [
        "Watcher",
        "Gateway",
        "VirtualService",
        "Service",
        "webhook",
        "Deployment",
        "Secret",
    ]
    assert [row.key for row in told.rows if row.cells["health"].text == "✗ broken"] == [told.rows[4].key]
    assert "webhook kcp-system.kyma-watcher" in told.sentences[told.rows[4].key]
    assert told.counts.startswith("0 of 1 chain healthy   read ")


def filled(app: FleetApp) -> bool:
    return bool(app.screen.query(LiveTable)) and bool(table(app).rows)


async def typed(pilot: Pilot[Any], app: FleetApp, line: str) -> None:
    app.shown.command_line.run(line)  # type: ignore[union-attr]
    await until(pilot, lambda: not isinstance(app.screen, FleetScreen | CatalogScreen) and filled(app))


def refused(_: object) -> Any:
    raise NotFoundError("the Watchers of 'kcp' are not known", hint="are its definitions there?")


async def test_the_screens_above_the_fleet_and_above_a_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StillRuntime, "pair", lambda _: two_sides(), raising=False)
    source = StillFleet()
    async with fleet_app(source).run_test(size=(160, 40)) as pilot:
        app = await there(pilot)
        app.screen.command_line.run("sync")  # type: ignore[attr-defined]
        assert not isinstance(app.screen, SyncScreen), "the sync is one runtime's"
        await typed(pilot, app, "windows")
        assert app.screen.query(LiveTable)
        assert [cell.text for cell in table(app).rows[0].cells.values()] == [
            WINDOW,
            SATURDAY,
            table(app).rows[0].cells["in"].text,
            "keda",
            "1.6.0",
            "–",
            "awaiting maintenance window (reported)",
        ]
        assert len(table(app).rows) == len(KYMAS), "each has a window, also where nothing waits for it"
        assert text(app, "#counts").startswith(
            "1 of 6 runtimes with upgrades that need downtime   maintenance window policy"
        )
        await pilot.press("escape")
        with monkeypatch.context() as wrong:
            wrong.setattr(StillFleet, "chains", refused)
            app.screen.command_line.run("watchers")  # type: ignore[attr-defined]
            await until(pilot, lambda: isinstance(app.screen, WatchersScreen))
            await until(pilot, lambda: "of 'kcp' are not known" in text(app, "#nothing"))
        await pilot.press("ctrl+r")
        await until(pilot, lambda: filled(app))
        assert [row.cells["link"].text for row in table(app).rows][-1] == "Secret"
        enter = app.screen.active_bindings.get("enter")
        assert enter is None or not enter.enabled, "nothing is opened here, so no key says so"
        await pilot.press("escape")
        await typed(pilot, app, "windows")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and filled(app))
        assert app.runtime_key == (CONTROL, WINDOW)
        runtime = source.runtimes[CONTROL, WINDOW]
        await typed(pilot, app, "windows")
        assert len(table(app).rows) == 1
        assert "the next window starts 2026-11-21 21:00 UTC" in text(app, "#reason")
        await pilot.press("escape")
        begins = calendar.timegm((2026, 11, 21, 21, 0, 0))
        monkeypatch.setattr(app, "clock", lambda: begins - 1.5)
        await typed(pilot, app, "windows")
        assert table(app).rows[0].cells["in"].text == "1s"
        monkeypatch.setattr(app, "clock", lambda: begins + 0.5)
        await until(pilot, lambda: table(app).rows[0].cells["in"].text == "open")
        assert "the window is open until 2026-11-22 00:00 UTC" in text(app, "#reason")
        await pilot.press("escape")
        await typed(pilot, app, "watchers")
        assert isinstance(app.screen, WatchersScreen)
        assert "caBundle" in text(app, "#reason") + "".join(row.cells["why"].text for row in table(app).rows)
        assert runtime.asked == 1
        app.screen.catch_up()
        await pilot.press("ctrl+r")
        await until(pilot, lambda: runtime.asked == 2)
        await pilot.press("escape")
        await typed(pilot, app, "sync")
        assert isinstance(app.screen, SyncScreen)
        await pilot.press("escape")
        app.screen.command_line.run("compare")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen) and filled(app))
        for error, words in ((ConfigurationError("no policy"), "no policy"), (ValueError("odd"), "a bug in kymatui")):
            with monkeypatch.context() as wrong:
                wrong.setattr(StillRuntime, "pair", raising(error))
                app.screen.show_catalog()
                await until(pilot, lambda words=words: words in text(app, "#counts"))  # type: ignore[misc]
            assert filled(app), "what was compared before stays"
        app.screen.show_catalog()
        await until(pilot, lambda: "bug" not in text(app, "#counts"))
        await pilot.press("T")
        await until(pilot, lambda: isinstance(app.screen, SyncScreen) and filled(app))
