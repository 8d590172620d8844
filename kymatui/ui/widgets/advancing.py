"""Ages on the screen, which change even if no new data arrives."""

from __future__ import annotations

from typing import Any

from textual.screen import Screen

from kymatui.ui.widgets.fact_list import Facts
from kymatui.ui.widgets.live_table import LiveTable


def advance_ages(screen: Screen[Any], now: float) -> None:
    """Advance the ages in tables and lists of facts that are on the screen."""
    for table in screen.query(LiveTable):
        if table.is_on_screen:
            table.advance(now)
    for facts in screen.query(Facts):
        if facts.is_on_screen:
            facts.advance(now)
