"""The plan on the screen: what is shown, and how a person agrees."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.actions.modules.install_choices import InstallStatus
from kymatui.domain.fleet.campaigns import CampaignOutcome, CampaignPace, CampaignStep
from kymatui.domain.inventories import Inventory, Origin
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.plans.plan_preview import PlannedChange, Preview, PreviewAnswer, PreviewLine, PreviewVerdict
from kymatui.engine.bundles.bundle import Bundle
from kymatui.engine.plans.plan import Action, FieldDiff, Grant, Intent, Plan, Step
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.dialogs.choice_dialog import ConfirmScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.presenters.fleet.campaign_preview import preview_campaign
from kymatui.ui.presenters.plans.install_preview import object_diff, preview_install
from kymatui.ui.widgets.plan_widgets import DiffView, PlanTable
from tests.ui.driving import SIZE, ready, text, until
from tests.ui.previews import LINES, PREVIEW
from tests.ui.worlds import StillSession, app_on, world

PLAIN = replace(PREVIEW, consents=(), missing=(), grants=(), warnings=())


class Asked:
    """The app with a plan on it, and what came of it."""

    def __init__(self, pilot: Pilot[Any], app: KymatuiApp) -> None:
        self.pilot, self.app = pilot, app
        self.answers: list[PreviewAnswer | None] = []

    async def show(self, preview: Preview, outdated: Callable[[], str] = str) -> None:
        self.app.push_screen(PlanScreen(preview, outdated), self.answers.append)
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()


def lines(app: KymatuiApp) -> list[str]:
    return [row.cells["mark"].text + row.cells["name"].text for row in app.screen.query_one(PlanTable).rows]


async def test_enter_asks_and_only_y_agrees(pilot: Pilot[Any]) -> None:
    asked = Asked(pilot, await ready(pilot))
    for keys, verdict in (
        (("enter", "enter", "escape"), PreviewVerdict.CANCELLED),
        (("enter", "n", "escape"), PreviewVerdict.CANCELLED),
        (("enter", "y"), PreviewVerdict.ACCEPTED),
        (("e",), PreviewVerdict.EDITED),
    ):
        await asked.show(PLAIN)
        for key in keys:
            await asked.press(key)
        assert asked.answers[-1] == PreviewAnswer(verdict), keys


async def test_what_destroys_is_counted_first_and_the_difference_follows_the_cursor(pilot: Pilot[Any]) -> None:
    asked = Asked(pilot, app := await ready(pilot))
    await asked.show(PREVIEW)
    summary = "1 to create, 1 to change, 1 to delete, 1 conflict, 2 unchanged"
    assert text(app, "#plan-head").splitlines()[1] == PREVIEW.summary == summary
    lacking = f"missing permission: {PREVIEW.missing[0]}\n{PREVIEW.role}; R saves what is missing"
    assert lacking in text(app, "#plan-words")
    await asked.press("tab", "n")
    assert [*app.screen.query_one(DiffView).lines][-2:] == ["+   maxSize: 20Gi", "    mode: internal"]
    await asked.press("n", "n")
    assert "  delete: not in this version" in app.screen.query_one(DiffView).lines
    await asked.press("N", "N")
    assert app.screen.query_one(PlanTable).cursor_key == "2"
    await asked.press("o")
    assert len(lines(app)) == sum(line.mark is not PlannedChange.SAME for line in LINES)


async def test_lines_without_differences_have_the_whole_width_and_toasts_do_not_cover_the_warnings(
    pilot: Pilot[Any],
) -> None:
    long = PreviewLine(PlannedChange.DELETE, f"CustomResourceDefinition {'a' * 60}.example.com", "not in this version")
    pilot.app.notify("context prod-eu", timeout=600)
    pilot.app.push_screen(PlanScreen(replace(PREVIEW, lines=(long,))))
    await until(pilot, lambda: bool(pilot.app.screen.query(PlanTable)))
    await until(pilot, lambda: bool(pilot.app.screen.query_one(PlanTable).size.width))
    screen = pilot.app.screen
    panes, table, detail = (screen.query_one(name) for name in ("#plan-panes", "#plan-lines", "#plan-diff"))
    assert table.size.width == panes.size.width
    assert detail.region.y >= table.region.bottom
    assert table.size.height >= 1
    assert not list(pilot.app._notifications)


async def test_what_must_be_agreed_to_is_ticked_and_typed_before_anybody_is_asked(pilot: Pilot[Any]) -> None:
    asked = Asked(pilot, app := await ready(pilot))
    await asked.show(replace(PREVIEW, missing=()))
    for keys, said in (
        (("enter",), "Tick the box first (space)"),
        (("space", "enter"), "Type docker-registry first"),
        ([*"docker-registr", "enter"], "Type docker-registry first"),
    ):
        await asked.press(*keys)
        assert isinstance(app.screen, PlanScreen)
        assert text(app, "#plan-off") == said
    await asked.press("y", "enter")
    assert isinstance(app.screen, ConfirmScreen)
    await asked.press("y")
    assert asked.answers == [PreviewAnswer(PreviewVerdict.ACCEPTED, frozenset({"force", "prune"}))]


TICKS = tuple(replace(PREVIEW.consents[0], id=name, message=name, typed="") for name in ("one", "two"))


@pytest.mark.parametrize("tabs", [0, 1], ids=["from the objects", "from the difference"])
async def test_space_agrees_wherever_the_keyboard_is(pilot: Pilot[Any], tabs: int) -> None:
    asked = Asked(pilot, app := await ready(pilot))
    await asked.show(replace(PREVIEW, missing=(), consents=TICKS))
    screen = app.screen
    assert isinstance(screen, PlanScreen)
    await asked.press(*["tab"] * tabs)
    for agreed in ({"one"}, {"one"} ^ {"one"}, {"one"}):
        await asked.press("space")
        assert screen.ticked == agreed
    await asked.press("tab", "space")
    assert screen.ticked == {"one", "two"}
    await asked.press("enter")
    assert isinstance(app.screen, ConfirmScreen)
    await asked.press("n", "escape")


async def test_keys_that_are_off_say_why(pilot: Pilot[Any]) -> None:
    asked = Asked(pilot, app := await ready(pilot))
    await asked.show(replace(PLAIN, editable=False, document=None))
    said = []
    for key in ("space", "e"):
        app.clear_notifications()
        await asked.press(key)
        said += [one.message for one in app._notifications]
    assert said == ["Tick is disabled: no box to tick", "Change options is disabled: no options"]


@pytest.mark.parametrize(
    ("preview", "outdated", "read_only", "why"),
    [
        (replace(PLAIN, refusals=("keda is mandatory",)), "", False, "plan refused; no changes made"),
        (PLAIN, "somebody else changed it", False, "somebody else changed it; press e to plan again"),
        (PLAIN, "", True, "kymatui runs read-only"),
        (replace(PLAIN, missing=PREVIEW.missing), "", False, "permissions missing; no changes made"),
        (replace(PLAIN, refusals=("keda is mandatory",)), "", True, "kymatui runs read-only"),
        (PLAIN, "somebody else changed it", True, "kymatui runs read-only"),
        (replace(PLAIN, missing=PREVIEW.missing), "", True, "kymatui runs read-only"),
    ],
    ids=[
        "refused",
        "outdated",
        "read-only",
        "no-right",
        "refused-read-only",
        "outdated-read-only",
        "no-right-read-only",
    ],
)
async def test_a_plan_that_cannot_be_carried_out_is_shown_with_the_reason(
    preview: Preview, outdated: str, read_only: bool, why: str
) -> None:
    session = StillSession(world())
    session.read_only = read_only
    async with app_on(session).run_test(size=SIZE) as pilot:
        asked = Asked(pilot, app := await ready(pilot))
        await asked.show(preview, lambda: outdated)
        assert why in text(app, "#plan-off")
        await asked.press("enter")
        assert isinstance(app.screen, PlanScreen)
        await asked.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await asked.press("escape", "escape")
        assert asked.answers == [PreviewAnswer(PreviewVerdict.CANCELLED)]


async def test_a_plan_is_kept_where_nobody_else_may_read_it_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pilot: Pilot[Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = Asked(pilot, app := await ready(pilot))
    await asked.show(PLAIN)
    await asked.press("ctrl+s", "ctrl+s")
    path = tmp_path / "docker-registry.plan.json"
    assert path.read_bytes() == b"{}"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert app.problems == ["docker-registry.plan.json already exists; not overwritten"]


async def test_every_part_is_reached_with_tab_at_sixty_columns() -> None:
    async with app_on(StillSession(world())).run_test(size=(60, 24)) as pilot:
        asked = Asked(pilot, app := await ready(pilot))
        await asked.show(PREVIEW)
        reached = []
        for _ in range(4):
            reached.append(type(app.focused).__name__)
            await asked.press("tab")
        assert reached == ["Input", "PlanTable", "DiffView", "Tick"]
        assert all(widget.size.height > 0 for widget in app.screen.query("PlanTable, DiffView, Tick, Input"))


def test_what_is_large_is_read_as_yaml_line_by_line() -> None:
    ref = ObjectRef(GroupVersionKind("apps", "v1", "Deployment"), "default", "shop")
    changes = (FieldDiff("spec.replicas", 1, 2), FieldDiff("spec.selector", None, {"matchLabels": {"app": "shop"}}))
    assert list(object_diff(Step(Action.CHANGE, ref, 0, changes=changes))) == [
        "- spec.replicas: 1",
        "+ spec.replicas: 2",
        "+ spec.selector:",
        "+   matchLabels:",
        "+     app: shop",
    ]


def test_a_text_of_several_lines_is_compared_line_by_line() -> None:
    ref = ObjectRef(GroupVersionKind("", "v1", "ConfigMap"), "default", "shop")
    changes = (FieldDiff("data.a", "x: 1\ny: 2\n", "x: 1\ny: 3\n"), FieldDiff("data.b", None, "z: 1\n"))
    assert list(object_diff(Step(Action.CHANGE, ref, 0, changes=changes))) == [
        "  data.a:",
        "    …",
        "    x: 1",
        "-   y: 2",
        "+   y: 3",
        "    ",
        "+ data.b: |",
        "+   z: 1",
    ]


@pytest.mark.parametrize(("finished", "cut_off"), [(True, False), (False, True)])
def test_an_upgrade_names_both_versions_and_a_run_that_was_cut_off_only_where_one_was(
    finished: bool, cut_off: bool
) -> None:
    origin = Origin("template", "keda")
    bundle = Bundle("keda", "kyma-system", origin, "1.5.0")
    plan = Plan("test", Intent(bundle), (), first=False, made_at=0.0, unfinished=True)
    known = Inventory("keda", "kyma-system", origin, "1.4.0", finished=finished)
    shown = preview_install([plan], [InstallStatus("keda", (), "", known, ("1.5.0",))])
    assert (shown.title, shown.file_name) == ("upgrade keda 1.4.0 → 1.5.0", "upgrade-keda-1.5.0.json")
    assert any("interrupted" in words for words in shown.warnings) is cut_off


def test_upgrades_of_contexts_name_the_permissions_that_they_grant_once() -> None:
    ref = ObjectRef(GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", "manager")
    grant = Grant("ClusterRole manager", ("ServiceAccount keda/manager",), warnings=("read all Secrets",))
    plan = Plan(
        "test",
        Intent(Bundle("keda", "kyma-system", Origin("raw", "keda"), "1.5.0")),
        (Step(Action.CHANGE, ref, 0),),
        first=False,
        made_at=0.0,
        grants=(grant,),
    )
    steps = [CampaignStep(f"context/{name}", CampaignOutcome.PLANNED, is_context=True) for name in ("a", "b")]
    shown = preview_campaign(steps, "upgrade keda", CampaignPace(1, 1), lambda _: [plan])
    assert shown.grants == ("ClusterRole manager: read all Secrets",)
    assert all("  change ClusterRole manager" in line.diff for line in shown.lines)
