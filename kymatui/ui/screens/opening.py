"""From a step to its screen. Screens are imported when somebody goes there: the first paint waits for none of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kymatui.ui.navigation import Step

if TYPE_CHECKING:
    from kymatui.ui.keymaps import Scope
    from kymatui.ui.screens.framed import FramedScreen

HOME = Step("modules")
KINDS = ("modules", "module", "object", "channels", "problems", "changes", "jobs", "job", "delete")


def key_scopes(app: type) -> Iterator[Scope]:
    """The keys that work at the same time: those of each screen, with those of its tables and tabs."""
    from kymatui.ui.keymaps import scope
    from kymatui.ui.screens.catalog import CatalogScreen
    from kymatui.ui.screens.changes import ChangesScreen
    from kymatui.ui.screens.choosing import ChoiceScreen
    from kymatui.ui.screens.columns import ColumnsScreen
    from kymatui.ui.screens.comparing import CompareScreen
    from kymatui.ui.screens.confirming import ConfirmScreen
    from kymatui.ui.screens.departing import DepartingScreen
    from kymatui.ui.screens.explaining import SyncScreen, WatchersScreen, WindowsScreen
    from kymatui.ui.screens.filling import FormScreen
    from kymatui.ui.screens.fleet import FleetScreen, RuntimeTable
    from kymatui.ui.screens.fleet_lists import RecentScreen, SpreadScreen, WaitsScreen
    from kymatui.ui.screens.help import HelpScreen
    from kymatui.ui.screens.jobs import JobScreen, JobsScreen
    from kymatui.ui.screens.matrix import MatrixScreen
    from kymatui.ui.screens.menu import MenuScreen
    from kymatui.ui.screens.module import PANES, ModuleScreen
    from kymatui.ui.screens.object import ObjectScreen
    from kymatui.ui.screens.plan import PlanScreen
    from kymatui.ui.screens.problems import ProblemsScreen
    from kymatui.ui.widgets.document import Document
    from kymatui.ui.widgets.live_table import LiveTable
    from kymatui.ui.widgets.plan_parts import DiffView, PlanTable
    from kymatui.ui.widgets.prompt import Prompt

    for screen in (CatalogScreen, MatrixScreen, ProblemsScreen, ChangesScreen, JobsScreen, JobScreen, DepartingScreen):
        yield scope(app, screen, LiveTable)
    yield scope(app, ObjectScreen, Document)
    yield scope(app, FleetScreen, RuntimeTable)
    fleets = (SpreadScreen, WaitsScreen, RecentScreen, CompareScreen, SyncScreen, WindowsScreen, WatchersScreen)
    yield from (scope(app, sight, LiveTable) for sight in fleets)
    for pane in PANES:
        found = scope(app, ModuleScreen, pane, Document if pane.TITLE == "yaml" else LiveTable)
        yield found if pane.TABLE_OPENS else {name: keys for name, keys in found.items() if name != "table.open"}
    yield from (scope(app, PlanScreen, part) for part in (PlanTable, DiffView))
    yield from (scope(app, question, PlanTable) for question in (MenuScreen, ChoiceScreen))
    yield from (scope(app, question) for question in (HelpScreen, ColumnsScreen, ConfirmScreen, FormScreen, Prompt))


def screen_for(step: Step) -> FramedScreen:
    """A new screen; a step that leads nowhere is a defect."""
    if step.kind == "modules":
        from kymatui.ui.screens.catalog import CatalogScreen

        return CatalogScreen(step.about, step.tab)
    if step.kind in ("matrix", "waits", "recent"):
        from kymatui.ui.screens.fleet_lists import RecentScreen, SpreadScreen, WaitsScreen

        sights: dict[str, type[FramedScreen]] = {"matrix": SpreadScreen, "waits": WaitsScreen, "recent": RecentScreen}
        return sights[step.kind]()
    if step.kind == "module":
        from kymatui.ui.screens.module import ModuleScreen

        return ModuleScreen(step.about, step.tab)
    if step.kind == "compare":
        from kymatui.ui.screens.comparing import CompareScreen

        return CompareScreen()
    if step.kind in ("sync", "windows", "watchers"):
        from kymatui.ui.screens.explaining import SyncScreen, WatchersScreen, WindowsScreen

        explained: dict[str, type[FramedScreen]] = {
            "sync": SyncScreen,
            "windows": WindowsScreen,
            "watchers": WatchersScreen,
        }
        return explained[step.kind]()
    if step.kind == "channels":
        from kymatui.ui.screens.matrix import MatrixScreen

        return MatrixScreen()
    if step.kind == "problems":
        from kymatui.ui.screens.problems import ProblemsScreen

        return ProblemsScreen()
    if step.kind in ("jobs", "job"):
        from kymatui.ui.screens.jobs import JobScreen, JobsScreen

        return JobScreen(step.about) if step.about else JobsScreen()
    if step.kind == "delete":
        from kymatui.ui.screens.departing import DepartingScreen

        return DepartingScreen(step.about)
    if step.kind == "object":
        from kymatui.ui.navigation import object_of
        from kymatui.ui.screens.object import ObjectScreen

        return ObjectScreen(object_of(step))
    if step.kind == "changes":
        from kymatui.ui.screens.changes import ChangesScreen

        return ChangesScreen()
    raise AssertionError(f"no screen is called {step.kind}")
