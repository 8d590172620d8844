"""Screens that cost once what it costs to show them.

Left to itself, Textual 8.2 styles the widgets of a new screen three times (when they are made, when the screen is
shown, when its width gave it a class), and lays all of it out and paints it three times (when it is shown; when the
event comes that tells it its own size, with all screens below it; when all widgets have their first sizes). Each of
them is a good part of what opening costs.
"""

from __future__ import annotations

from textual import events, on
from textual.screen import ModalScreen, Screen, ScreenResultType


class FirstPaintScreen(Screen[ScreenResultType]):
    """A screen that is styled, laid out and painted once when it comes."""

    _has_come = False
    _has_sizes = False

    @on(events.Compose)
    def _know_the_width(self) -> None:
        """Before there are widgets: afterwards a class of the screen styles all of them again."""
        self.update_classes(self._classes_by_width(self.app.size.width), animate=False)

    @on(events.ScreenResume)
    def _just_styled(self, event: events.ScreenResume) -> None:
        """Widgets are styled when they are made; a theme that is turned styles what is on the stack itself."""
        if not self._has_come:
            self._has_come = True
            event.refresh_styles = False

    @on(events.Resize)
    def _just_laid_out(self, event: events.Resize) -> None:
        """The event that a layout sends says nothing new; the terminal's comes before there is a layout of that size,
        and a screen that was below others meanwhile has to care for those that still are."""
        sizes = {screen.outer_size for screen in self.app.screen_stack}
        fits = all(self.has_class(name) is holds for name, holds in self._classes_by_width(event.size.width).items())
        if sizes == {event.size} and fits:
            event.prevent_default()

    def _compositor_refresh(self) -> None:
        """With their first sizes widgets ask for a second layout, which paints all of them: what was seen before is
        left standing until then. Where nothing was, every paint is welcome."""
        if self._has_sizes or len(self.app.screen_stack) == 1 or not self.is_current:
            super()._compositor_refresh()
        else:
            self._has_sizes = True
            self.refresh()

    def _classes_by_width(self, width: int) -> dict[str, bool]:
        breakpoints = self.app.HORIZONTAL_BREAKPOINTS or []
        place = max((least for least, _ in breakpoints if least <= width), default=None)
        return {name: least == place for least, name in breakpoints}


class FirstPaintModal(ModalScreen[ScreenResultType], FirstPaintScreen[ScreenResultType]):
    """The same for what asks something."""
