"""What every screen looks like, at 120 × 40 and at 80 × 24, and without colour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.errors import UnreachableError
from tests.domain import builders as b
from tests.ui.driving import ready
from tests.ui.worlds import LIVE, StillSession, app_on, failing_app, world

SIZES = [pytest.param((120, 40), id="120x40"), pytest.param((80, 24), id="80x24")]
SnapCompare = Callable[..., bool]


def pressing(*keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Waits for the catalog, then presses the keys."""

    async def before(pilot: Pilot[Any]) -> None:
        app = await ready(pilot)
        await pilot.press(*keys)
        await pilot.pause()
        if app.focused is not None and app.focused.has_class("typing"):
            app.focused.cursor_blink = False  # type: ignore[attr-defined]

    return before


SCREENS = {
    "catalog": ("j",),
    "catalog-fast": ("2",),
    "catalog-filter": ("slash", "b", "e", "h"),
    "catalog-nothing-matches": ("slash", "z", "z", "z"),
    "catalog-help": ("question_mark",),
    "catalog-marks": ("space", "space"),
    "catalog-command": ("colon", "t"),
    "catalog-columns": ("C", "J", "space"),
    "catalog-only-problems": ("ctrl+z",),
    "module": ("j", "enter"),
    "module-tree": (*"jjjjjt", "j"),
    "module-checks": ("j", "j", "x"),
    "module-path": ("j", "j", "x", "w", *"status.sync"),
    "module-versions": ("j", "v", "j"),
    "module-events": ("j", "e"),
    "module-yaml": ("j", "y", "slash", *"state", "enter"),
    "module-history": ("j", "h"),
    "channels": ("M",),
    "changes": ("H",),
    "problems": ("P",),
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", list(SCREENS.values()), ids=list(SCREENS))
def test_screen(snap_compare: SnapCompare, keys: tuple[str, ...], size: tuple[int, int]) -> None:
    app = app_on(StillSession(world()))
    assert snap_compare(app, terminal_size=size, run_before=pressing(*keys))


# the others differ from these in nothing that colour tells
WITHOUT_COLOUR = [name for name in SCREENS if name not in ("catalog-fast", "catalog-only-problems", "module-path")]


@pytest.mark.parametrize("name", WITHOUT_COLOUR)
def test_without_colour(snap_compare: SnapCompare, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app_on(StillSession(world())), terminal_size=(120, 24), run_before=pressing(*SCREENS[name]))


@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "module-checks", "catalog-help"])
def test_a_narrow_terminal(snap_compare: SnapCompare, name: str) -> None:
    assert snap_compare(app_on(StillSession(world())), terminal_size=(60, 24), run_before=pressing(*SCREENS[name]))


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind", "mono", "terminal"])
def test_theme(snap_compare: SnapCompare, theme: str) -> None:
    app = app_on(StillSession(world()), theme=theme)
    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing("j"))


@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "catalog-help"])
def test_with_ascii_alone(snap_compare: SnapCompare, name: str) -> None:
    app = app_on(StillSession(world()), ascii=True)
    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing(*SCREENS[name]))


def test_production_looks_like_production(snap_compare: SnapCompare) -> None:
    app = app_on(StillSession(world()), contexts={"prod*": {"accent": "red"}})
    assert snap_compare(app, terminal_size=(120, 24), run_before=pressing("j"))


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
def test_state(snap_compare: SnapCompare, state: str) -> None:
    assert snap_compare(app_on(StillSession(STATES[state])), terminal_size=(80, 24), run_before=pressing())


def test_no_connection(snap_compare: SnapCompare) -> None:
    error = UnreachableError("https://10.0.0.1:6443 refused the connection", hint="is the cluster running?")
    assert snap_compare(failing_app(error), terminal_size=(80, 24), run_before=pressing())
