"""First screen: every module of the catalog, live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from kymatui.ui.flows.flow_app import flow_app
from kymatui.ui.navigation.history import LOGS, ScreenStep
from kymatui.ui.panes.catalog_pane import CatalogPane
from kymatui.ui.panes.table_pane import PaneScreen
from kymatui.ui.screens.module_action_screen import ModuleActionScreen
from kymatui.ui.viewmodels.row_list import displayed_first
from kymatui.ui.widgets.row_table import RowTable


class CatalogScreen(PaneScreen, ModuleActionScreen):
    """Pane of the modules, and the keys that open one of them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "detail('checks')", "Explain", id="catalog.explain"),
        Binding("t", "detail('resources')", "Tree", id="catalog.tree"),
        Binding("v", "detail('versions')", "Versions", id="catalog.versions"),
        Binding("d", "detail('overview')", "Overview", show=False, id="catalog.overview"),
        Binding("e", "detail('events')", "Events", show=False, id="catalog.events"),
        Binding("y", "detail('yaml')", "YAML", show=False, id="catalog.yaml"),
        Binding("l", "detail('logs')", "Logs of the manager", show=False, id="catalog.logs"),
        Binding("h", "detail('history')", "History", show=False, id="catalog.history"),
        Binding("ctrl+z", "problems", "Show only problems", id="catalog.problems"),
        Binding("f", "pin", "Pin the module to the top, or unpin it", show=False, id="catalog.pin"),
    ]

    name_in_help: ClassVar[str] = "Catalog"

    def __init__(self, runtime: str = "", module: str = "") -> None:
        """Take `runtime` as `namespace/name` of a Kyma on a control plane, "" on a single cluster.

        The cursor starts on `module`.
        """
        super().__init__()
        self._runtime = runtime
        self._pane: CatalogPane = CatalogPane(module)

    @property
    def step(self) -> ScreenStep:
        return ScreenStep("modules", self._runtime)

    @property
    def targets(self) -> Sequence[str]:
        """Return the marked modules, including those hidden by a filter; else the module under the cursor."""
        table = self.main_widget()
        return displayed_first(table.marked, table.rows) or ([table.cursor_key] if table.cursor_key is not None else [])

    def ask_again(self) -> None:
        self._pane.ask_again()

    @on(RowTable.Chosen)
    def _chosen(self, event: RowTable.Chosen) -> None:
        self.kymatui.ways.open(ScreenStep("module", event.key, "overview"))

    def action_detail(self, tab: str) -> None:
        key = self.main_widget().cursor_key
        if key is not None:
            self.kymatui.ways.open(ScreenStep(LOGS, key) if tab == LOGS else ScreenStep("module", key, tab))

    def action_pin(self) -> None:
        """Pin the module under the cursor to the top, or unpin it; the cursor stays on it."""
        app, key = flow_app(self), self.main_widget().cursor_key
        if key is not None:
            app.jobs.run_beside(app.favourites.toggle(key))

    def why_off(self, action: str, choice: object = "") -> str:
        if action in ("detail", "pin") and self.is_mounted and self.main_widget().cursor_key is None:
            return "no module selected"
        if action == "back" and not self._runtime and not (self._pane.is_composed and self._pane.is_narrowed):
            return "this is the first screen"
        return super().why_off(action, choice)

    def action_back(self) -> None:
        """Clear what hides rows, else return to the fleet."""
        if not self._pane.widen() and self._runtime:
            self.kymatui.ways.climb()
