"""What every screen looks like, at 120 × 40 and at 80 × 24, and without colour."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from kymatui.domain.snapshots import Feed, FeedState, Snapshot
from kymatui.errors import UnreachableError
from kymatui.ui.app import KymatuiApp
from tests.domain import builders as b
from tests.ui.driving import ready
from tests.ui.pictures import Pictures, SnapCompare
from tests.ui.worlds import LIVE, StillSession, app_on, failing_app, world

Size = tuple[int, int]


def group(name: str) -> pytest.MarkDecorator:
    """Pictures that come from one app."""
    return pytest.mark.xdist_group(f"pictures-{name}")


SIZES = [
    pytest.param(size, id=name, marks=group(name)) for name, size in {"120x40": (120, 40), "80x24": (80, 24)}.items()
]


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


def still(**settings: object) -> Callable[[], KymatuiApp]:
    return lambda: app_on(StillSession(world()), **settings)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", list(SCREENS.values()), ids=list(SCREENS))
def test_screen(pictures: Pictures, keys: tuple[str, ...], size: Size) -> None:
    assert pictures.compare(still(), size, pressing(*keys), "still")


# the others differ from these in nothing that colour tells
WITHOUT_COLOUR = [name for name in SCREENS if name not in ("catalog-fast", "catalog-only-problems", "module-path")]


@group("without-colour")
@pytest.mark.parametrize("name", WITHOUT_COLOUR)
def test_without_colour(pictures: Pictures, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert pictures.compare(still(), (120, 24), pressing(*SCREENS[name]), "without colour")


@group("narrow")
@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "module-checks", "catalog-help"])
def test_a_narrow_terminal(pictures: Pictures, name: str) -> None:
    assert pictures.compare(still(), (60, 24), pressing(*SCREENS[name]), "still")


@pytest.mark.parametrize("theme", ["light", "high-contrast", "colour-blind", "mono", "terminal"])
def test_theme(snap_compare: SnapCompare, theme: str) -> None:
    assert snap_compare(still(theme=theme)(), terminal_size=(120, 24), run_before=pressing("j"))


@group("ascii")
@pytest.mark.parametrize("name", ["catalog", "module", "module-tree", "catalog-help"])
def test_with_ascii_alone(pictures: Pictures, name: str) -> None:
    assert pictures.compare(still(ascii=True), (120, 24), pressing(*SCREENS[name]), "ascii")


def test_production_looks_like_production(snap_compare: SnapCompare) -> None:
    app = still(contexts={"prod*": {"accent": "red"}})()
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
