"""Registry from step to screen. Screens are imported on demand, so the first paint waits for none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.navigation.history import (
    COMPONENT,
    CONTENT,
    CONTEXT_MATRIX,
    CONTEXTS,
    FLEET_PROBLEMS,
    LOGS,
    OBJECT_LOGS,
    WHATIF,
    ScreenStep,
    object_reference,
)
from kymatui.ui.navigation.key_help import KeyScope, key_scope
from kymatui.ui.panes.catalog_pane import CatalogPane
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.widgets.live_table import LiveTable

HOME = ScreenStep("modules")
_LIST_KINDS = ("channels", "problems", "changes", CONTEXTS, "glossary")
KINDS = (
    *("modules", "module", "object", LOGS, OBJECT_LOGS, "jobs", "job", "delete"),
    *(COMPONENT, CONTENT, *_LIST_KINDS),
)
_FLEET_KINDS = (
    *("matrix", "waits", FLEET_PROBLEMS, "recent", CONTEXT_MATRIX),
    *("compare", "sync", "windows", "watchers"),
)


def key_scopes(app: type) -> Iterator[KeyScope]:
    """Yield the keys that are active together: those of each screen with its tables and tabs."""
    from kymatui.ui.base.help_screen import HelpScreen
    from kymatui.ui.dialogs.action_menu import MenuScreen
    from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
    from kymatui.ui.dialogs.columns_dialog import ColumnsScreen
    from kymatui.ui.dialogs.form_dialog import FormScreen
    from kymatui.ui.dialogs.login_dialog import LoginScreen
    from kymatui.ui.dialogs.plan_dialog import PlanScreen
    from kymatui.ui.logs.log_text import LogText
    from kymatui.ui.logs.logs_pane import LogsPane
    from kymatui.ui.logs.logs_screen import LogsScreen
    from kymatui.ui.panes.runtimes_pane import RuntimesPane, RuntimeTable
    from kymatui.ui.screens.component_screen import ComponentScreen, ContentScreen
    from kymatui.ui.screens.deletion_screen import DeletionScreen
    from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
    from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen
    from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
    from kymatui.ui.screens.module_screen import PANES, ModuleScreen
    from kymatui.ui.screens.object_screen import ObjectScreen
    from kymatui.ui.widgets.document import Document
    from kymatui.ui.widgets.plan_widgets import DiffView, PlanTable
    from kymatui.ui.widgets.prompt import Prompt

    for screen in (JobsScreen, JobScreen, DeletionScreen, ComponentScreen):
        yield key_scope(app, screen, LiveTable)
    for listing in _list_screens().values():
        list_scope = key_scope(app, listing, LiveTable)
        yield list_scope if listing.TABLE_OPENS else _without_open(list_scope)
    yield key_scope(app, ObjectScreen, Document)
    yield key_scope(app, ContentScreen, Document)
    yield key_scope(app, LogsScreen, LogsPane, LogText)
    yield key_scope(app, CatalogScreen, CatalogPane, LiveTable)
    yield key_scope(app, FleetScreen, RuntimesPane, RuntimeTable)
    fleets: tuple[type[FramedScreen], ...] = (*_fleet_screens().values(), WhatIfScreen)
    yield from (key_scope(app, screen_class, LiveTable) for screen_class in fleets)
    for pane in PANES:
        pane_scope = key_scope(app, ModuleScreen, pane, Document if pane.TITLE == "yaml" else LiveTable)
        yield pane_scope if pane.TABLE_OPENS else _without_open(pane_scope)
    yield from (key_scope(app, PlanScreen, part) for part in (PlanTable, DiffView))
    yield from (key_scope(app, question, PlanTable) for question in (MenuScreen, ChoiceScreen))
    yield from (
        key_scope(app, question)
        for question in (HelpScreen, ColumnsScreen, ConfirmScreen, LoginScreen, FormScreen, Prompt)
    )


def _without_open(scope: KeyScope) -> KeyScope:
    """Return the keys of a table whose rows lead nowhere."""
    return {name: keys for name, keys in scope.items() if name != "table.open"}


def _list_screens() -> dict[str, Any]:
    """Return the classes of lists, of which a step has the kind and, for some, a word."""
    from kymatui.ui.screens.changes_screen import ChangesScreen
    from kymatui.ui.screens.channel_matrix_screen import ChannelMatrixScreen
    from kymatui.ui.screens.contexts_screen import ContextsScreen
    from kymatui.ui.screens.glossary_screen import GlossaryScreen
    from kymatui.ui.screens.problems_screen import ProblemsScreen

    screens = (ChannelMatrixScreen, ProblemsScreen, ChangesScreen, ContextsScreen, GlossaryScreen)
    return dict(zip(_LIST_KINDS, screens, strict=True))


def _fleet_screens() -> dict[str, type[FramedScreen]]:
    """Return the screens of a control plane that need nothing but their kind."""
    from kymatui.ui.screens.fleet.compare_screen import CompareScreen
    from kymatui.ui.screens.fleet.control_plane_screens import SyncScreen, WatchersScreen, WindowsScreen
    from kymatui.ui.screens.fleet.fleet_list_screens import (
        ContextVersionsScreen,
        FleetProblemsScreen,
        RecentChangesScreen,
        VersionMatrixScreen,
        WaitingScreen,
    )

    lists = (VersionMatrixScreen, WaitingScreen, FleetProblemsScreen, RecentChangesScreen, ContextVersionsScreen)
    reports = (CompareScreen, SyncScreen, WindowsScreen, WatchersScreen)
    return dict(zip(_FLEET_KINDS, (*lists, *reports), strict=True))


def screen_for(step: ScreenStep) -> FramedScreen:
    """Return a new screen for the step; a step without a screen is a defect."""
    if step.kind == "modules":
        return CatalogScreen(step.about, step.tab)
    if step.kind in _FLEET_KINDS:
        return _fleet_screens()[step.kind]()
    if step.kind in _LIST_KINDS:
        listing: type[FramedScreen] = _list_screens()[step.kind]
        return listing(*filter(None, [step.about]))
    if step.kind == "module":
        from kymatui.ui.screens.module_screen import ModuleScreen

        return ModuleScreen(step.about, step.tab)
    if step.kind == WHATIF:
        from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen

        return WhatIfScreen(step.about)
    if step.kind in ("jobs", "job"):
        from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen

        return JobScreen(step.about) if step.about else JobsScreen()
    if step.kind == "delete":
        from kymatui.ui.screens.deletion_screen import DeletionScreen

        return DeletionScreen(step.about)
    if step.kind == "object":
        from kymatui.ui.screens.object_screen import ObjectScreen

        return ObjectScreen(object_reference(step), step.tab)
    if step.kind in (LOGS, OBJECT_LOGS):
        from kymatui.ui.logs.logs_screen import LogsScreen

        return LogsScreen(step)
    if step.kind == COMPONENT:
        from kymatui.ui.screens.component_screen import ComponentScreen

        return ComponentScreen(step)
    if step.kind == CONTENT:
        from kymatui.ui.screens.component_screen import ContentScreen

        return ContentScreen(step)
    raise AssertionError(f"no screen is called {step.kind}")
