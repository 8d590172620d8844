"""Ways between screens: crumbs, back and forward, commands, columns, and what every key does or why it does not."""

from __future__ import annotations

import random
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.binding import Binding
from textual.pilot import Pilot

from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.application.screen_registry import key_scopes
from kymatui.ui.base.screen_keys import key_help
from kymatui.ui.dialogs.columns_dialog import ColumnsScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.navigation.key_help import KeyScope
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.changes_screen import ChangesScreen
from kymatui.ui.screens.channel_matrix_screen import ChannelMatrixScreen
from kymatui.ui.screens.glossary_screen import GlossaryScreen
from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
from kymatui.ui.screens.module_screen import PANES, ModuleScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable
from kymatui.ui.widgets.row_table import RowTable
from kymatui.ui.widgets.top_line import TopLine
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, shown, table, text, text_of, until
from tests.ui.worlds import LIVE, StillSession, app_on, world


async def test_back_and_forward_lead_through_screens_and_tabs(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "x", "P", "left_square_bracket")
    await pilot.pause()
    assert app.shown is not None
    assert app.shown.step == ScreenStep("module", "btp-operator", "checks")
    for key, screen in (
        ("left_square_bracket", CatalogScreen),
        ("right_square_bracket", ModuleScreen),
        ("right_square_bracket", ProblemsScreen),
        ("minus", ModuleScreen),
        ("minus", ProblemsScreen),
    ):
        await pilot.press(key)
        await pilot.pause()
        assert type(app.screen) is screen


