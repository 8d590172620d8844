"""Frame around every full screen: top line, banner and key bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from kymatui.ui.terminal.plain_widgets import Static
from kymatui.ui.widgets.key_bar import KeyBar
from kymatui.ui.widgets.top_line import FrameFacts, TopLine

if TYPE_CHECKING:
    from textual.screen import Screen

    from kymatui.ui.base.screen_app import ScreenApp


@runtime_checkable
class HasTabs(Protocol):
    """Screen with tabs that a step can name."""

    async def show_tab(self, tab: str) -> None: ...


@runtime_checkable
class AsksAgain(Protocol):
    """Screen with unwatched content, which it reads again on request."""

    def ask_again(self) -> None: ...


class ScreenFrame:
    """Frame of one screen."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen

    @property
    def is_whole(self) -> bool:
        """Return whether the frame's widgets exist; False during composition and removal.

        Called for every key that is drawn, so it searches nothing: the widgets are children of the screen.
        """
        return self._screen.is_mounted and {TopLine, KeyBar} <= {type(child) for child in self._screen.children}

    def show(self, facts: FrameFacts) -> None:
        trail = cast("ScreenApp", self._screen.app).ways.trail_to(self._screen)
        self._screen.query_one(TopLine).facts = facts.with_trail(*(step.crumb for step in trail))
        banner = self._screen.query_one("#banner", Static)
        banner.display = bool(facts.banner)
        if facts.banner:
            banner.update(facts.banner)
