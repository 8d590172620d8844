"""First screen on a control plane: every runtime, live, optionally in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType

from kymatui.domain.kubernetes.refs import split_name
from kymatui.ui.flows.flow_app import FleetPart
from kymatui.ui.navigation.history import ScreenStep
from kymatui.ui.panes.runtimes_pane import RuntimesPane
from kymatui.ui.panes.table_pane import PaneScreen
from kymatui.ui.viewmodels.row_list import displayed_first
from kymatui.ui.widgets.row_table import RowTable

if TYPE_CHECKING:
    from kymatui.ui.presenters.fleet.runtime_rows import RuntimeFilter


class FleetScreen(FleetPart, PaneScreen):
    """Pane of the runtimes, and the keys that open, compare or edit them; Escape clears filters."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("B", "group", "Group", id="fleet.group"),
        Binding("v", "open('matrix')", "Versions", id="fleet.matrix"),
        Binding("w", "open('waits')", "Waiting", id="fleet.waits"),
        Binding("h", "open('recent')", "History of the last hour", id="fleet.recent"),
        Binding("equals_sign", "compare", "Compare", key_display="=", id="fleet.compare"),
        Binding("a", "edit_runtimes", "Edit marked runtimes", id="fleet.edit"),
        Binding("ctrl+z", "problems", "Show only problems", id="fleet.problems"),
    ]

    KIND = "fleet"
    name_in_help: ClassVar[str] = "Fleet"

    def __init__(self) -> None:
        super().__init__()
        self._pane: RuntimesPane = RuntimesPane()
        self._origin: ScreenStep | None = None

    def action_compare(self) -> None:
        """Connect to the runtime under the cursor and compare it with its control plane."""

        key = self.main_widget().cursor_key
        if self._pane.group or not key:
            return
        self.fleet_app.look_at(split_name(key))
        self.fleet_app.ways.open(ScreenStep("compare"))

    @property
    def targets(self) -> Sequence[str]:
        """Return the marked runtimes in table order, including those hidden by a filter."""
        table = self.main_widget()
        return displayed_first(table.marked, table.rows)

    def action_edit_runtimes(self) -> None:
        """Plan one edit for every marked runtime; write nothing before the plan is accepted."""
        from kymatui.ui.flows.campaign import edit_runtimes

        self.fleet_app.jobs.run_flow(edit_runtimes(self.fleet_app, self.targets))

    def narrow(self, *filters: RuntimeFilter, origin: ScreenStep | None = None) -> None:
        """Display only the runtimes of these groups; `origin` is the screen that Back returns to."""
        self._origin = origin
        self._pane.narrow(*filters)

    @on(RowTable.Chosen)
    def _opened(self, event: RowTable.Chosen) -> None:

        if self._pane.group:
            self._origin = None
            self._pane.open_group(event.key)
        else:
            self.fleet_app.look_at(split_name(event.key))

    def action_group(self) -> None:
        self._pane.group_next()

    def why_off(self, action: str, choice: object = "") -> str:
        if action == "back" and not (self._pane.is_composed and self._pane.is_narrowed):
            return "this is the first screen"
        if action == "edit_runtimes":
            if self._pane.group or not self.frame.is_whole or not self.main_widget().marked:
                return f"mark {self.fleet_app.subject}s first (space)"
            return "" if self.fleet_app.read_only else self.fleet_app.why_no_fleet_writes
        if action == "compare" and self.fleet_app.has_contexts:
            return "needs a control plane"
        if action == "compare" and (
            self._pane.group or not self.frame.is_whole or self.main_widget().cursor_key is None
        ):
            return "no runtime selected"
        return super().why_off(action, choice)

    def action_back(self) -> None:
        """Show more runtimes; once all are shown, return to the screen that narrowed the list."""
        self._pane.widen()
        if self._origin is not None and not self._pane.is_narrowed:
            origin, self._origin = self._origin, None
            self.fleet_app.ways.open(origin)
