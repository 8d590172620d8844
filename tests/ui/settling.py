"""When an app of a test has done all that there is to do.

Textual's pilot compares the clock with the processor's time, in steps of 20 ms, and asks every widget; here the event
loop itself says that nothing is left. A screen is painted then, and once: without a terminal nobody sees what is
between, and to paint it is half of the work; `paint_every_frame` is for tests of whether all of it can be painted.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from typing import Any, cast

import pytest
from textual._context import active_app
from textual.app import App
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.pilot import Pilot
from textual.screen import Screen

_SECONDS = 1.0  # what never comes to rest, such as an animation, is not waited for
_UNPAINTED: weakref.WeakSet[Screen[Any]] = weakref.WeakSet()
_paint = Screen._compositor_refresh
_parse = Stylesheet._parse_rules
_PARSED: dict[object, list[RuleSet]] = {}


async def settled() -> bool:
    """Returns when every message is handled and everything that is to be drawn is drawn."""
    await _handled()
    app = active_app.get()
    while app.screen_stack and app.screen_stack[-1] in _UNPAINTED:
        _UNPAINTED.discard(app.screen_stack[-1])
        _paint(app.screen_stack[-1])
        await _handled()
    return True


async def _handled(*_: object) -> None:
    """Returns when every message is handled; between two keys nothing is painted."""
    app = active_app.get()
    loop = asyncio.get_running_loop()
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]
            continue
        if app._resize_event is not None:  # looked at sixty times a second
            await asyncio.sleep(0.002)
            continue
        if not _laid_out(app):
            break


def _laid_out(app: App[Any]) -> bool:
    """Does what waits for the next tick; whether anything did."""
    if not app.screen_stack:
        return False
    screen = app.screen_stack[-1]
    waits: asyncio.Event = cast("Any", screen._update_timer)._active
    if not (screen.is_running and waits.is_set()):
        return False
    screen._on_timer_update()
    return True


def _parse_once(
    sheet: Stylesheet,
    css: str,
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    """What an app has parsed is parsed for the next one, too, if its theme is the same: a fourth of its start."""
    key = (css, read_from, is_default_rules, tie_breaker, scope, frozenset(sheet._variables.items()))
    if key not in _PARSED:
        _PARSED[key] = _parse(sheet, css, read_from, is_default_rules, tie_breaker, scope)
    return _PARSED[key]


def _paint_at_rest(screen: Screen[Any]) -> None:
    if screen is not screen.app.screen:
        _paint(screen)  # which hands on to the screen above what shines through
    else:
        screen._dirty_widgets.clear()
        _UNPAINTED.add(screen)


def paint_every_frame(patch: pytest.MonkeyPatch) -> None:
    """Paints what is between, too."""
    patch.setattr(Screen, "_compositor_refresh", _paint)


def settle_at_once(patch: pytest.MonkeyPatch) -> None:
    """Pilots wait no longer than until nothing is left, and screens are painted when they come to rest."""
    patch.setattr("textual.pilot.wait_for_idle", _handled)
    patch.setattr("textual.app.wait_for_idle", _handled)
    patch.setattr(Screen, "_compositor_refresh", _paint_at_rest)
    patch.setattr(Stylesheet, "_parse_rules", _parse_once)

    async def for_screen(_: Pilot[Any], timeout: float = 30.0) -> bool:
        return await settled()

    patch.setattr(Pilot, "_wait_for_screen", for_screen)
