"""Screens that avoid Textual's repeated style, layout and paint passes when they open.

Textual 8.2 styles the widgets of a new screen three times (when they are created, when the screen is displayed, when
its width sets a class). It also lays out and paints the screen three times (when it is displayed; on the resize
event, together with all screens below; when all widgets have their first sizes). Each pass is a large part of the
cost of opening.
"""

from __future__ import annotations

from textual import events, on
from textual.screen import ModalScreen, Screen, ScreenResultType

from kymatui.ui.terminal.plain_widgets import PlainText


class FirstPaintScreen(Screen[ScreenResultType], PlainText):
    """Screen that Textual styles, lays out and paints once when it opens."""

    _has_come = False
    _has_sizes = False

    @on(events.Compose)
    def _know_the_width(self) -> None:
        """Set the width class before widgets exist; a later class would style all of them again."""
        self.update_classes(self._classes_by_width(self.app.size.width), animate=False)

    @on(events.ScreenResume)
    def _just_styled(self, event: events.ScreenResume) -> None:
        """Skip the second style pass: widgets are styled on creation, a new theme styles the whole stack."""
        if not self._has_come:
            self._has_come = True
            event.refresh_styles = False

    @on(events.Resize)
    def _just_laid_out(self, event: events.Resize) -> None:
        """Skip the resize event that a layout sends, which brings no new size.

        The terminal's event comes before a layout of that size exists. A screen that was covered meanwhile resizes
        the screens that are still below it.
        """
        sizes = {screen.outer_size for screen in self.app.screen_stack}
        fits = all(self.has_class(name) is holds for name, holds in self._classes_by_width(event.size.width).items())
        if sizes == {event.size} and fits:
            event.prevent_default()

    def _compositor_refresh(self) -> None:
        """Skip the paint of the second layout, which widgets request with their first sizes.

        The old content stays until then. A screen without old content paints every time.
        """
        if self._has_sizes or len(self.app.screen_stack) == 1 or not self.is_current:
            super()._compositor_refresh()
        else:
            self._has_sizes = True
            self.refresh()

    def _classes_by_width(self, width: int) -> dict[str, bool]:
        breakpoints = self.app.HORIZONTAL_BREAKPOINTS or []
        width_limit = max((least for least, _ in breakpoints if least <= width), default=None)
        return {name: least == width_limit for least, name in breakpoints}


class FirstPaintModal(ModalScreen[ScreenResultType], FirstPaintScreen[ScreenResultType]):
    """Modal screen with a single first paint."""
