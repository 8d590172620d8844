"""The fleet: keys pressed, screens read; and what happens when runtimes change, or cannot be looked at."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import UnreachableError
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.connection.fleet_view import MOST_RUNTIMES, RuntimeViews
from kymatui.ui.connection.mailbox import Mailbox
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.fleet.fleet_list_screens import (
    FleetProblemsScreen,
    RecentChangesScreen,
    VersionMatrixScreen,
    WaitingScreen,
)
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.widgets.top_line import TopLine
from tests.domain import builders as b
from tests.ui.driving import SIZE, cell, shown, table, text, until
from tests.ui.fleets import CONTROL, KYMAS, StillFleet, fleet_app, painter, runtime

WARNING, WELL, ERROR, WINDOW, GOING, SKIPPED = (raw["metadata"]["name"] for raw in KYMAS)
ALL = {WARNING, WELL, ERROR, WINDOW, GOING, SKIPPED}


WIDE = pytest.mark.parametrize("size", [(160, 40)], ids=["wide"])


@pytest.fixture
def source() -> StillFleet:
    """What the app displays."""
    return StillFleet()


@pytest.fixture
def app(source: StillFleet) -> FleetApp:
    return fleet_app(source)


async def there(pilot: Pilot[Any]) -> FleetApp:
    app = pilot.app
    assert isinstance(app, FleetApp)

    def known() -> str:
        return f"fleet {app.fleet}, view {app.view}, screen {app.screen}"[:4000]

    await until(pilot, lambda: app.fleet is not None and bool(app.fleet.rows) and bool(table(app).rows), about=known)
    await pilot.pause()
    return app


def names(app: FleetApp) -> list[str]:
    return [key.rpartition("/")[2] for key in shown(app)]


@WIDE
async def test_the_worst_runtime_comes_first_and_the_line_says_who_must_act(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    assert names(app)[:3] == [ERROR, WARNING, GOING]
    assert "who acts: unknown until the runtime is read (enter)" in text(app, "#reason")
    await pilot.press("j")
    assert "Secret sap-btp-manager not found   who acts: unknown" in text(app, "#reason")
    key = f"{CONTROL}/{WARNING}"
    found = [cell(app, key, column) for column in ("plan", "region", "modules", "drift", "worst", "age", "skr")]
    assert found == ["aws", "eu10", "3", "1", "btp-operator", "90d", "–"]
    assert cell(app, f"{CONTROL}/{SKIPPED}", "state").endswith("Processing skip")


NARROWED: list[tuple[tuple[str, ...], set[str]]] = [
    (("1", *"j", "enter"), {WELL, SKIPPED}),  # by plan: aws has three runtimes, azure two
    (("escape",), ALL),
    (("slash", *"eu10", "enter"), {WARNING, WINDOW}),
    (("escape",), ALL),
    (("slash", *"-l region=us10", "enter"), {WELL, SKIPPED}),
    (("escape",), ALL),
    (("slash", "g", "c", "p", "enter"), {ERROR}),
    (("escape",), ALL),
    (("ctrl+z",), {WARNING, WELL, ERROR, GOING, SKIPPED}),
    (("escape",), ALL),
    (("v", "enter"), {WARNING}),
    (("escape", "escape", "v", "j", "right", "enter"), {WARNING, WINDOW}),  # back to the matrix first
    (("escape", "escape"), ALL),
    (("colon", *"group region", "enter", "enter"), {WARNING, WINDOW}),
]


async def test_what_hides_runtimes_is_said_and_escape_takes_it_away(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    for keys, expected in NARROWED:
        await pilot.press(*keys)
        await until(pilot, partial(_narrowed, app, expected), partial(names, app))


def _narrowed(app: FleetApp, expected: set[str]) -> bool:
    is_shown = isinstance(app.screen, FleetScreen) and set(names(app)) == expected
    return is_shown and ("of 6" in text(app, "#views")) == (expected != ALL)


async def test_groups_count_states(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    await pilot.press("B")
    await pilot.pause()
    assert [cell(app, key, "name") for key in shown(app)] == ["aws", "azure", "gcp"]
    counts = [cell(app, "plan\0aws", name) for name in ("count", "ready", "warning", "error", "deleting", "drift")]
    assert counts == ["3", "1", "1", "–", "1", "1"]


async def test_the_matrix_counts_versions_and_a_cell_is_chosen_without_colour(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    await pilot.press("v", "j")
    await pilot.pause()
    istio = next(row for row in table(app).rows if row.key == "istio")
    assert [istio.cells[f"place:{n}"].text for n in range(3)] == ["[1.21.0: 1]", "1.20.3: 2", "1.19.0: 1"]
    await pilot.press("right")
    assert "1.20.3" in text(app, "#reason")


async def test_back_from_the_runtimes_of_a_version_returns_to_the_matrix(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    whole = len(table(app).rows)
    await pilot.press("v", "j", "enter")
    await until(pilot, lambda: isinstance(app.screen, FleetScreen) and 0 < len(table(app).rows) < whole)
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, VersionMatrixScreen))
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, FleetScreen) and len(table(app).rows) == whole)


async def test_the_columns_of_the_matrix_follow_the_chosen_cell() -> None:
    source = StillFleet()
    source.change(*(runtime(f"r{n}", "aws", "eu10", b.report("many", f"1.{n}.0")) for n in range(9)))
    async with fleet_app(source).run_test(size=(80, 24)) as pilot:
        app = await there(pilot)
        await pilot.press("v")
        await until(pilot, lambda: table(app).move_to("many"))
        assert "version 1 of 9" in text(app, "#reason")
        for number in range(1, 9):
            await pilot.press("right")
            assert f"place:{number}" in table(app).grid.shown
        assert "many 1.0.0   version 9 of 9" in text(app, "#reason")
        assert cell(app, "many", "place:8") == "[1.0.0: 1]"
        await pilot.press("up")
        assert "place:1" in table(app).grid.shown, "the module above has two versions"


@WIDE
async def test_who_waits_for_whom(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    await pilot.press("w")
    await pilot.pause()
    found = {(row.cells["on"].text, row.cells["module"].text) for row in table(app).rows}
    assert found == {
        ("unknown", "istio"),
        ("unknown", "btp-operator"),
        ("lifecycle-manager", "(the runtime)"),
        ("unknown", "keda"),
        ("you", "(the runtime)"),
        ("lifecycle-manager", "keda"),
        ("lifecycle-manager", "warden"),
    }
    assert text(app, "#reason").startswith("istio on 77c01b9f-04fe: the manager is not running   who acts: ")
    waiting = next(key for key in shown(app) if "\0keda\0" in key)
    table(app).move_to(waiting)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and bool(table(app).rows))
    assert table(app).cursor_key == "keda"
    await pilot.press("escape")
    await until(pilot, lambda: isinstance(app.screen, WaitingScreen))
    assert table(app).cursor_key == waiting


@WIDE
@pytest.mark.parametrize("keys", [("P",), (*":problems", "enter"), ("w", "P")], ids=["key", "command", "below"])
async def test_the_problems_of_the_fleet_are_those_that_the_header_counts(
    pilot: Pilot[Any], keys: tuple[str, ...]
) -> None:
    app = await there(pilot)
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, FleetProblemsScreen) and bool(table(app).rows))
    assert {row.cells["runtime"].text for row in table(app).rows} == {WARNING, WELL, ERROR, GOING, SKIPPED}
    assert f"with problems {len(table(app).rows)}" in app.screen.query_one(TopLine).facts.counts
    assert all(row.cells["reason"].text and row.cells["on"].text for row in table(app).rows)
    assert app.screen.query_one(TopLine).facts.trail[-1] == "problems"
    assert text(app, "#reason").startswith(f"{ERROR}  istio: the manager is not running   who acts: unknown")
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and bool(table(app).rows))
    assert table(app).cursor_key == "istio"
    await pilot.press("P")
    await until(pilot, lambda: isinstance(app.screen, ProblemsScreen))


@pytest.mark.parametrize("keys", [("M",), (*":channels", "enter")], ids=["key", "command"])
async def test_channels_are_those_of_a_runtime(pilot: Pilot[Any], keys: tuple[str, ...]) -> None:
    app = await there(pilot)
    await pilot.press(*keys)
    await until(pilot, lambda: bool(app._notifications))
    assert isinstance(app.screen, FleetScreen)
    assert ["open a runtime first (enter)" in one.message for one in app._notifications] == [True]


async def test_the_changes_of_the_fleet_are_those_of_its_runtimes(pilot: Pilot[Any]) -> None:
    app = await there(pilot)
    await pilot.press("H")
    await until(pilot, lambda: isinstance(app.screen, RecentChangesScreen) and bool(table(app).rows))


async def test_what_changed_of_late_is_listed_also_what_was_before() -> None:
    source = StillFleet()
    async with fleet_app(source).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        await pilot.press("h")
        await pilot.pause()
        assert [row.cells["module"].text for row in table(app).rows] == ["warden", "keda", "istio"]
        assert "warden on 9be2ff01-5d5d: ◐ Processing at " in text(app, "#reason")
        healed = runtime(ERROR, "gcp", "eu20", b.report("istio", "1.20.3"))
        source.change(healed, gone=[(CONTROL, GOING)])
        await until(pilot, lambda: len(table(app).rows) > 4)
        found = {(row.cells["module"].text, row.cells["what"].text, row.cells["after"].text) for row in table(app).rows}
        assert ("istio", "version", "1.20.3") in found
        assert ("(the runtime)", "runtime", "–") in found
        await pilot.press("escape")
        await pilot.pause()
        assert GOING not in names(app)
        assert cell(app, f"{CONTROL}/{ERROR}", "state").endswith("Ready")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (("a",), "Edit marked runtimes is disabled: mark runtimes first (space)"),
        (
            ("space", "a"),
            "Edit marked runtimes is disabled: needs the option --allow-fleet-writes; enter opens one runtime",
        ),
    ],
)
async def test_editing_runtimes_says_why_it_is_off(
    pilot: Pilot[Any], source: StillFleet, keys: tuple[str, ...], said: str
) -> None:
    app = await there(pilot)
    await pilot.press(*keys)
    await pilot.pause()
    assert [one.message for one in app._notifications] == [said]


async def test_a_runtime_has_a_catalog_below_the_fleet_and_minus_leads_to_and_fro(
    pilot: Pilot[Any], source: StillFleet
) -> None:
    app = await there(pilot)
    assert "needs the option --allow-fleet-writes; enter opens one runtime" in app.why_no_writes
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and app.catalog is not None)
    assert list(source.runtimes) == [(CONTROL, ERROR)]
    assert app.screen.query_one(TopLine).facts.trail == ("fleet", ERROR)
    assert app.why_no_writes == ""
    assert app.view.session is source.runtimes[CONTROL, ERROR]
    await pilot.press("j", "enter")
    await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
    await pilot.press("minus", "minus", "escape", "escape")
    await until(pilot, lambda: isinstance(app.screen, FleetScreen))
    assert cell(app, f"{CONTROL}/{ERROR}", "skr") == "connected"
    await pilot.press("minus")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
    await pilot.press(*":fleet", "enter")
    await until(pilot, lambda: isinstance(app.screen, FleetScreen))


async def test_a_runtime_that_cannot_be_reached_costs_itself_only() -> None:
    source = StillFleet()
    source.answers[CONTROL, ERROR] = Feed(FeedState.FAILED, b.NOW, "77c01b9f did not answer within 10 s")
    async with fleet_app(source).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and app.catalog is not None)
        await pilot.pause()
        assert "did not answer within 10 s" in text(app, "#banner")
        assert app.why_no_writes == "cannot read the runtime"
        app.read_only = True
        assert app.why_no_writes == "kymatui runs read-only", (
            "reading is all that it does, whatever the runtime answers"
        )
        assert app.view.session is None
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        assert cell(app, f"{CONTROL}/{ERROR}", "skr") == "unreachable"
        assert text(app, "#banner") == ""


@pytest.mark.parametrize("wanted", [WELL, f"{CONTROL}/{WELL}", f"c-{WELL[:7]}"])
async def test_straight_to_one_runtime(wanted: str) -> None:
    async with fleet_app(StillFleet(wanted)).run_test(size=SIZE) as pilot:
        app = pilot.app
        assert isinstance(app, FleetApp)
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen) and app.catalog is not None)
        assert app.runtime_key == (CONTROL, WELL)


async def test_a_runtime_that_is_not_there_is_said_to_be_missing() -> None:
    async with fleet_app(StillFleet("nobody")).run_test(size=SIZE) as pilot:
        app = await there(pilot)
        await until(pilot, lambda: bool(app.problems))
        assert 'no runtime "nobody" on this control plane' in app.problems[0]


WITHOUT_ROWS = (
    (FeedState.SYNCING, "Loading"),
    (FeedState.ABSENT, "No Kyma on this cluster"),
    (FeedState.FORBIDDEN, "Not allowed to list Kymas"),
    (FeedState.FAILED, "does not answer"),
    (FeedState.LIVE, "No runtimes"),
)


async def test_a_fleet_without_rows_says_why() -> None:
    source = StillFleet()
    source.painter = type(source.painter)()
    async with fleet_app(source).run_test(size=SIZE) as pilot:
        app = pilot.app
        for state, words in WITHOUT_ROWS:
            source.feeds = {"kymas.operator.kyma-project.io": Feed(state, b.NOW, "because")}
            source.change()
            await until(pilot, lambda: words in str(app.screen.query_one("#notice").render()))  # noqa: B023


async def test_no_connection_to_the_control_plane_is_said_on_the_first_screen() -> None:
    def connect() -> StillFleet:
        raise UnreachableError("https://10.0.0.1:6443 refused the connection")

    async with FleetApp(connect, clock=lambda: b.NOW).run_test(size=SIZE) as pilot:
        app = pilot.app
        await until(pilot, lambda: "No connection" in str(app.screen.query_one("#notice").render()))


def test_eight_runtimes_are_kept_and_the_one_that_nobody_used_for_longest_goes() -> None:
    source = StillFleet()
    views = RuntimeViews(Mailbox(lambda _: None), lambda: b.NOW)
    keys = [(CONTROL, f"r{number}") for number in range(MOST_RUNTIMES)]
    first, *others = [views.of(key, source) for key in keys]
    assert views.of(keys[0], source) is first
    views.of((CONTROL, "one more"), source)
    let_go = [key for key, feed in views.feeds().items() if feed.state is FeedState.ABSENT]
    assert let_go == [keys[1]], "that it was looked at is remembered"
    assert set(views.feeds()) == {*keys, (CONTROL, "one more")}
    assert others[0].link._closed.is_set()
    assert not first.link._closed.is_set()
    views.close()


UUIDS = (
    "8229990c-4f0e-4a57-9d1b-6a2f0c1d2e3f",
    "8229990c-4f1e-4a57-9d1b-6a2f0c1d2e30",
    "1d0a77e2-0000-4a57-9d1b-6a2f0c1d2e31",
)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_names_of_runtimes_never_look_alike(width: int, runner: asyncio.Runner) -> None:
    async def displayed() -> list[str]:
        source = StillFleet()
        source.painter = painter([runtime(name, "aws", "eu10", b.report("keda", "1.6.0")) for name in UUIDS])
        async with fleet_app(source).run_test(size=(width, 24)) as pilot:
            app = await there(pilot)
            found = table(app)
            lines = ["".join(segment.text for segment in found.render_line(y)) for y in range(found.size.height)]
            assert shown(app)[0].rpartition("/")[2] in text(app, "#reason"), "the detail line has the whole name"
            return [line.split()[0] for line in lines if line.strip().startswith(("8229", "1d0a", "…"))]

    shown_names = runner.run(displayed())
    assert len(shown_names) == len(set(shown_names)) == 3
    if width == 200:
        assert set(shown_names) == set(UUIDS)
