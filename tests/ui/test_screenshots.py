"""The pictures in `screenshots/`, which the README shows, are made here and must be what the screens look like.

KYMATUI_SCREENSHOTS=1 pytest tests/ui/test_screenshots.py     # draws them anew
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.ui.conftest import DRAWN_ON
from tests.ui.test_snapshots import pressing
from tests.ui.worlds import StillSession, app_on, world

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"

PICTURES: dict[str, tuple[str, ...]] = {
    "catalog": ("j",),
    "module": ("j", "enter"),
    "checks": ("j", "j", "x"),
    "resources": tuple("jjjjjtjjjjjjj"),
    "versions": ("v",),
    "yaml": ("j", "y", "slash", *"warning", "enter"),
    "columns": ("C",),
    "channels": ("M",),
    "problems": ("P",),
    "help": ("question_mark",),
}


@pytest.mark.skipif(sys.version_info[:2] != DRAWN_ON, reason="pictures are drawn on one version of Python only")
@pytest.mark.parametrize("name", list(PICTURES))
async def test_the_picture_is_what_the_screen_looks_like(name: str) -> None:
    app = app_on(StillSession(world()))
    async with app.run_test(size=(120, 32)) as pilot:
        await pressing(*PICTURES[name])(pilot)
        drawn = app.export_screenshot(title="kymatui", simplify=True)
    path = FOLDER / f"{name}.svg"
    if os.environ.get("KYMATUI_SCREENSHOTS"):
        path.write_text(drawn)
    assert path.read_text() == drawn, f"draw it anew: KYMATUI_SCREENSHOTS=1 pytest {Path(__file__).name}"
