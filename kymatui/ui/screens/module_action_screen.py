"""Screens with module actions: the menu, and the keys of its actions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.flows.flow_app import flow_app


class ModuleActionScreen(FramedScreen):
    """Screen with actions on modules; it writes nothing itself, each action displays a plan first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "act", "Actions", id="module.act"),
        Binding("m", "manage", "Manage or unmanage", show=False, id="module.manage"),
        Binding("i", "install", "Install directly", show=False, id="module.install"),
        Binding("u,p", "upgrade", "Upgrade", show=False, id="module.upgrade"),
        Binding("ctrl+d", "delete", "Delete step by step", show=False, id="module.delete"),
    ]

    @property
    def targets(self) -> Sequence[str]:
        """Return the names of the target modules."""
        return ()

    def why_off(self, action: str) -> str:
        if action in ("act", "manage", "upgrade", "install", "delete") and not (self.frame.is_whole and self.targets):
            return "no module selected"
        return super().why_off(action)

    def action_delete(self) -> None:
        from kymatui.ui.flows.deletion import start_deletion
        from kymatui.ui.navigation.history import ScreenStep

        if len(self.targets) == 1:
            self.kymatui.ways.open(ScreenStep("delete", self.targets[0]))
        else:
            flow_app(self).desk.flow(start_deletion(flow_app(self), self.targets))

    def action_install(self) -> None:
        from kymatui.ui.flows.direct_install import install, install_several

        app, names = flow_app(self), self.targets
        app.desk.flow(install(app, names[0]) if len(names) == 1 else install_several(app, names))

    def action_upgrade(self) -> None:
        from kymatui.ui.flows.direct_install import upgrade

        flow_app(self).desk.flow(upgrade(flow_app(self), self.targets))

    def action_act(self) -> None:
        from kymatui.ui.flows.module_actions import open_action_menu

        flow_app(self).desk.flow(open_action_menu(flow_app(self), self.targets))

    def action_manage(self) -> None:
        from kymatui.ui.flows.module_actions import switch_management

        flow_app(self).desk.flow(switch_management(flow_app(self), self.targets))
