"""The list of problems has one line for a lost server, and none for what a user typed."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kymatui.actions.session import Session
from kymatui.domain.snapshot.snapshots import Feed, FeedState
from kymatui.errors import UnreachableError
from kymatui.lists.columns import Cell
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.presenters.catalog.problem_rows import problem_line
from kymatui.ui.viewmodels.row_list import Row
from tests.domain import builders as b
from tests.ui.driving import SIZE, ready, shown, table, text, until
from tests.ui.worlds import LIVE, StillSession, app_on, world


def messages(app: KymatuiApp) -> list[str]:
    return [row.cells["message"].text for row in table(app).rows]


@pytest.mark.parametrize("state", [FeedState.STALE, FeedState.FAILED])
async def test_a_lost_server_is_one_line_and_gone_once_it_answers(state: FeedState) -> None:
    session = StillSession(world())
    async with app_on(session).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("P")
        await until(pilot, lambda: bool(shown(app)))
        before = messages(app)
        session.show(feeds={name: Feed(state, b.NOW - 42, "connection refused") for name in LIVE})
        await until(pilot, lambda: any("does not return" in one for one in messages(app)))
        added = [one for one in messages(app) if one not in before]
        assert added == [f"the server does not return {len(LIVE)} lists: connection refused"]
        session.show(feeds=LIVE)
        await until(pilot, lambda: messages(app) == before)


async def test_a_cluster_that_was_never_reached_is_one_line_and_not_loading() -> None:
    def refused() -> Session:
        raise UnreachableError("prod-eu: connection refused", hint="check the VPN")

    async with KymatuiApp(refused).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("P")
        await until(pilot, lambda: messages(app) == ["prod-eu: connection refused; check the VPN"])
        assert text(app, "#counts") == "No connection"


async def test_typing_errors_and_disabled_keys_are_no_problems_of_the_cluster() -> None:
    async with app_on(StillSession(replace(world(), feeds=LIVE))).run_test(size=SIZE) as pilot:
        app = await ready(pilot)
        await pilot.press("P")
        await until(pilot, lambda: bool(shown(app)))
        before = messages(app)
        assert app.shown is not None
        for line in ("dance", "module kda", "sort colour", "theme drak", "save x.exe"):
            app.shown.command_line.run(line)
        await pilot.press("slash", *"[", "enter", "r")
        await until(pilot, lambda: len(app.problems) == 5)
        assert messages(app) == before
        assert len(before) == len(set(before))


@pytest.mark.parametrize(
    ("about", "message", "actor", "line"),
    [
        ("Mod a/b", "Mod a/b reports Error", "you", "Mod a/b reports Error   who acts: you"),
        ("Mod a/b", "Conflicting states", "", "Mod a/b   Conflicting states"),
        ("", "the server does not answer", "", "the server does not answer"),
    ],
)
def test_the_line_of_a_problem_names_its_object_once_and_who_acts(
    about: str, message: str, actor: str, line: str
) -> None:
    cells = {"object": Cell(about), "message": Cell(message), "actor": Cell(actor)}
    assert problem_line(Row("key", cells)) == line
