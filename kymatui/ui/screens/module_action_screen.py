"""Screens with module actions: the menu, and the keys of its actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.flows.flow_app import flow_app, why_no_plan

if TYPE_CHECKING:
    from kymatui.ui.panes.pane import Pane


class ModuleActionScreen(FramedScreen):
    """Screen with actions on modules; it writes nothing itself, each action displays a plan first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "module('menu')", "Actions", id="module.act"),
        Binding("m", "module('manage')", "Manage or unmanage", show=False, id="module.manage"),
        Binding("i", "module('install')", "Install directly", show=False, id="module.install"),
        Binding("u", "module('upgrade')", "Upgrade", show=False, id="module.upgrade"),
        Binding("E", "module('edit')", "Edit the module CR in $EDITOR", show=False, id="module.edit"),
        Binding(
            "r",
            "module('restart')",
            "Restart the workload of the line, or the manager",
            show=False,
            id="module.restart",
        ),
        Binding("ctrl+d", "module('delete')", "Delete step by step", show=False, id="module.delete"),
        Binding("o", "module('link')", "Open documentation or repository", show=False, id="module.link"),
    ]

    pane: Pane | None = None
    """The open tab; None for a screen without tabs, or before the first one is open."""

    @property
    def targets(self) -> Sequence[str]:
        """Return the names of the target modules."""
        return ()

    def why_off(self, action: str, choice: object = "") -> str:
        if action == "module" and not (self.frame.is_whole and self.targets):
            return "no module selected"
        if action == "module" and choice in ("edit", "restart"):  # no plan without rights
            return self.kymatui.why_no_writes
        if action == "module" and choice != "link":
            return why_no_plan(self.kymatui)
        return super().why_off(action, choice)

    def action_module(self, key: str) -> None:
        from kymatui.ui.flows.module_actions import start_module_action

        line = self.pane.entry() if self.pane is not None else None
        flow_app(self).jobs.run_flow(start_module_action(flow_app(self), key, self.targets, line))
