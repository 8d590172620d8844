"""What every screen looks like, at 120 × 40 and at 80 × 24, and without colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from kymatui.domain.snapshot.snapshots import Feed, FeedState, Snapshot
from kymatui.errors import UnreachableError
from kymatui.ui.application.kymatui_app import KymatuiApp
from tests.domain import builders as b
from tests.ui.conftest import Compare
from tests.ui.driving import Walk, ready, typing
from tests.ui.worlds import LIVE, StillSession, app_on, failing_app, world

SIZES = [pytest.param((120, 40), id="120x40"), pytest.param((80, 24), id="80x24")]


def pressing(*keys: str) -> Walk:
    """Waits for the catalog, then presses the keys."""

    async def before(pilot: Pilot[Any]) -> None:
        await ready(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        await typing(pilot)

    return before


SCREENS = {
    "catalog": ("j",),
    "catalog-fast": ("2",),
    "catalog-filter": ("slash", "b", "e", "h"),
    "catalog-nothing-matches": ("slash", "z", "z", "z"),
    "catalog-help": ("question_mark",),
    "catalog-marks": ("space", "space"),
    "catalog-command": ("colon", "t"),
    "catalog-columns": ("C", "greater_than_sign", "space"),
    "catalog-only-problems": ("ctrl+z",),
    "module": ("j", "enter"),
    "module-tree": (*"jjjjjt", "j"),
    "module-checks": ("j", "j", "x"),
    "module-path": ("j", "j", "x", "p", *"status.sync"),
    "module-versions": ("j", "v", "j"),
    "module-events": ("j", "e"),
    "module-yaml": ("j", "y", "slash", *"state", "enter"),
    "module-history": ("j", "h"),
    "channels": ("M",),
    "changes": ("H",),
    "problems": ("P",),
}


def still(**settings: object) -> Callable[[], KymatuiApp]:
    return lambda: app_on(StillSession(world()), **settings)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", list(SCREENS.values()), ids=list(SCREENS))
def test_screen(compare: Compare, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    assert compare(still()(), size, pressing(*keys))


# the others differ from these in nothing that colour tells
WITHOUT_COLOUR = [name for name in SCREENS if name not in ("catalog-fast", "catalog-only-problems", "module-path")]


@pytest.mark.parametrize("name", WITHOUT_COLOUR)
def test_without_colour(compare: Compare, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert compare(still()(), (120, 24), pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "module-checks", "catalog-help"])
def test_a_narrow_terminal(compare: Compare, name: str) -> None:
    assert compare(still()(), (60, 24), pressing(*SCREENS[name]))


TABLES = (
    *("catalog", "catalog-fast", "module-tree", "module-checks", "module-versions", "module-events", "module-history"),
    *("channels", "changes", "problems"),
)


@pytest.mark.parametrize("columns", [60, 160, 200])
@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_terminals_of_other_widths(compare: Compare, name: str, columns: int) -> None:
    assert compare(still()(), (columns, 24), pressing(*SCREENS[name]))


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind", "mono", "terminal"])
def test_theme(compare: Compare, theme: str) -> None:
    assert compare(still(theme=theme)(), (120, 24), pressing("j"))


@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "catalog-help"])
def test_with_ascii_alone(compare: Compare, name: str) -> None:
    assert compare(still(ascii=True)(), (120, 24), pressing(*SCREENS[name]))


def test_production_looks_like_production(compare: Compare) -> None:
    app = still(contexts={"prod*": {"accent": "red"}})()
    assert compare(app, (120, 24), pressing("j"))


def feeds(state: FeedState, message: str = "") -> dict[str, Feed]:
    return {name: Feed(state, b.NOW - 42, message) for name in LIVE}


STATES = {
    "loading": Snapshot("test", feeds=feeds(FeedState.SYNCING)),
    "empty": Snapshot("test", feeds=feeds(FeedState.LIVE)),
    "forbidden": Snapshot("test", feeds=feeds(FeedState.FORBIDDEN)),
    "no-kyma": Snapshot("test", feeds=feeds(FeedState.ABSENT)),
    "stale": replace(world(), feeds=feeds(FeedState.STALE)),
}


@pytest.mark.parametrize("state", list(STATES))
def test_state(compare: Compare, state: str) -> None:
    assert compare(app_on(StillSession(STATES[state])), (80, 24), pressing())


def test_no_connection(compare: Compare) -> None:
    error = UnreachableError("https://10.0.0.1:6443 refused the connection", hint="is the cluster running?")
    assert compare(failing_app(error), (80, 24), pressing())