async def test_the_crumbs_are_the_screens_above_each_other_and_a_click_climbs(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("M", "enter")
    await pilot.pause()
    assert app.screen.query_one(TopLine).facts.trail == ("modules", "channels", "api-gateway")
    await pilot.click(TopLine, offset=(22, 0))
    await pilot.pause()
    assert isinstance(app.screen, ChannelMatrixScreen)
    await pilot.click(TopLine, offset=(12, 0))
    await pilot.pause()
    assert isinstance(app.screen, CatalogScreen)


PLACES = (
    ("module keda", ModuleScreen, "overview"),
    ("module keda events", ModuleScreen, "events"),
    ("tree istio", ModuleScreen, "resources"),
    ("xray istio", ModuleScreen, "resources"),
    ("channels", ChannelMatrixScreen, ""),
    ("errors", ProblemsScreen, ""),
    ("changes", ChangesScreen, ""),
    ("glossary", GlossaryScreen, ""),
    ("modules", CatalogScreen, ""),
)


async def test_commands_lead_everywhere(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    for line, screen, tab in PLACES:
        assert app.shown is not None
        app.shown.command_line.run(line)
        await pilot.pause()
        assert isinstance(app.screen, screen), line
        assert app.shown.step.tab == tab, line


async def test_a_command_that_cannot_be_done_says_what_it_wants(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert app.shown is not None
    lines = {
        "module": "module missing; choose api-gateway, ",
        "module nobody": 'no module "nobody"; choose api-gateway, ',
        "module kda": 'no module "kda"; did you mean keda?',
        "module keda kitchen": 'no tab "kitchen"; choose overview, ',
        "module keda evnets": 'no tab "evnets"; did you mean events?',
        "sort colour": 'no column "colour"; choose name, ',
        "sort stat": 'no column "stat"; did you mean state?',
        "sort name:down": 'no order "down"; choose asc, desc',
        "theme pink": 'no theme "pink"; choose ',
        "theme drak": 'no theme "drak"; did you mean dark',
        "columns drft": 'no column "drft"; did you mean drift?',
        "view up": 'no view "up"; choose ',
        "enable kda": 'no module "kda"; did you mean keda?',
        "channel keda fst": 'no channel or module "fst"; did you mean fast?',
        "enable keda natss": 'no channel or module "natss"; did you mean nats?',
        "policy keda Ingore": 'no policy "Ingore"; did you mean Ignore?',
        "label bta on": 'no label "bta"; did you mean beta?',
        "save x": "file name needs one of these endings: .csv, ",
    }
    for line, said in lines.items():
        app.shown.command_line.run(line)
        await until(pilot, lambda: bool(app.problems))
        assert isinstance(app.screen, CatalogScreen)
        assert app.problems.pop().startswith(said), line
    app.shown.command_line.run("problems")
    await pilot.pause()
    wrong = {word for line in lines for word in line.split()[1:]} - {"keda", "on", "name"}
    listed = [f"{row.cells['object'].text} {row.cells['message'].text}" for row in table(app).rows]
    assert not [line for line in listed for word in wrong if word in line.split()], "typing errors are no problems"


async def test_commands_are_completed_word_by_word(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("colon", *"module ke", "tab", "enter")
    await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
    assert app.shown is not None
    assert app.shown.step.about == "keda"


async def test_every_tab_is_reached_by_its_number_its_letter_and_tab(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "enter")
    await pilot.pause()
    assert isinstance(app.screen, ModuleScreen)
    for number, (key, pane) in enumerate(zip("dtxveyh", PANES, strict=True), 1):
        for press in (str(number), "1", key):
            await pilot.press(press)
        assert isinstance(app.screen.pane, pane)
    await pilot.press("tab")
    assert app.screen.step.tab == "overview"
    await pilot.press("shift+tab")
    assert app.screen.step.tab == "history"


async def test_the_tree_is_folded_and_leads_to_the_yaml_of_an_object(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press(*"jjjjj", "t")
    await pilot.pause()
    tree = app.screen.query_one("#tree", LiveTable)
    whole = len(tree.rows)
    assert [row.cells["object"].text.strip(" │├└─▾") for row in tree.rows][7:10] == [
        "istio-manager",
        "ReplicaSet istio-manager-7d4b",
        "Pod istio-manager-7d4b-x2x",
    ]
    await pilot.press("left")
    assert len(tree.rows) == 2
    await pilot.press("right")
    assert len(tree.rows) == whole
    await pilot.press(*"jjjjjjj", "enter")
    await until(pilot, lambda: bool(app.screen.query(Document)))
    await pilot.pause()
    assert "name: istio-manager" in "\n".join(app.screen.query_one(Document).lines)


async def test_long_texts_are_scrolled_with_the_keys_of_lists() -> None:
    async with app_on(StillSession(world())).run_test(size=(80, 14)) as pilot:
        app = await ready(pilot)
        await pilot.press("j", "enter")
        await pilot.pause()
        overview = app.screen.query_one("#overview-scroll")
        await pilot.press("j", "j")
        await until(pilot, lambda: overview.scroll_offset.y == 2)
        await pilot.press("G")
        await until(pilot, lambda: overview.scroll_offset.y == overview.max_scroll_y)
        await pilot.press("question_mark")
        await pilot.pause()
        await pilot.press("space")
        await until(pilot, lambda: app.screen.query_one("#help").scroll_offset.y > 2)


async def test_pods_are_asked_for_only_while_a_tree_is_seen() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        await ready(pilot)
        await pilot.press(*"jjjjj", "enter")
        await until(pilot, lambda: bool(session.looked_at))
        assert session.grown_from == ()
        await pilot.press("t")
        await until(pilot, lambda: bool(session.grown_from))
        await pilot.press("1")
        await until(pilot, lambda: session.grown_from == ())
        assert session.looked_at


async def test_what_changes_meanwhile_is_in_the_history() -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("H")
        await until(pilot, lambda: bool(table(app).rows))  # what Kubernetes still knows of the time before
        resources = {**world().module_resources, b.gvk("api-gateway"): (b.resource("api-gateway", "Error"),)}

        def changes() -> list[tuple[str, str]]:
            return [(row.cells["what"].text, row.cells["after"].text) for row in table(app).rows]

        assert ("state", "✖ Error") not in changes()
        session.show(module_resources=resources)
        await until(pilot, lambda: changes()[:1] == [("state", "✖ Error")])
        await pilot.press("enter")
        await pilot.pause()
        assert app.shown is not None
        assert app.shown.step.tab == "history"


async def test_versions_are_compared_with_the_one_that_was_chosen(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("v")
    await pilot.pause()
    assert "3.4.1 to 3.6.0" in text(app, "#changes")
    await pilot.press("b", "j")
    await pilot.pause()
    assert "3.6.0 to 3.4.1" in text(app, "#changes")
    assert "a downgrade" in text(app, "#changes")


@pytest.mark.parametrize(("tab", "wanted", "left"), [("t", "Deployment", 4), ("x", "yellow", 0), ("e", "zzz", 0)])
async def test_tables_in_tabs_are_filtered_and_escape_shows_all_again(
    tab: str, wanted: str, left: int, pilot: Pilot[Any]
) -> None:
    app = await ready(pilot)
    await pilot.press(*"jjjjj", tab)
    await pilot.pause()
    assert app.shown is not None
    found = app.shown.filter_line.table
    assert found is not None
    everything = len(found.rows)
    await pilot.press("slash", *wanted, "enter")
    await pilot.pause()
    assert len(found.rows) == min(left, everything)
    await pilot.press("escape")
    assert len(found.rows) == everything
    assert isinstance(app.screen, ModuleScreen)


async def test_what_is_copied_can_be_pasted(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "c")
    assert app.clipboard == "btp-operator"
    await pilot.press("space", "space", "c", "ctrl+backslash", "k", "k")
    assert app.clipboard == "btp-operator\ncloud-logging"
    await pilot.press("Y")
    await until(pilot, lambda: bool(app.screen.query("#choice-form")))
    await pilot.press("G", "enter")
    await until(pilot, lambda: app.clipboard.startswith("NAME\tSOURCE\t"))
    await pilot.press("y")
    await pilot.pause()
    await pilot.press("c")
    assert app.clipboard.startswith("apiVersion: operator.kyma-project.io/v1alpha1\nkind: BtpOperator\n")
    await pilot.press("escape", "P")
    await pilot.pause()
    await pilot.press("c")
    assert app.clipboard.startswith("error\tistio")


async def test_yaml_and_pictures_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]) -> None:
    monkeypatch.chdir(tmp_path)
    app = await ready(pilot)
    await pilot.press("j", "y")
    await pilot.pause()
    assert app.shown is not None
    app.shown.command_line.run("save it.yaml")
    app.shown.command_line.run("save it.svg")
    assert "kind: BtpOperator" in (tmp_path / "it.yaml").read_text()
    assert (tmp_path / "it.svg").read_text().startswith("<svg")


# columns


async def test_columns_are_chosen_moved_and_taken(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("C")
    await until(pilot, lambda: isinstance(app.screen, ColumnsScreen))
    await pilot.press("j", "space", "k", "greater_than_sign", "enter")
    await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
    assert table(app).grid.shown[:2] == ("name", "channel")
    assert "source" not in table(app).grid.shown


@pytest.mark.parametrize("keymap", [{}, {"columns.left": "u", "columns.right": "d"}])
async def test_the_keys_that_the_columns_dialog_names_are_its_keys(keymap: dict[str, str]) -> None:
    async with app_on(StillSession(world()), keys=keymap).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, ColumnsScreen))
        dialog = app.screen
        assert isinstance(dialog, ColumnsScreen)
        await until(pilot, lambda: "move" in text(app, "#columns-keys"))
        named = text(app, "#columns-keys")
        left, right = ("u", "d") if keymap else ("<", ">")
        assert f"{left} {right} move" in named
        before = dialog.chosen
        await pilot.press(right)
        assert dialog.chosen == (before[1], before[0], *before[2:])
        await pilot.press(left)
        assert dialog.chosen == before
        for key, words in (("space", "show or hide"), ("enter", "apply"), ("ctrl-s", "apply and save")):
            assert f"{key} {words}" in named


async def test_columns_are_kept_in_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text('# mine\ntheme = "dark"\n')
    monkeypatch.setenv("KYMATUI_CONFIG", str(path))
    async with app_on(StillSession(world()), columns=("name", "state", "age")).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, ColumnsScreen))
        await pilot.press("greater_than_sign", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
        assert table(app).grid.shown == ("state", "name", "age")
    assert tomllib.loads(path.read_text()) == {"theme": "dark", "columns": ["state", "name", "age"]}
    assert "# mine" in path.read_text()


async def test_the_last_column_stays() -> None:
    async with app_on(StillSession(world()), columns=("name",)).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(app.screen, ColumnsScreen))
        await pilot.press("space", "enter")
        await until(pilot, lambda: isinstance(app.screen, CatalogScreen))
        assert table(app).grid.shown == ("name",)


async def test_any_column_sorts_by_key_and_by_click(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("O", "O")
    assert isinstance(found := table(app), LiveTable)
    assert found.order is not None
    assert found.order.column == "channel"
    await pilot.press("N", "R")
    assert shown(app)[0] == "serverless"
    await pilot.click(RowTable, offset=(2, 0))
    assert shown(app)[0] == "api-gateway"


async def test_labels_filter_modules(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert app.shown is not None
    app.shown.command_line.run("filter -l managed-by=kyma")
    assert "docker-registry" not in shown(app)
    assert "keda" in shown(app)
    app.shown.command_line.run("filter -l operator.kyma-project.io/managed-by!=kyma")
    assert shown(app) == ["docker-registry"]


# what is off, and why


async def test_keys_that_are_off_say_why_and_stand_in_the_help(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert app.shown is not None
    off = {key.label: key.off for key in key_help(app.shown, app.shown.name_in_help, app.shown.why_off) if key.off}
    assert off["Back"] == "this is the first screen"
    assert off["Back in history"] == "no earlier view"
    await pilot.press("P")
    await pilot.pause()
    off = {key.label: key.off for key in key_help(app.shown, app.shown.name_in_help, app.shown.why_off) if key.off}
    assert "Back" not in off


async def test_the_help_shows_the_ids_by_which_keys_are_remapped(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("question_mark")
    await pilot.pause()
    keys = app.screen.query(Facts)
    assert not any("catalog.explain" in text_of(one) for one in keys)
    await pilot.press("i")
    assert any("catalog.explain" in text_of(one) for one in keys)


async def test_a_key_that_is_given_away_twice_is_a_problem() -> None:
    keys = {"app.channels": "x", "app.qiut": "f10"}
    async with app_on(StillSession(world()), keys=keys).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.problems == [
            'keys: no binding "app.qiut"; did you mean app.quit?',
            "keys: x is assigned to both app.channels and catalog.explain; only one of them works",
            "keys: x is assigned to both app.channels and module.checks; only one of them works",
        ]


async def test_keys_that_are_exchanged_are_no_problem() -> None:
    keys = {"catalog.explain": "t", "catalog.tree": "x"}
    async with app_on(StillSession(world()), keys=keys).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.problems == []
        await pilot.press("t")
        await pilot.pause()
        assert app.shown is not None
        assert app.shown.step.tab == "checks"


async def test_what_is_malformed_is_listed_with_the_reason() -> None:
    odd = {"apiVersion": b.API, "kind": "ModuleTemplate", "metadata": {"name": "odd-1", "namespace": "x"}, "spec": 7}
    session = StillSession(replace(world(), templates=(*world().templates, odd)))
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert "keda" in shown(app)
        await pilot.press("P")
        await pilot.pause()
        assert any("x/odd-1 is malformed: spec is not an object" in key for key in shown(app))


@pytest.mark.parametrize(
    ("read_only", "state", "reason"),
    [
        (True, FeedState.LIVE, "kymatui runs read-only"),
        (False, FeedState.STALE, "the data is out of date"),
        (False, FeedState.LIVE, ""),
    ],
)
async def test_what_writes_is_off_with_the_reason(read_only: bool, state: FeedState, reason: str) -> None:
    session = StillSession(replace(world(), feeds={name: Feed(state, b.NOW - 42) for name in LIVE}))
    session.read_only = read_only
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        assert app.shown is not None
        done: list[str] = []
        command = ScreenCommand("destroy", "", lambda _: done.append("destroyed"), writes=True)
        app.shown.command_line.commands = lambda: [command]  # type: ignore[method-assign]
        app.shown.command_line.run("destroy")
        assert done == ([] if reason else ["destroyed"])
        assert app.problems == ([f"`:destroy` is disabled: {reason}"] if reason else [])
        type(app.shown).WRITES, before = frozenset({"columns"}), type(app.shown).WRITES
        try:
            assert app.shown.why_off("columns") == reason
        finally:
            type(app.shown).WRITES = before


@pytest.mark.parametrize(("count", "said"), [(1, "Only Kyma kcp-system/one; "), (13, ", 1 of 13; ")])
@pytest.mark.parametrize("columns", [60, 120])
async def test_the_catalog_of_a_control_plane_names_its_kyma_and_the_way_on(
    count: int, said: str, columns: int
) -> None:
    there = "kcp-system"
    names = ["one", *(f"other-{number}" for number in range(1, count))]
    snapshot = b.snapshot(
        kymas=[b.kyma([{"name": "mod"}], name=name, namespace=there) for name in names],
        templates=[b.template("mod", "1.0.0", namespace=there)],
        release_metas=[b.meta("mod", {"regular": "1.0.0"}, namespace=there)],
    )
    session = StillSession(replace(snapshot, feeds=LIVE))
    async with app_on(session).run_test(size=(columns, 24)) as pilot:
        app = await ready(pilot)
        banner = text(app, "#banner")
        assert said in banner
        assert banner.endswith("`:fleet runtimes` lists its runtimes")
        assert len(table(app).rows) == 1
        session.show(feeds={name: Feed(FeedState.STALE, b.NOW - 42) for name in LIVE})
        await until(pilot, lambda: "42s old" in text(app, "#banner"))


async def test_the_catalog_of_a_runtime_names_no_kyma() -> None:
    async with app_on(StillSession(replace(world(), feeds=LIVE))).run_test(size=SIZE) as pilot:
        assert text(await ready(pilot), "#banner") == ""


ACTION_KEYS = ("a", "m", "i", "u", "E", "ctrl+d")
ACTION_COMMANDS = ("act", "delete keda", "enable keda", "upgrade all", "label beta on")


@pytest.mark.parametrize("screen", [(), ("enter",)], ids=["catalog", "module"])
@pytest.mark.parametrize("read_only", [False, True])
async def test_every_action_immediately_says_that_the_data_is_out_of_date(
    read_only: bool, screen: tuple[str, ...]
) -> None:
    session = StillSession(replace(world(), feeds={name: Feed(FeedState.STALE, b.NOW - 42) for name in LIVE}))
    session.read_only = read_only
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        app.read_only = read_only
        await pilot.press(*screen)
        await pilot.pause()
        for key in ACTION_KEYS:
            await pilot.press(key)
        await until(pilot, lambda: len(app._notifications) == len(ACTION_KEYS))
        assert app.shown is not None
        for line in ACTION_COMMANDS:
            app.shown.command_line.run(line)
        reason = "kymatui runs read-only" if read_only else "the data is out of date"
        said = [one.message for one in app._notifications]
        edit = ACTION_KEYS.index("E")
        assert said.pop(edit).endswith(f" is disabled: {reason}")
        assert all(one.endswith(" is disabled: the data is out of date") for one in said), said
        assert not app.jobs.busy
        session.show(feeds=LIVE)
        await until(pilot, lambda: app.shown is not None and not app.shown.why_off("module", "menu"))


# escape leaves a line of text before it leaves the screen; a question is left, not the program
TAKEN_OVER = {"escape", "q", "J"}
SCREENS = (CatalogScreen, ModuleScreen, ChannelMatrixScreen, ProblemsScreen, ChangesScreen, JobsScreen, JobScreen)


@pytest.mark.parametrize("owner", [*SCREENS, *PANES, LiveTable, RowTable, Document, ColumnsScreen])
def test_every_key_has_a_name_a_description_and_an_action(owner: type) -> None:
    for kind in owner.__mro__:
        for binding in vars(kind).get("BINDINGS", ()):
            if not kind.__module__.startswith("kymatui"):
                continue
            assert isinstance(binding, Binding)
            assert binding.id, f"{binding} cannot be remapped"
            assert binding.description, f"{binding.id} is not in the help"
            action = binding.action.partition("(")[0]
            known = hasattr(owner, f"action_{action}") or action in ("quit", "dismiss")
            assert known, f"{binding.id}: there is no action {action}"


@pytest.mark.parametrize("one", list(key_scopes(KymatuiApp)), ids=lambda one: next(reversed(one)))
def test_no_two_actions_of_one_screen_want_the_same_key(one: KeyScope) -> None:
    wanted = Counter(key for keys in one.values() for key in keys)
    shared = {key for key, count in wanted.items() if count > 1}
    assert shared <= TAKEN_OVER, "which of them acts is chance"


def test_only_a_plan_that_is_accepted_leads_to_a_write() -> None:
    assert {screen.__name__ for screen in (*SCREENS, PlanScreen) if screen.WRITES} == {"PlanScreen"}
    assert {"accept"} == PlanScreen.WRITES


PRESSED = (*"jkgGdtxveyhcYONSADRMPHobwzJKC0123456789", "enter", "escape", "tab", "shift+tab", "space", "left", "right")
PRESSED_TOO = (
    "ctrl+z",
    "left_square_bracket",
    "right_square_bracket",
    "minus",
    "question_mark",
    "slash",
    "colon",
    "ctrl+p",
)


@pytest.mark.parametrize(("seed", "size"), [(1, (80, 24)), (2, (24, 6))])
async def test_no_row_of_keys_ends_the_program(seed: int, size: tuple[int, int]) -> None:
    chance = random.Random(seed)
    async with app_on(StillSession(world())).run_test(size=size) as pilot:
        app = await ready(pilot)
        for _ in range(40):
            await pilot.press(chance.choice((*PRESSED, *PRESSED_TOO)))
        assert app.is_running
        assert app.return_code is None
