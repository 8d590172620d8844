"""Names and messages of a cluster that look like markup: every screen and dialog displays them as they are.

`_no_markup` in conftest checks in every test of the UI that nothing is parsed; these tests bring the names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.screen import Screen

from kymatui.adapters.files.plugin_process import PluginProcess
from kymatui.domain.kubernetes.refs import GroupVersionKind, ObjectRef
from kymatui.domain.kubernetes.schema_forms import FieldKind, FormField
from kymatui.domain.plans.cluster_target import ClusterTarget
from kymatui.domain.plans.jobs import Job, JobState, JobStep, LogLine, StepState
from kymatui.domain.plans.plan_preview import Consent, PlannedChange, Preview, PreviewLine
from kymatui.domain.rights import RequiredPermission
from kymatui.domain.snapshot.snapshots import Snapshot
from kymatui.engine.cluster.logins import Login
from kymatui.errors import KymatuiError
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.application.screen_registry import KINDS
from kymatui.ui.base.first_paint import FirstPaintModal
from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.dialogs.action_menu import MenuItem, MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.dialogs.columns_dialog import ColumnsScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.login_dialog import LoginScreen
from kymatui.ui.dialogs.output_dialog import OutputScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.history import COMPONENT, ScreenStep, content_step, logs_step, object_step
from kymatui.ui.navigation.key_help import KeyHelp
from kymatui.ui.screens.module_screen import PANES
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question
from tests.domain import builders as b
from tests.ui import fleets
from tests.ui.driving import SIZE, ready, shown, until
from tests.ui.fleets import StillFleet, fleet_app
from tests.ui.test_logs import LoggingSession
from tests.ui.test_plain_widgets import subclasses
from tests.ui.worlds import app_on, world

TEXTS = {
    "istio": "[@click=app.quit]istio[/]",
    "keda": "keda[/]",
    "btp-operator": "[link=file:///etc/passwd]btp[/link]",
    "not found": "[bold red]not found[/nope] [$primary",
    "prod-eu": "prod[/]eu",
}
MODULE = TEXTS["istio"]
EVIL = "".join(TEXTS.values())


def poisoned(value: Any) -> Any:
    """Return a value with the texts of `TEXTS` replaced, wherever they are in it."""
    if isinstance(value, str):
        for plain, hostile in TEXTS.items():
            value = value.replace(plain, hostile)
        return value
    if isinstance(value, GroupVersionKind):
        return value
    if isinstance(value, Mapping):
        return {poisoned(key): poisoned(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(poisoned, value))
    return value


def poisoned_world() -> Snapshot:
    plain = world()
    names = set(Snapshot.__struct_fields__) - {"feeds"}
    return replace(plain, **{name: poisoned(getattr(plain, name)) for name in names})


class HostileSession(LoggingSession):
    name = TEXTS["prod-eu"]
    target = ClusterTarget(TEXTS["prod-eu"], f"api.{EVIL}", EVIL)


@pytest.fixture
def app() -> KymatuiApp:
    return app_on(HostileSession(poisoned_world()))


def displayed(screen: Screen[Any]) -> str:
    """Return the texts of a screen as they are drawn."""
    lines = [strip.text for strip in screen._compositor.render_strips()]
    return "\n".join(lines)


async def test_hostile_names_are_in_the_catalog(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    assert {TEXTS["istio"], TEXTS["keda"], TEXTS["btp-operator"]} <= set(shown(app))
    assert MODULE in displayed(app.screen)
    assert TEXTS["prod-eu"] in displayed(app.screen)


OBJECT = ObjectRef(b.gvk("istio"), "kyma-system", EVIL)
STEPS = {
    "modules": ScreenStep("modules"),
    **{pane.TITLE: ScreenStep("module", MODULE, pane.TITLE) for pane in PANES},
    "logs": ScreenStep("logs", MODULE),
    "delete": ScreenStep("delete", MODULE),
    "object": object_step(OBJECT),
    "object-logs": logs_step(OBJECT),
    **{kind: ScreenStep(kind) for kind in ("channels", "problems", "changes", "jobs", "ctx", "glossary")},
    "component": ScreenStep(COMPONENT, f"host//{EVIL}:1.0.0"),
    "content": content_step(f"host//{EVIL}:1.0.0", None),
}


def test_every_kind_of_screen_is_opened() -> None:
    assert {step.kind for step in STEPS.values()} == set(KINDS) - {"job"}


def is_shown(app: KymatuiApp, kind: str) -> bool:
    return app.shown is not None and app.shown.step.kind == kind and app.shown.frame.is_whole


@pytest.mark.parametrize("name", STEPS)
async def test_a_screen_displays_hostile_names(pilot: Pilot[Any], name: str) -> None:
    app = await ready(pilot)
    step = STEPS[name]
    app.ways.open(step)
    await until(pilot, partial(is_shown, app, step.kind))
    if step.about == MODULE:
        assert MODULE in displayed(app.screen)
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen))


async def test_a_job_displays_hostile_names(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    job = Job(
        *(1, f"delete {EVIL}", MODULE),
        state=JobState.FAILED,
        steps=(JobStep(EVIL, StepState.RUNNING, b.NOW - 190),),
        waits_for=EVIL,
        message=EVIL,
        created=b.NOW - 210,
        began=b.NOW - 200,
        log=(LogLine(b.NOW - 190, EVIL, EVIL),),
    )
    app.jobs.deliver((job,))
    for kind, about in (("jobs", ""), ("job", "1")):
        app.ways.open(ScreenStep(kind, about))
        await until(pilot, partial(is_shown, app, kind))
        await until(pilot, lambda: MODULE in displayed(app.screen))


async def test_the_palette_displays_hostile_names(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("ctrl+p", *"istio")
    palette = app.screen
    assert isinstance(palette, CommandPalette)
    await until(pilot, lambda: f":logs {MODULE}" in displayed(palette))


FLEET_KEYS = {"fleet": "j", "groups": "B", "matrix": "v", "waits": "w", "recent": "h", "problems": "P"}


@pytest.mark.parametrize("keys", FLEET_KEYS.values(), ids=FLEET_KEYS)
async def test_a_fleet_displays_hostile_names(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    for name in ("KYMAS", "METAS", "TEMPLATES"):
        monkeypatch.setattr(fleets, name, poisoned(getattr(fleets, name)))
    monkeypatch.setattr(StillFleet, "name", TEXTS["prod-eu"])
    monkeypatch.setattr(StillFleet, "target", ClusterTarget(TEXTS["prod-eu"], f"api.{EVIL}"))
    async with fleet_app(StillFleet()).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press(*keys, "question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        assert TEXTS["prod-eu"] in displayed(app.screen_stack[-2])


# Every dialog, with a hostile text wherever it takes one.
LINE = PreviewLine(PlannedChange.DELETE, EVIL, EVIL, (f"- {EVIL}", f"+ {EVIL}"))
PREVIEW = Preview(
    *(EVIL, (LINE,), EVIL, (), (EVIL,), (RequiredPermission(EVIL, GroupVersionKind(EVIL, EVIL, EVIL), EVIL, EVIL),)),
    grants=(EVIL,),
    consents=(Consent("one", EVIL), Consent("two", EVIL, typed=EVIL)),
    question=EVIL,
    kymas=(EVIL,),
)


def hostile_login() -> LoginScreen:
    login = Login(EVIL, EVIL, 600.0)
    login.add(EVIL)
    return LoginScreen(login, lambda address: None)


DIALOGS: dict[type[Screen[Any]], Callable[[], Screen[Any]]] = {
    ChoiceScreen: lambda: ChoiceScreen(EVIL, [Question("a", EVIL, (ChoiceOption(EVIL, EVIL, EVIL),), EVIL)]),
    ColumnsScreen: lambda: ColumnsScreen(("name", "state")),
    ConfirmScreen: lambda: ConfirmScreen(EVIL, EVIL, targets=[ClusterTarget(EVIL, EVIL, EVIL)]),
    FormScreen: lambda: FormScreen(EVIL, [FormField((EVIL,), FieldKind.TEXT, EVIL, EVIL, (EVIL,))], {EVIL: EVIL}),
    HelpScreen: lambda: HelpScreen(EVIL, [KeyHelp(EVIL, "a", EVIL, EVIL, EVIL)], [command(EVIL)]),
    LoginScreen: hostile_login,
    OutputScreen: lambda: OutputScreen(EVIL, PluginProcess('printf %s "$NAME"', {"NAME": EVIL.replace("\0", "")})),
    MenuScreen: lambda: MenuScreen(EVIL, [MenuItem(EVIL, EVIL, "a", EVIL), MenuItem("b", EVIL)], EVIL),
    PlanScreen: lambda: PlanScreen(PREVIEW, lambda: EVIL),
}


def refused() -> PlanScreen:
    return PlanScreen(replace(PREVIEW, refusals=(EVIL,)))


def command(text: str) -> ScreenCommand:
    return ScreenCommand(f"{text} {text}", text, lambda _: None, aliases=(text,), arguments=lambda: (text,))


def test_every_dialog_is_opened() -> None:
    assert set(subclasses(FirstPaintModal)) == set(DIALOGS)


@pytest.mark.parametrize("make", [*DIALOGS.values(), refused], ids=lambda make: make.__name__)
async def test_a_dialog_displays_hostile_names(pilot: Pilot[Any], make: Callable[[], Screen[Any]]) -> None:
    app = await ready(pilot)
    screen = make()
    await app.push_screen(screen)
    if not isinstance(screen, ColumnsScreen):
        await until(pilot, lambda: "[@click=app.quit]istio[/]keda[/]" in displayed(screen))
    for key in ("tab", "down", "ctrl+y", "enter"):
        await pilot.press(key)
    assert app.is_running


async def test_messages_display_hostile_names(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    app.problem(EVIL)
    app.notify(EVIL, title=EVIL)
    app.screen.notify(EVIL)
    app.jobs.run_flow(failing())
    await until(pilot, lambda: len(app._notifications) == 4)
    await pilot.pause()
    assert {one.markup for one in app._notifications} == {False}


async def failing() -> None:
    raise KymatuiError(EVIL, hint=EVIL)
