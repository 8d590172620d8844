"""A screen that comes is styled and laid out once, and fits the terminal whatever that does meanwhile."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode
from textual.pilot import Pilot

from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.prompt import Prompt
from tests.ui.driving import SIZE, ready, until
from tests.ui.worlds import StillSession, app_on, world

NARROW = (70, 30)


async def test_widgets_are_styled_when_they_are_made_and_not_again(
    pilot: Pilot[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    styled: Counter[int] = Counter()
    real = Stylesheet.apply

    def counted(sheet: Stylesheet, node: DOMNode, **more: Any) -> None:
        styled[id(node)] += 1
        real(sheet, node, **more)

    monkeypatch.setattr(Stylesheet, "apply", counted)
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(pilot.app.screen, HelpScreen))
    assert {styled[id(facts)] for facts in pilot.app.screen.query(Facts)} == {2}, "made, and in what took the keyboard"


async def test_the_hidden_prompt_does_not_take_the_keyboard(pilot: Pilot[Any]) -> None:
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ModuleScreen))
    prompt = pilot.app.screen.query_one(Prompt)
    assert not any(widget.focusable for widget in prompt.query("*"))
    await pilot.press("colon")
    assert pilot.app.screen.focused is not None
    assert prompt in pilot.app.screen.focused.ancestors
    await pilot.press("escape")
    assert not any(widget.focusable for widget in prompt.query("*"))


async def test_screens_below_others_fit_when_they_are_seen_again() -> None:
    async with app_on(StillSession(world())).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModuleScreen))
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.resize_terminal(*NARROW)
        for screen in (HelpScreen, ModuleScreen, CatalogScreen):
            await until(pilot, lambda screen=screen: isinstance(app.screen, screen))  # type: ignore[misc]
            await until(pilot, lambda: app.screen.outer_size == NARROW and app.screen.has_class("-narrow"))
            assert not app.screen.has_class("-wide")
            assert {child.region.right for child in app.screen.children if child.id in ("top", "keys")} <= {NARROW[0]}
            await pilot.press("escape")
