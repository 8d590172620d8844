"""Base of screens with a single table."""

from __future__ import annotations

from kymatui.domain.kubernetes.terminal_text import sanitize
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.widgets.live_table import LiveTable


class ListScreen(FramedScreen):
    """Screen whose table has the focus and takes filters, orders and exports."""

    def on_mount(self) -> None:
        super().on_mount()
        self.show_catalog()
        self.set_focus(self.main_widget())

    def main_widget(self) -> LiveTable:
        return self.query_one(LiveTable)

    def open_module(self, name: str, tab: str) -> None:
        """Open a module unless it has left the catalog."""
        catalog = self.kymatui.catalog
        if catalog is not None and catalog.row(name) is not None:
            self.kymatui.ways.open(ScreenStep("module", name, tab))
        else:
            said = f"{sanitize(name)} is not in this catalog" if name else "this line has no module"
            self.notify(said, timeout=3)
