"""Pictures of screens, compared with those kept as pytest-textual-snapshot does, but not one app for each of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from kymatui.ui.app import KymatuiApp
from tests.ui.stages import Size, Stages

SnapCompare = Callable[..., bool]
Walk = Callable[[Pilot[Any]], Awaitable[None]]
"""What leads from the first screen to what the picture shows."""


async def draw(pilot: Pilot[Any], walk: Walk) -> str:
    """The picture of the screen at the end of a walk, once nothing moves on it."""
    await walk(pilot)
    await pilot.wait_for_scheduled_animations()
    return pilot.app.export_screenshot(title=pilot.app.title, simplify=True)


class Pictures:
    """Compares as `snap_compare` does, and updates with `--snapshot-update`, at the end of a walk on a shared stage."""

    def __init__(self, stages: Stages, snap_compare: SnapCompare, patch: pytest.MonkeyPatch) -> None:
        self._stages, self._compare, self._patch = stages, snap_compare, patch

    def compare(self, made: Callable[[], KymatuiApp], size: Size, walk: Walk, *kind: object) -> bool:
        """Apps of the same size and `kind` are one."""
        stage = self._stages.at(size, made, *kind)
        stage.run(stage.begin())
        drawn = stage.run(draw(stage.pilot, walk))
        self._patch.setattr("textual._doc.take_svg_screenshot", lambda **_: drawn)
        return self._compare(App[None]())
