"""From a step to its screen. Screens are imported when somebody goes there: the first paint waits for none of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kymatui.ui.navigation import Step

if TYPE_CHECKING:
    from kymatui.ui.screens.framed import FramedScreen

HOME = Step("modules")
KINDS = ("modules", "module", "channels", "problems", "changes")


def screen_for(step: Step) -> FramedScreen:
    """A new screen; a step that leads nowhere is a defect."""
    if step.kind == "module":
        from kymatui.ui.screens.module import ModuleScreen

        return ModuleScreen(step.about, step.tab)
    if step.kind == "channels":
        from kymatui.ui.screens.matrix import MatrixScreen

        return MatrixScreen()
    if step.kind == "problems":
        from kymatui.ui.screens.problems import ProblemsScreen

        return ProblemsScreen()
    if step.kind == "changes":
        from kymatui.ui.screens.changes import ChangesScreen

        return ChangesScreen()
    raise AssertionError(f"no screen is called {step.kind}")
