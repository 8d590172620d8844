"""Text that a dialog asks for: it arrives in the field, and runs no key."""

from __future__ import annotations

import ast
import asyncio
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

import kymatui.ui
from kymatui.domain.kubernetes.schema_forms import FieldKind, FormField
from kymatui.domain.plans.plan_preview import Consent, Preview
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.presenters.plans.deletion_stages import preview_deletion
from kymatui.ui.widgets.plan_widgets import Tick
from tests.ui.driving import ready, text, until
from tests.ui.previews import PREVIEW
from tests.ui.test_flow_snapshots import StillScreen
from tests.ui.worlds import StillSession, app_on, uninstall, world

PRINTABLE = string.ascii_letters + string.digits + string.punctuation
"""Every key that is a letter, a digit or a sign."""

_SEEN = uninstall("api-gateway").state
assert _SEEN is not None
DELETION = preview_deletion(_SEEN, accept_unknown=False, backup="backup.yaml")
LAST_RESORT = Preview("last resort", consents=(Consent("name", "remove the finalizer", typed="default"),))

Opening = Callable[[KymatuiApp], object]


def press(app: KymatuiApp, *keys: str) -> None:
    """Press keys without a pause, as they arrive from a terminal that was busy."""
    for key in keys:
        character = key if len(key) == 1 else None
        app.post_message(events.Key(_character_to_key(key) if character else key, character))


def plan(preview: Preview) -> Opening:
    return lambda app: app.push_screen(PlanScreen(preview))


def form(*fields: FormField) -> Opening:
    return lambda app: app.push_screen(FormScreen("form", fields, {}))


def keys(*names: str) -> Opening:
    return lambda app: press(app, *names)


# What opens a field, by the file that makes it.
OPENINGS: dict[str, dict[str, Opening]] = {
    "dialogs/plan_dialog.py": {"deletion": plan(DELETION), "last resort": plan(LAST_RESORT), "ticks": plan(PREVIEW)},
    "dialogs/form_dialog.py": {"form": form(FormField(("spec", "name"), FieldKind.TEXT)), "document": form()},
    "base/framed_screen.py": {"filter": keys("/"), "command": keys(":"), "file": keys("ctrl+s")},
    "base/help_screen.py": {"search": keys("?", "/")},
    "panes/checks_pane.py": {"path": keys("p")},
}
OF_TEXTUAL: dict[str, Opening] = {"palette": keys("ctrl+p")}
EVERY = {name: opening for openings in (*OPENINGS.values(), OF_TEXTUAL) for name, opening in openings.items()}


def test_every_field_is_tried() -> None:
    folder = Path(kymatui.ui.__file__).parent
    found = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Input", "TextArea", "Prompt"):
                found.add(path.relative_to(folder).as_posix())
    assert found - {"widgets/prompt.py"} == set(OPENINGS)


def value(app: KymatuiApp) -> str:
    field = app.focused
    if isinstance(field, TextArea):
        return field.text.removesuffix("{}\n")
    return field.value if isinstance(field, Input) else ""


@pytest.mark.parametrize("opening", EVERY)
async def test_text_that_is_typed_at_once_is_in_the_field_and_runs_no_key(pilot: Pilot[Any], opening: str) -> None:
    app = await ready(pilot)
    if opening == "path":
        app.ways.open(ScreenStep("module", "cloud-logging", "checks"))
        await until(pilot, lambda: bool(app.screen.query("#path")) and app.focused is not None)
    screens = len(app.screen_stack)
    EVERY[opening](app)
    press(app, *PRINTABLE)
    await until(pilot, lambda: value(app).endswith(PRINTABLE[-5:]), lambda: f"{value(app)} in {app.focused}")
    before = "save modules.csv" if opening == "file" else ""
    assert value(app) == before + PRINTABLE
    assert len(app.screen_stack) == screens + (opening not in ("filter", "command", "file", "path"))


async def test_a_key_of_the_keymap_is_typed_too() -> None:
    """A person may have given any key to an action that comes before the keys of a widget."""
    remapped = {"plan.accept": "y", "plan.pane": "l", "plan.save": "s", "app.filter": "f", "app.interrupt": "c"}
    app = app_on(StillSession(world()), keys=remapped)
    async with app.run_test() as pilot:
        await ready(pilot)
        await app.push_screen(PlanScreen(DELETION))
        press(app, *PRINTABLE)
        await until(pilot, lambda: value(app) == PRINTABLE, lambda: value(app))
        assert isinstance(app.screen, PlanScreen)


async def test_letters_change_no_option_while_the_plan_is_loading(pilot: Pilot[Any]) -> None:
    app, release = await ready(pilot), asyncio.Event()
    screen = StillScreen("keda")
    await app.push_screen(screen)
    await until(pilot, lambda: screen.next_step is not None)
    before = screen.choices

    async def loading() -> None:
        await release.wait()

    app.jobs.run_flow(loading())
    await pilot.press("w", "b", "u")
    assert screen.choices == before
    release.set()
    await until(pilot, lambda: not app.jobs.busy)
    await pilot.press("b")
    assert screen.choices != before


async def test_after_the_last_tick_the_name_is_typed(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await app.push_screen(PlanScreen(replace(PREVIEW, missing=())))
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.focused, Tick))
    assert text(app, "#plan-off") == "Tick the box first (space)"
    await pilot.press("space", *"nope")
    await until(pilot, lambda: value(app) == "nope")


async def test_the_key_bar_displays_only_keys_that_act(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await app.push_screen(PlanScreen(DELETION))
    await until(pilot, lambda: isinstance(app.focused, Input))
    shown = {entry.strip() for entry in text(app, "#keys").split("  ")} - {""}
    assert shown == {"enter Apply", "tab Next pane", "esc Back"}


async def test_the_question_names_what_is_typed_and_what_follows(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await app.push_screen(PlanScreen(DELETION))
    await until(pilot, lambda: bool(app.screen.query(".plan-ask Static")))
    assert text(app, ".plan-ask Static") == "Type api-gateway to delete it:"
