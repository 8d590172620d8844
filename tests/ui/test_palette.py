"""The palette finds keys, commands and modules, and says why something is off."""

from __future__ import annotations

from functools import partial
from typing import Any

from textual.command import CommandPalette
from textual.pilot import Pilot

from kymatui.ui.application.command_palette import CommandProvider
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.screens.channel_matrix_screen import ChannelMatrixScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from tests.ui.driving import ready, until


async def found(pilot: Pilot[Any], query: str) -> list[tuple[str, str]]:
    provider = CommandProvider(pilot.app.screen)
    return [(str(hit.text), str(hit.help or "")) async for hit in provider.search(query)]


def shows(app: KymatuiApp, screen: type) -> bool:
    return isinstance(app.screen, screen)


async def test_keys_commands_and_modules_are_found(pilot: Pilot[Any]) -> None:
    await ready(pilot)
    assert ("Compare channels", "M") in await found(pilot, "compare chan")
    assert [text for text, _ in await found(pilot, "theme light")] == [":theme light"]
    assert "module keda" in [text for text, _ in await found(pilot, "keda")]


async def test_what_is_off_is_found_with_the_reason(pilot: Pilot[Any]) -> None:
    await ready(pilot)
    assert ("Back in history", "[   disabled: no earlier view") in await found(pilot, "back in hist")


async def test_choosing_presses_the_key_or_opens_the_module(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    for query, screen in (("compare chan", ChannelMatrixScreen), ("module keda", ModuleScreen)):
        await pilot.press("ctrl+p")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*("space" if letter == " " else letter for letter in query))
        await pilot.pause(0.3)
        await pilot.press("enter")
        await until(pilot, partial(shows, app, screen))
