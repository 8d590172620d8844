"""Screens that are one table."""

from __future__ import annotations

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.widgets.live_table import LiveTable


class ListScreen(FramedScreen):
    """Its table has the keyboard, and is what filters, orders and exports are about."""

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.main_widget().focus()

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def open_module(self, name: str, tab: str) -> None:
        """Goes to a module, unless it is not in the catalog any more."""
        catalog = self.kymatui.catalog
        if catalog is not None and catalog.row(name) is not None:
            self.kymatui.ways.open(ScreenStep("module", name, tab))
        else:
            said = f"{sanitize(name)} is not a module of this catalog" if name else "this line is about no module"
            self.notify(said, markup=False, timeout=3)
