"""Links of a module: opened in a browser that is beside the terminal, else copied; displayed as hyperlinks."""

from __future__ import annotations

import webbrowser
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen
from kymatui.ui.flows.module_actions import has_browser
from tests.ui.driving import ready, text, until
from tests.ui.worlds import StillSession, app_on, world

DOCS, CODE = "https://kyma-project.io/#/keda", "https://github.com/kyma-project/keda"
INFO = {
    "btp-operator": {"documentation": DOCS, "repository": CODE},
    "cloud-logging": {"documentation": "javascript:alert(1)", "repository": CODE},
    "eventing": {"documentation": "file:///etc/passwd", "repository": "https://a\x1b]8;;b"},
}


def informed(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    info = INFO.get(raw["spec"]["moduleName"])
    return {**raw, "spec": {**raw["spec"], "info": info}} if info else raw


@pytest.fixture
def app() -> KymatuiApp:
    return app_on(StillSession(replace(world(), templates=tuple(map(informed, world().templates)))))


@pytest.fixture
def opened(app: KymatuiApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(app, "open_url", lambda url, new_tab=True: found.append(url))
    monkeypatch.setattr("kymatui.ui.flows.module_actions.has_browser", lambda: True)
    return found


async def test_several_links_are_a_choice(pilot: Pilot[Any], opened: list[str]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "o")
    await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
    await pilot.press("j", "enter")
    await until(pilot, lambda: opened == [CODE])
    await pilot.press("o")
    await until(pilot, lambda: isinstance(app.screen, ChoiceScreen))
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(app.screen, ChoiceScreen))
    assert opened == [CODE]


@pytest.mark.parametrize("tab", "tcveyh")
async def test_the_key_opens_the_link_on_every_tab(pilot: Pilot[Any], opened: list[str], tab: str) -> None:
    app = await ready(pilot)
    await pilot.press("j", "j", "x" if tab == "c" else tab)
    await until(pilot, lambda: app.shown is not None and app.shown.step.about == "cloud-logging")
    await pilot.press("o")
    await until(pilot, lambda: opened == [CODE], lambda: opened)  # the other one is no web address


async def test_a_module_without_a_usable_link_says_so(pilot: Pilot[Any], opened: list[str]) -> None:
    app = await ready(pilot)
    await pilot.press("colon", *"link eventing", "enter")
    await until(pilot, lambda: bool(app.problems))
    assert "the template of eventing names no documentation and no repository" in app.problems[-1]
    assert opened == []


async def test_without_a_browser_the_link_is_copied(
    pilot: Pilot[Any], opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app = await ready(pilot)
    monkeypatch.setattr("kymatui.ui.flows.module_actions.has_browser", lambda: False)
    await pilot.press("j", "j", "o")
    await until(pilot, lambda: app.clipboard == CODE)
    assert opened == []


@pytest.mark.parametrize(
    ("browser", "opens"),
    [
        (webbrowser.BackgroundBrowser("xdg-open"), True),
        (webbrowser.Mozilla("firefox"), True),
        (webbrowser.GenericBrowser("lynx"), False),
        (webbrowser.Elinks("elinks"), False),
        (None, False),
    ],
)
def test_a_browser_in_the_terminal_is_none(browser: Any, opens: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def get() -> Any:
        if browser is None:
            raise webbrowser.Error("could not locate runnable browser")
        return browser

    monkeypatch.setattr(webbrowser, "get", get)
    assert has_browser() is opens


async def test_the_overview_has_hyperlinks(pilot: Pilot[Any]) -> None:
    app = await ready(pilot)
    await pilot.press("j", "enter")
    await until(pilot, lambda: "documentation" in text(app, "#declared"))
    panel = app.screen.query_one("#declared")
    found = {
        segment.style.link for line in range(panel.size.height) for segment in panel.render_line(line) if segment.style
    }
    assert {DOCS, CODE} <= found
