"""Keys pressed, screens read: what a person can do, and what happens when the cluster changes meanwhile."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import ConfigurationError, UnreachableError
from kymatui.lists.catalog_cells import format_age
from kymatui.ui.application.kymatui_app import KymatuiApp, advance_ages
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.base.screen_keys import key_help
from kymatui.ui.dialogs.action_menu import MenuItem, MenuScreen
from kymatui.ui.flows import module_actions
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.channel_matrix_screen import ChannelMatrixScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.viewmodels.row_list import Row
from kymatui.ui.viewmodels.sorting import SortOrder
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.plan_widgets import PlanTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.top_line import TopLine
from tests.domain import builders as b
from tests.ui.driving import SIZE, cell, ready, shown, table, text, until
from tests.ui.worlds import LIVE, StillSession, app_on, failing_app, world

ALL = [
    "api-gateway",
    "btp-operator",
    "cloud-logging",
    "docker-registry",
    "eventing",
    "istio",
    "keda",
    "nats",
    "serverless",
]


def rows(app: KymatuiApp) -> Sequence[Row]:
    return table(app).rows


async def test_every_module_is_listed_and_the_reason_follows_the_cursor(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert shown(app) == ALL
    await pilot.press("j")
    assert "Secret sap-btp-manager not found" in text(app, "#reason")
    await pilot.press("G")
    assert "serverless" in text(app, "#reason")


FAST = ["api-gateway", "btp-operator", "eventing", "istio", "keda", "serverless"]


VIEWS: list[tuple[tuple[str, ...], list[str]]] = [
    (("2",), FAST),
    (("3",), ["istio"]),
    (("4",), ["docker-registry"]),
    (("4", "0"), ALL),
    (("4", "escape"), ALL),
    (("slash", *"keda"), ["keda"]),
    (("slash", *"keda", "enter", "escape"), ALL),
    (("slash", *"keda", "escape"), ALL),
    (("slash", "exclamation_mark", *"kyma"), ["docker-registry"]),
    (("slash", "left_square_bracket"), ALL),
    (("colon", *"view", "space", *"fast", "enter"), FAST),
    (("colon", *"sort", "space", *"name:desc", "enter"), ALL[::-1]),
    (("N",), ALL[::-1]),
]


async def test_views_filters_and_orders(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    for keys, modules in VIEWS:
        await pilot.press(*keys)
        await pilot.pause()
        assert shown(app) == modules, keys
        assert isinstance(app.screen, CatalogScreen)
        for line in ("filter", "view all", "sort name"):
            app.screen.command_line.run(line)
        app.screen.main_widget().focus()


async def test_the_tab_of_a_channel_adds_what_it_offers_and_changes_nothing_else() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        before = {
            row.key: {name: row.cells[name].text for name in ("channel", "desired", "drift")} for row in rows(app)
        }
        assert "offered" not in table(app).grid.shown
        await pilot.press("2")
        await pilot.pause()
        assert "offered" in table(app).grid.shown
        assert {row.key: row.cells["offered"].text for row in rows(app)}["istio"] == "1.21.0"
        for row in rows(app):
            assert {name: row.cells[name].text for name in before[row.key]} == before[row.key], row.key
        await pilot.press("colon", *"sort offered", "enter")
        assert app.screen.query_one(LiveTable).order == SortOrder("offered")
        await pilot.press("colon", *"columns name state", "enter")
        assert table(app).grid.shown == ("name", "state", "offered")
        await pilot.press("0")
        await pilot.pause()
        assert table(app).grid.shown == ("name", "state")
        assert app.screen.query_one(LiveTable).order == SortOrder()


async def test_only_problems(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("ctrl+z")
    assert "istio" in shown(app)
    assert "api-gateway" not in shown(app)


WAYS: list[tuple[tuple[str, ...], type]] = [
    (("enter",), ModuleScreen),
    (("x",), ModuleScreen),
    (("M",), ChannelMatrixScreen),
    (("P",), ProblemsScreen),
    (("question_mark",), HelpScreen),
    (("colon", *"errors", "enter"), ProblemsScreen),
    (("colon", *"matrix", "enter"), ChannelMatrixScreen),
    (("colon", *"help", "enter"), HelpScreen),
]


async def test_keys_and_commands_open_screens_and_escape_climbs_back(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    for keys, screen in WAYS:
        await pilot.press(*keys)
        await pilot.pause()
        assert isinstance(app.screen, screen), keys
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, CatalogScreen), keys


async def test_a_change_in_the_cluster_is_drawn_and_the_cursor_stays() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("j")
        resources = dict(world().module_resources)
        resources[b.gvk("api-gateway")] = (b.resource("api-gateway", "Error"),)
        session.show(module_resources=resources)
        await until(pilot, lambda: "Error" in cell(app, "api-gateway", "state"))
        assert table(app).cursor_key == "btp-operator"


async def test_the_module_screen_follows_changes_and_says_when_the_module_went_away() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("G", "enter")
        await pilot.pause()
        assert "1.7.4" in text(app, "#declared")
        left = [t for t in world().templates if not t["metadata"]["name"].startswith("serverless")]
        metas = [m for m in world().release_metas if m["metadata"]["name"] != "serverless"]
        session.show(templates=tuple(left), release_metas=tuple(metas))
        await until(pilot, lambda: "no longer in the catalog" in text(app, "#why"))


async def test_checks_are_explained_and_modes_switch(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "j", "x")
    await pilot.pause()
    rules = app.screen.query_one("#rules", RowTable)
    assert [row.cells["result"].text for row in rules.rows] == ["no match", "match", "no match", "match"]
    assert rules.rows[3].cells["group"].text == "true ← decides"
    await pilot.press("s")
    assert "strict" in text(app, "#headline")


PATHS = [
    ("status.health", "yellow"),
    ("status.nothing", "not found: status has no such field"),
    ("status", "object"),
    ("$.status.health", "this path is read differently"),
]


async def test_a_path_is_evaluated_as_it_is_typed(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "j", "x", "w")
    await pilot.pause()
    for path, answer in PATHS:
        app.screen.query_one("#path", Input).value = path
        await pilot.pause()
        assert answer in text(app, "#found"), path


async def test_enter_copies_the_path_of_a_rule(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "j", "x", "j", "enter")
    await pilot.pause()
    rule = app.screen.query_one("#rules", RowTable).rows[1]
    assert app.screen.query_one("#path", Input).value == rule.cells["path"].text
    assert text(app, "#found")


async def test_versions_tell_what_changes(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("v")
    await pilot.pause()
    offers = app.screen.query_one("#offers", RowTable)
    assert [row.cells["version"].text for row in offers.rows] == ["3.6.0", "3.4.1"]
    assert offers.rows[1].cells["here"].text == "installed, desired, base"
    assert "3.4.1 to 3.6.0 (2 minors)" in text(app, "#changes")


async def test_yaml_is_searched_not_filtered(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "y")
    await pilot.pause()
    document = app.screen.query_one(Document)
    lines = len(document.lines)
    await pilot.press("slash", *"ready", "enter")
    await pilot.pause()
    assert document.place == "1 of 1"
    assert len(document.lines) == lines
    assert "managedFields" not in "\n".join(document.lines)


@pytest.mark.parametrize(
    ("state", "word"),
    [(FeedState.STALE, "stale 42s"), (FeedState.SYNCING, "loading 0/3"), (FeedState.FAILED, "offline")],
)
async def test_the_frame_says_how_current_the_picture_is(state: FeedState, word: str) -> None:
    snapshot = replace(world(), feeds={name: Feed(state, b.NOW - 42) for name in LIVE})
    async with app_on(StillSession(snapshot)).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.screen.query_one(TopLine).facts.connection == word


@pytest.mark.parametrize(("line", "notice"), [("changes", "#nothing"), ("module keda history", "#no-history")])
async def test_no_changes_are_a_fact_once_the_lists_came(line: str, notice: str) -> None:
    session = StillSession(replace(world(), feeds={name: Feed(FeedState.SYNCING) for name in LIVE}))
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.shown.command_line.run(line)  # type: ignore[union-attr]
        await until(pilot, lambda: bool(app.screen.query(notice)) and text(app, notice) == "Loading …")
        session.show(feeds=LIVE)
        await until(pilot, lambda: text(app, notice) != "Loading …")


async def test_rows_of_a_lost_connection_are_dimmed_and_live_again_when_it_is_back() -> None:
    session = StillSession(replace(world(), feeds={name: Feed(FeedState.STALE, b.NOW - 42) for name in LIVE}))
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert all(row.dim for row in table(app).rows)
        session.show(feeds=LIVE)
        await until(pilot, lambda: not table(app).rows[0].dim)


async def test_a_server_that_cannot_be_reached_leaves_the_screen_open_with_the_reason() -> None:
    error = UnreachableError("the server refused the connection", hint="is it running?")
    async with failing_app(error).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert "the server refused the connection" in text(app, "#notice")
        assert "is it running?" in text(app, "#notice")


async def test_a_configuration_that_cannot_be_used_ends_the_screen_with_its_status() -> None:
    error = ConfigurationError("there is no context 'x'")
    app = failing_app(error)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.fatal is not None)
    assert app.fatal is error
    assert app.return_code == error.exit_code


async def test_a_defect_in_the_thread_is_said_and_not_swallowed() -> None:
    def connect() -> StillSession:
        raise ZeroDivisionError("an unforeseen thing")

    async with KymatuiApp(connect).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert "ZeroDivisionError: an unforeseen thing" in text(app, "#notice")


async def test_a_look_that_fails_is_said_and_the_next_one_is_shown_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import kymatui.domain.catalog.catalog as domain

    session, read = StillSession(world()), domain.build_catalog
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        monkeypatch.setattr(domain, "build_catalog", lambda *args, **more: 1 / 0)
        session.show(cluster="odd")
        await until(pilot, lambda: "ZeroDivisionError" in app.screen.query_one(TopLine).facts.banner)
        assert shown(app) == ALL, "what was seen before stays"
        assert all(row.dim for row in table(app).rows)
        monkeypatch.setattr(domain, "build_catalog", read)
        session.show(cluster="test")
        await until(pilot, lambda: app.screen.query_one(TopLine).facts.banner == "")
        assert not table(app).rows[0].dim


async def test_ctrl_r_asks_the_server_again() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: session.retries == 1)


async def test_ctrl_c_quits_only_the_second_time() -> None:
    app = app_on(StillSession(world()))
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+c")
        assert app.return_code is None
        await pilot.press("ctrl+c")
    assert app.return_code == 130


async def test_a_table_is_saved_and_nothing_is_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    app = await ready(pilot)
    screen = app.screen
    assert isinstance(screen, FramedScreen)
    for name in ("m.csv", "m.json", "m.md"):
        screen.command_line.run(f"save {name}")
        assert "btp-operator" in (tmp_path / name).read_text()
    (tmp_path / "m.csv").write_text("mine")
    screen.command_line.run("save m.csv")
    screen.command_line.run("save m.exe")
    assert (tmp_path / "m.csv").read_text() == "mine"
    assert [problem.split()[0] for problem in app.problems] == ["m.csv", "file"]


async def test_an_unknown_command_is_named_with_what_was_meant(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("colon", *"dance", "enter")
    await pilot.pause()
    assert app.problems == ['no command "dance"; `:help` lists the commands']


async def test_keys_can_be_remapped() -> None:
    app = app_on(StillSession(world()), keys={"app.quit": "f10", "app.channels": "f2"})
    async with app.run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press("q")
        assert app.return_code is None
        await pilot.press("f2")
        await pilot.pause()
        assert isinstance(app.screen, ChannelMatrixScreen)


async def test_the_help_lists_every_key_that_has_a_name(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert isinstance(app.screen, FramedScreen)
    labels = {key.label for key in key_help(app.screen, app.screen.name_in_help, app.screen.why_off)}
    assert {"Show only problems", "Sort by drift", "Compare channels", "Filter", "Quit", "Mark", "Explain"} <= labels


async def test_every_binding_has_an_id_so_that_it_can_be_remapped() -> None:
    for screen in (CatalogScreen, ModuleScreen, ChannelMatrixScreen, ProblemsScreen):
        for binding in screen.BINDINGS:
            assert getattr(binding, "id", None), f"{screen.__name__}: {binding}"


async def test_columns_and_order_come_from_the_configuration_and_can_be_changed() -> None:
    session = StillSession(world())
    async with app_on(session, columns=("name", "state"), sort="state").run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert table(app).grid.shown == ("name", "state")
        assert shown(app)[0] == "istio", "the worst state comes first"
        assert isinstance(app.screen, FramedScreen)
        app.screen.command_line.run("columns drift name")
        assert table(app).grid.shown == ("drift", "name")
        app.screen.command_line.run("columns colour")
        assert app.problems[-1] == 'no column "colour"; type `:columns NAME…`'


def test_the_first_paint_waits_for_no_part_of_the_domain_that_it_does_not_need() -> None:
    code = "import sys, kymatui.ui.application.kymatui_app; print(*(n for n in sys.modules if 'kymatui.domain.' in n))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(found) <= {
        "kymatui.domain.snapshot",
        "kymatui.domain.snapshot.snapshots",
        "kymatui.domain.catalog",
        "kymatui.domain.kubernetes",
        "kymatui.moments",
        "kymatui.domain.kubernetes.refs",
        "kymatui.domain.kubernetes.terminal_text",
    }


async def test_a_line_about_no_module_says_so_instead_of_doing_nothing() -> None:
    forbidden = {"manifests.operator.kyma-project.io": Feed(FeedState.FORBIDDEN, b.NOW)}
    snapshot = replace(world(), feeds={**world().feeds, **forbidden})
    async with app_on(StillSession(snapshot)).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("P")
        await pilot.pause()
        table(app).move_to(next(row.key for row in rows(app) if row.key.startswith("\0")))
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ProblemsScreen)
        assert [one.message for one in app._notifications] == ["this line has no module"]


async def test_ages_advance_while_nothing_changes_and_only_their_lines_are_painted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        catalog, began = app.catalog, app.clock()
        assert catalog is not None
        before = {row.key: row.cells["age"].text for row in rows(app)}
        painted: list[object] = []
        monkeypatch.setattr(RowTable, "refresh", lambda table, *regions, **more: painted.append(regions))
        advance_ages(app.screen, began)
        assert painted == []
        app.clock = lambda: began + 86_400
        app._tick()
        after = {row.key: row.cells["age"].text for row in rows(app)}
        assert after == {row.name: format_age(row, began + 86_400) for row in catalog.rows}
        changed = [key for key in after if after[key] != before[key]]
        assert changed
        assert len(painted) == len(changed)
        assert app.catalog is catalog
        app._tick()
        assert len(painted) == len(changed)


async def test_ages_of_an_overview_advance_while_nothing_changes() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen) and bool(app.screen.query("#observed")))
        assert isinstance(app.screen, ModuleScreen)
        row, began = app.screen.module, app.clock()
        assert row is not None
        await until(pilot, lambda: f"age  {format_age(row, began)}" in text(app, "#observed"))
        app.clock = lambda: began + 86_400
        app._tick()
        assert f"age  {format_age(row, began + 86_400)}" in text(app, "#observed")
        assert format_age(row, began) != format_age(row, began + 86_400)


async def test_enter_on_a_problem_opens_the_very_object_that_it_names() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.catalog is not None
        opened = 0
        for problem in app.catalog.problems:
            app.ways.open(ScreenStep("problems"))
            await until(pilot, lambda: bool(app.screen.query("#problems")) and bool(rows(app)))
            key = next(row.key for row in rows(app) if row.cells["message"].text == problem.text)
            table(app).move_to(key)
            await pilot.press("enter")
            await until(pilot, lambda: not isinstance(app.screen, ProblemsScreen))
            if problem.ref is not None:
                opened += 1
                assert isinstance(app.screen, ObjectScreen)
                assert app.screen.ref == problem.ref
            else:
                assert app.screen.step == ScreenStep("module", problem.module, "overview")  # type: ignore[attr-defined]
            app.ways.climb_to(0)
            await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
        assert opened > 1


async def test_a_menu_opens_while_a_cluster_does_not_answer_and_is_completed_when_it_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = threading.Event()

    def items(*_: object) -> Iterator[MenuItem]:
        yield MenuItem("enable", "enable", off="already enabled")
        answer.wait(30)
        yield MenuItem("delete", "delete", destroys=True)
        yield MenuItem("edit", "edit")

    def reasons() -> dict[str, str]:
        return {row.key: row.cells["off"].text for row in app.screen.query_one(PlanTable).rows}

    monkeypatch.setattr(module_actions, "_items", items)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        assert reasons()["enable"] == "already enabled"
        assert reasons()["delete"] == reasons()["edit"] == "waiting for the cluster's answer"
        await pilot.press("enter")
        assert isinstance(app.screen, MenuScreen), "nothing can be chosen yet"
        answer.set()
        await until(pilot, lambda: reasons() == {"enable": "already enabled", "delete": "", "edit": ""})
        assert app.screen.query_one(PlanTable).cursor_key == "edit", "never on what deletes"


async def test_an_item_that_can_run_keeps_the_cursor_when_a_menu_is_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = threading.Event()

    def items(*_: object) -> Iterator[MenuItem]:
        yield MenuItem("enable", "enable")
        yield MenuItem("channel", "channel")
        answer.wait(30)
        yield MenuItem("edit", "edit")

    monkeypatch.setattr(module_actions, "_items", items)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, MenuScreen))
        menu = app.screen
        assert isinstance(menu, MenuScreen)
        menu.query_one(PlanTable).move_to("channel")
        answer.set()
        await until(pilot, lambda: menu.is_complete)
        assert menu.query_one(PlanTable).cursor_key == "channel"


@pytest.mark.parametrize("keys", [("slash", *"ke"), ("P",)], ids=["typing", "on another screen"])
async def test_a_menu_that_is_ready_late_takes_no_key_that_is_meant_for_something_else(
    monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    ready_at = threading.Event()

    def slow(*_: object) -> list[MenuItem]:
        ready_at.wait(20)
        return [MenuItem("enable", "enable")]

    monkeypatch.setattr(module_actions, "_items", slow)
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("a", *keys)
        await pilot.pause()
        here = app.screen
        ready_at.set()
        await until(pilot, lambda: bool(app._notifications))
        assert app.screen is here
        assert [one.message for one in app._notifications] == ["Actions for api-gateway are ready; press a to open"]
