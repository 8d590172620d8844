"""When an app of a test has done all that there is to do. Textual's pilot compares the clock with the processor's time,
in steps of 20 ms, and asks every widget; here the event loop itself says that nothing is left."""

from __future__ import annotations

import asyncio
import time
from typing import Any, cast

import pytest
from textual._context import active_app
from textual.app import App
from textual.pilot import Pilot

_SECONDS = 1.0  # what never comes to rest, such as an animation, is not waited for


async def settled(*_: object) -> bool:
    """Returns when every message is handled and everything that is to be drawn is drawn."""
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
        if not _drawn(app):
            break
    return True


def _drawn(app: App[Any]) -> bool:
    """Draws what waits for the next tick; whether anything did."""
    if not app.screen_stack:
        return False
    screen = app.screen_stack[-1]
    waits: asyncio.Event = cast("Any", screen._update_timer)._active
    if not (screen.is_running and waits.is_set()):
        return False
    screen._on_timer_update()
    return True


def settle_at_once(patch: pytest.MonkeyPatch) -> None:
    """Pilots wait no longer than until nothing is left."""
    patch.setattr("textual.pilot.wait_for_idle", settled)
    patch.setattr("textual.app.wait_for_idle", settled)

    async def for_screen(_: Pilot[Any], timeout: float = 30.0) -> bool:
        return await settled()

    patch.setattr(Pilot, "_wait_for_screen", for_screen)
