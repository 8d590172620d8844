"""A module that gets worse is announced once, where it is not displayed."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.catalog.change_history import ModuleChange, changes_since, worse_states
from kymatui.settings.config_file import Settings
from kymatui.ui.application.kymatui_app import KymatuiApp, terminal_notice
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, until
from tests.ui.worlds import StillSession, app_on, world


def change(before: str, after: str, what: str = "state", about: str = "") -> ModuleChange:
    return ModuleChange(1.0, "istio", what, before, after, about)


@pytest.mark.parametrize(
    ("before", "after", "is_worse"),
    [
        ("Ready", "Warning", True),
        ("Warning", "Error", True),
        ("NotInstalled", "Error", True),
        ("Processing", "Warning", True),
        ("Error", "Warning", False),
        ("Warning", "Ready", False),
        ("Ready", "Processing", False),
        ("Ready", "Deleting", False),
        ("", "Error", False),
        ("Error", "", False),
    ],
)
def test_a_state_is_worse_that_is_a_problem_and_was_better(before: str, after: str, is_worse: bool) -> None:
    found = change(before, after)
    assert list(worse_states([found])) == ([found] if is_worse else [])


def test_conditions_and_other_facts_are_not_announced() -> None:
    assert not list(worse_states([change("Ready", "Error", "reported by the Kyma")]))


def test_each_change_is_new_once() -> None:
    first, second = change("Ready", "Warning"), change("Warning", "Error")
    assert changes_since((second, first), None) == (second, first)
    assert changes_since((second, first), first) == (second,)
    assert changes_since((second, first), second) == ()


@pytest.mark.parametrize(
    ("kind", "sequence"),
    [
        ("off", ""),
        ("osc9", "\x1b]9;kymatui: istio]52cis Error\x07"),
        ("osc777", "\x1b]777;notify;kymatui;istio]52cis Error\x07"),
    ],
)
def test_a_notification_is_one_sequence_whatever_the_text(kind: str, sequence: str) -> None:
    assert terminal_notice(kind, "kymatui", "istio\x1b]52;c;is Error\x07") == sequence


def messages(app: KymatuiApp) -> list[str]:
    return [one.message for one in app._notifications]


async def worsen(pilot: Pilot[Any], session: StillSession, state: str) -> KymatuiApp:
    app = pilot.app
    assert isinstance(app, KymatuiApp)
    resources = {**world().module_resources, b.gvk("api-gateway"): (b.resource("api-gateway", state),)}
    session.show(module_resources=resources)

    def changed() -> bool:
        row = app.catalog.row("api-gateway") if app.catalog is not None else None
        return row is not None and row.state == state

    await until(pilot, changed)
    return app


@pytest.mark.parametrize(
    ("keys", "is_said"),
    [((), False), (("enter",), False), (("j", "enter"), True), (("P",), True), (("question_mark",), True)],
    ids=["catalog", "the module itself", "another module", "problems", "help above the catalog"],
)
async def test_it_is_announced_where_it_is_not_displayed(keys: tuple[str, ...], is_said: bool) -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        await ready(pilot)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        app = await worsen(pilot, session, "Warning")
        await worsen(pilot, session, "Error")
        said = [text for text in messages(app) if text.startswith("api-gateway is ")]
        assert len(said) == (2 if is_said else 0), said
        if is_said:
            assert said[0].startswith("api-gateway is Warning (was Ready). Action needed: ")
        app.clear_notifications()
        session.show()
        await pilot.pause()
        assert not messages(app), "each change is announced once"


@pytest.mark.parametrize(("audit", "kind", "count"), [(False, "osc9", 1), (False, "off", 0), (True, "osc9", 0)])
async def test_the_terminal_is_notified_while_another_window_has_the_focus(
    audit: bool, kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = StillSession(world())
    settings = Settings(notifications=kind)
    watched = KymatuiApp(lambda: session, audit=audit, settings=settings, clock=lambda: b.NOW)
    async with watched.run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        written: list[str] = []
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        await worsen(pilot, session, "Warning")
        assert not [text for text in written if text.startswith("\x1b]9;")], "you look at it"
        app.app_focus = False
        await worsen(pilot, session, "Error")
        assert len([text for text in written if text.startswith("\x1b]9;")]) == count
