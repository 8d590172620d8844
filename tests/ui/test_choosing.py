"""Questions, the menu and forms answer to what was pressed, also where keys come faster than they are drawn."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import TextArea

from kymatui.domain.kubernetes.schema_forms import FieldKind, FormField
from kymatui.engine.cluster.yaml_output import parse_yaml
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.action_menu import MenuItem, MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.viewmodels.display_text import ChoiceOption, Question
from tests.ui.driving import Size, text, until

LONG = "the module is installed without configuration, until you create its module CR with kubectl"
VERSION = Question("version", "version", (ChoiceOption("2", "2.0.0"), ChoiceOption("1", "1.0.0")), "2")
RESOURCE = Question(
    "resource", "default CR", (ChoiceOption("create", "create", "once"), ChoiceOption("no", "no", LONG))
)
MENU = (
    MenuItem("install", "Install with a Manifest…", "i"),
    MenuItem("upgrade", "upgrade…", "u", LONG),
    MenuItem("delete", "delete…"),
)


@pytest.fixture
def size() -> Size:
    return (80, 24)


async def answer(pilot: Pilot[Any], screen: Screen[Any], *keys: str) -> object:
    """What a screen gives when these keys are in the terminal's buffer all at once."""
    got: list[object] = []
    await pilot.app.push_screen(screen, got.append)
    await pilot.pause()
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
    await until(pilot, lambda: bool(got))
    return got[0]


async def test_keys_that_come_all_at_once_are_taken_in_their_order(pilot: Pilot[Any]) -> None:
    keys = ("j", "tab", "j", "enter")
    assert await answer(pilot, ChoiceScreen("?", [VERSION, RESOURCE]), *keys) == {"version": "1", "resource": "no"}
    assert await answer(pilot, MenuScreen("keda", MENU), "j", "j", "enter") == "delete"
    form = FormScreen("?", [FormField(("size",), FieldKind.TEXT)], {"size": "1"})
    assert await answer(pilot, form, "2", "ctrl+g") == {"size": "2"}


async def test_values_are_read_as_a_cluster_reads_them(pilot: Pilot[Any]) -> None:
    """In YAML 1.1, `12:30` would be 750 and a day an object that JSON has not."""
    got: list[Any] = []
    await pilot.app.push_screen(FormScreen("?", (), {}), got.append)
    await pilot.pause()
    pilot.app.screen.query_one(TextArea).load_text("start: 12:30\nday: 2024-01-01\nwhole: 3\n")
    await pilot.press("ctrl+g")
    await until(pilot, lambda: bool(got))
    assert got == [{"start": "12:30", "day": "2024-01-01", "whole": 3}]


async def test_no_text_is_parsed_where_keys_are_read(pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def parse(content: str) -> Any:
        parsed.append(threading.current_thread().name)
        return parse_yaml(content)

    monkeypatch.setattr("kymatui.ui.dialogs.form_dialog.parse_yaml", parse)
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    await app.push_screen(FormScreen("?", (), {"a": 1}))
    await pilot.pause()
    area = app.screen.query_one(TextArea)
    area.move_cursor(area.document.end)
    parsed.clear()
    for key in ("b", "colon", "left_square_bracket"):
        app.post_message(events.Key(key, {"colon": ":", "left_square_bracket": "["}.get(key, key)))
    await until(pilot, lambda: "invalid YAML" in text(app, "#form-about"))
    assert threading.main_thread().name not in parsed
    await pilot.press("backspace", "space", "1")
    await until(pilot, lambda: "invalid YAML" not in text(app, "#form-about"))


async def test_what_is_cut_in_a_list_stands_below_it(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    await app.push_screen(ChoiceScreen("?", [VERSION, RESOURCE]))
    await pilot.pause()
    seen = []
    for key in ("j", "tab", "j"):
        await pilot.press(key)
        await pilot.pause()
        seen.append(text(app, "#choice-note"))
    assert seen == ["", "", LONG]
    app.pop_screen()
    await app.push_screen(MenuScreen("keda", MENU))
    await pilot.press("j")
    await pilot.pause()
    assert text(app, "#menu-off") == f"disabled: {LONG}"
