"""The reference of the screens: columns, keys and commands from the code. `tests/reference.py` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final, NamedTuple
from unittest.mock import MagicMock

from textual.binding import Binding

from kymatui.lists import catalog as catalog_list
from kymatui.lists import control_plane
from kymatui.lists import module as module_lists
from kymatui.lists.columns import Column, ListColumn
from kymatui.lists.fleet import WAIT_COLUMNS
from kymatui.ui.application.fleet_app import FleetApp
from kymatui.ui.application.kymatui_app import KymatuiApp
from kymatui.ui.base.framed_screen import FramedScreen
from kymatui.ui.base.help_screen import HelpScreen
from kymatui.ui.dialogs.action_menu import MenuScreen
from kymatui.ui.dialogs.choice_dialog import ChoiceScreen, ConfirmScreen
from kymatui.ui.dialogs.columns_dialog import ColumnsScreen
from kymatui.ui.dialogs.form_dialog import FormScreen
from kymatui.ui.dialogs.login_dialog import LoginScreen
from kymatui.ui.dialogs.plan_dialog import PlanScreen
from kymatui.ui.logs.logs_pane import LogsPane
from kymatui.ui.logs.logs_screen import LogsScreen
from kymatui.ui.navigation.command_table import ScreenCommand
from kymatui.ui.navigation.key_help import key_name
from kymatui.ui.panes.catalog_pane import CatalogPane
from kymatui.ui.panes.checks_pane import ChecksPane
from kymatui.ui.panes.module_panes import DocumentsPane, EventsPane, HistoryPane, OverviewPane
from kymatui.ui.panes.resources_pane import ResourcesPane
from kymatui.ui.panes.runtimes_pane import RuntimesPane
from kymatui.ui.panes.table_pane import TablePane
from kymatui.ui.panes.versions_pane import VersionsPane
from kymatui.ui.presenters.catalog import change_rows, problem_rows
from kymatui.ui.presenters.fleet import fleet_reports, forecast_rows, runtime_rows
from kymatui.ui.presenters.module import object_tree, version_rows
from kymatui.ui.presenters.plans import deletion_stages, job_rows
from kymatui.ui.screens import contexts_screen, glossary_screen
from kymatui.ui.screens.catalog_screen import CatalogScreen
from kymatui.ui.screens.changes_screen import ChangesScreen
from kymatui.ui.screens.channel_matrix_screen import ChannelMatrixScreen
from kymatui.ui.screens.component_screen import ComponentScreen, ContentScreen
from kymatui.ui.screens.contexts_screen import ContextsScreen
from kymatui.ui.screens.deletion_screen import DeletionScreen
from kymatui.ui.screens.fleet import compare_screen
from kymatui.ui.screens.fleet.compare_screen import CompareScreen
from kymatui.ui.screens.fleet.control_plane_screens import SyncScreen, WatchersScreen, WindowsScreen
from kymatui.ui.screens.fleet.fleet_list_screens import RecentChangesScreen, VersionMatrixScreen, WaitingScreen
from kymatui.ui.screens.fleet.fleet_screen import FleetScreen
from kymatui.ui.screens.fleet.whatif_screen import WhatIfScreen
from kymatui.ui.screens.glossary_screen import GlossaryScreen
from kymatui.ui.screens.jobs_screen import JobScreen, JobsScreen
from kymatui.ui.screens.module_screen import ModuleScreen
from kymatui.ui.screens.object_screen import ObjectScreen
from kymatui.ui.screens.problems_screen import ProblemsScreen
from kymatui.ui.widgets.document import Document
from kymatui.ui.widgets.live_table import LiveTable
from tests.documents import ROOT


class Page(NamedTuple):
    """A screen, tab or dialog of the reference: what is on it, and the picture in screenshots/."""

    owner: type
    text: str
    kind: str = ""
    columns: Sequence[Column] = ()
    picture: str = ""
    title: str = ""
    pane: type | None = None


CLUSTER: Final = (
    Page(
        CatalogScreen,
        "Every module of the cluster, with a view for each channel. Below the table is the reason for the state of the "
        "module under the cursor, and who acts.",
        columns=(*catalog_list.COLUMNS, catalog_list.OFFERED),
        picture="catalog",
        pane=CatalogPane,
    ),
    Page(ModuleScreen, "One module, on seven tabs. Every tab is live.", picture="module"),
    Page(
        ComponentScreen,
        "The component of a version, as `kymatui bundle show` prints it: `enter` on a version, or `:component REF`. "
        "It is read from the ModuleTemplate, or from the registry of the option `registry`.",
        kind="component",
        columns=version_rows.COLUMNS,
        picture="component",
    ),
    Page(
        ContentScreen,
        "The files of a layer, the manifest of an image, or the descriptor of a component.",
        kind="content",
    ),
    Page(ObjectScreen, "One object as YAML, or described. The data of Secrets is not read.", kind="object"),
    Page(
        LogsScreen,
        "Logs of a module's manager, of all its Pods, or of the Pods of one object, in the order of their times. The "
        "newest 50,000 lines are stored. `/` marks matches, `&` and `:filter [!]PATTERN` hide other lines, `ctrl-s` "
        "saves them.",
        kind="logs",
        pane=LogsPane,
    ),
    Page(
        ChannelMatrixScreen,
        "Every module with its version in each channel, and the channel that the Kyma uses.",
        kind="channels",
        picture="channels",
    ),
    Page(
        ProblemsScreen,
        "Everything that is wrong in the cluster, the worst first, with who acts.",
        kind="problems",
        columns=problem_rows.COLUMNS,
        picture="problems",
    ),
    Page(
        ChangesScreen,
        "What changed in the cluster while kymatui was open, newest first.",
        kind="changes",
        columns=change_rows.COLUMNS,
        picture="changes",
    ),
    Page(
        GlossaryScreen,
        "The words of the tables: what each means, and what to do about it. `:glossary WORD` shows one.",
        kind="glossary",
        columns=glossary_screen.COLUMNS,
    ),
    Page(
        ContextsScreen,
        "The contexts of the kubeconfig, recently used first; `enter` switches to one. Impersonation, `--read-only` "
        "and `--audit` of the command line stay in force, and so do accent and read_only of the configuration. Active "
        "jobs are stopped after their current steps, once you confirm that.",
        kind="ctx",
        columns=contexts_screen.COLUMNS,
    ),
    Page(
        JobsScreen,
        "The jobs of this session, newest first: what they do, and what they wait for.",
        kind="jobs",
        columns=job_rows.COLUMNS,
        picture="jobs",
    ),
    Page(JobScreen, "One job: its steps above, its log below.", kind="job", columns=job_rows.LOG_COLUMNS),
    Page(
        DeletionScreen,
        "The deletion of a module step by step: the steps on the left, the objects that still exist on the right.",
        kind="delete",
        columns=deletion_stages.COLUMNS,
        picture="deletion",
    ),
)
TABS: Final = (
    Page(OverviewPane, "State, versions, channel, reason, and what each controller reports."),
    Page(
        ResourcesPane,
        "The objects of the module as a tree: the Manifest, the module CR, the module's manager, down to the Pods.",
        columns=object_tree.COLUMNS,
        picture="resources",
    ),
    Page(
        ChecksPane,
        "The rules that decide the state: the expected value, the actual value, and the result of each.",
        columns=module_lists.RULE_COLUMNS,
        picture="checks",
    ),
    Page(
        VersionsPane,
        "All versions that the catalog has, and what changes between two of them.",
        columns=module_lists.VERSION_COLUMNS,
        picture="versions",
    ),
    Page(EventsPane, "The events of the module's objects and Pods.", columns=module_lists.EVENT_COLUMNS),
    Page(DocumentsPane, "The module CRs, the template, the Manifest and the manager as YAML.", picture="yaml"),
    Page(HistoryPane, "What changed in the module while kymatui was open.", columns=change_rows.MODULE_COLUMNS),
)
CONTROL_PLANE: Final = (
    Page(
        FleetScreen,
        "Every runtime of the control plane, the worst first, or groups of them.",
        columns=runtime_rows.COLUMNS,
        picture="fleet",
        pane=RuntimesPane,
    ),
    Page(
        VersionMatrixScreen,
        "The versions of each module, with the number of runtimes that report each.",
        kind="matrix",
        picture="fleet-matrix",
    ),
    Page(
        WaitingScreen,
        "Every module that waits, with who acts.",
        kind="waits",
        columns=WAIT_COLUMNS,
        picture="fleet-waits",
    ),
    Page(
        WhatIfScreen,
        "What a change of the catalog does to the fleet: the runtimes of each version today and then, and each runtime "
        "behind a number. Reads the files again when they change.",
        kind="whatif",
        columns=forecast_rows.VERSION_COLUMNS,
        picture="whatif",
    ),
    Page(
        RecentChangesScreen,
        "What changed in the runtimes in the last hour.",
        kind="recent",
        columns=fleet_reports.CHANGE_COLUMNS,
    ),
    Page(
        CompareScreen,
        "The control plane and one runtime side by side, differences first.",
        kind="compare",
        columns=compare_screen.COLUMNS,
        picture="compare",
    ),
    Page(
        SyncScreen,
        "The catalog sync of a runtime: which templates it gets, which it has, and why.",
        kind="sync",
        columns=control_plane.SYNC_COLUMNS,
    ),
    Page(
        WindowsScreen,
        "The next maintenance window of each runtime, and the upgrades that wait for it.",
        kind="windows",
        columns=control_plane.WINDOW_COLUMNS,
    ),
    Page(
        WatchersScreen,
        "Every Watcher with the path of its events: Gateway, VirtualService, Service, webhook.",
        kind="watchers",
        columns=control_plane.WATCHER_COLUMNS,
    ),
)
DIALOGS: Final = (
    Page(MenuScreen, "The actions for a module or the marked modules.", picture="menu", title="Actions"),
    Page(ChoiceScreen, "The options of an action, such as channel and version.", title="Options"),
    Page(
        PlanScreen,
        "A plan: the cluster, the objects, the difference of the selected object, and what needs your consent.",
        picture="plan",
        title="Plan",
    ),
    Page(FormScreen, "The module CR, or the values of a chart, as a form or as YAML.", picture="form", title="Form"),
    Page(ConfirmScreen, "A question that names cluster, object and consequence.", title="Confirmation"),
    Page(LoginScreen, "What a credential plugin asks for, and the time that is left.", title="Login"),
    Page(ColumnsScreen, "The columns of the catalog, and their order.", picture="columns", title="Columns"),
    Page(HelpScreen, "Every key and command of the screen below it.", picture="help", title="Help"),
)


class KeyPlace(StrEnum):
    """Where a key is pressed: its meaning is one in all of them that are of a kind."""

    TABLES = "tables"
    TEXTS = "texts"
    DIALOGS = "dialogs"


SAME_MEANING: Final = {
    "Show the view, group or tab of this number": tuple(
        f"{name}-{number}"
        for name, most in (("catalog.view", 9), ("fleet.group", 6), ("module.tab", 7))
        for number in range(most + 1)
        if (name, number) != ("module.tab", 0)
    ),
    "Sort by name": ("catalog.sort-name", "fleet.sort-name"),
    "Sort by state": ("catalog.sort-state", "fleet.sort-state"),
    "Sort by age": ("catalog.sort-age", "fleet.sort-age"),
    "Sort by drift": ("catalog.sort-drift", "fleet.sort-drift"),
    "Actions for the line or the marked lines": ("module.act", "fleet.edit"),
    "Show only problems or differences": (
        "catalog.problems",
        "fleet.problems",
        "channels.differences",
        "compare.whole",
        "whatif.moves",
    ),
    "Overview": ("catalog.overview", "module.overview"),
    "Events": ("catalog.events", "module.events"),
    "History": ("catalog.history", "module.history", "fleet.recent"),
    "Restart": ("module.restart", "jobs.again"),
    "Logs": ("catalog.logs", "module.logs", "problems.logs", "object.logs"),
    "Tree of objects": ("catalog.tree", "module.resources"),
    "Versions": ("catalog.versions", "module.versions", "fleet.matrix"),
    "Explain the state": ("catalog.explain", "module.checks"),
    "YAML": ("catalog.yaml", "module.yaml", "component.descriptor"),
    "Copy": ("content.copy", "logs.copy", "module.copy-yaml", "object.copy"),
    "Move left": ("matrix.left", "module.fold"),
    "Move right": ("matrix.right", "module.unfold"),
    "Open": ("table.open", "module.component", "module.try-rule"),
    "Back": ("app.back", "module.leave-path"),
    "Help": ("plan.help", "help.close"),
    "Save": ("plan.save", "columns.keep"),
    "Accept": ("menu.take", "choice.take", "plan.accept", "columns.take"),
    "Cancel": (
        "menu.cancel",
        "choice.cancel",
        "plan.cancel",
        "form.cancel",
        "confirm.no",
        "login.cancel",
        "columns.cancel",
        "help.back",
        "help.close",
    ),
    "Next part": ("choice.next", "plan.pane", "form.next"),
    "Previous part": ("choice.before", "plan.pane-before", "form.before"),
    "Tick": ("plan.agree", "columns.toggle"),
}
"""Bindings with other ids that mean the same."""
_TEXTS: Final = (ContentScreen, ObjectScreen, LogsScreen, DocumentsPane)


def key_places(place: KeyPlace) -> Iterator[tuple[str, str]]:
    """Yield each key with the id of its binding, on all screens of a kind and those that work everywhere on them."""
    for key, binding, owner in _keys_of(place):
        yield key, binding.id or f"{owner.__name__}.{binding.action}"


def _keys_of(place: KeyPlace) -> Iterator[tuple[str, Binding, type]]:
    pages = [*CLUSTER, *TABS, *CONTROL_PLANE]
    texts = [page for page in pages if page.owner in _TEXTS]
    forms = [*DIALOGS, *(page for page in pages if page.owner is DeletionScreen)]
    tables = [page for page in pages if page not in texts and page not in forms]
    chosen = {KeyPlace.TABLES: tables, KeyPlace.TEXTS: texts, KeyPlace.DIALOGS: forms}[place]
    everywhere = {
        KeyPlace.TABLES: (FramedScreen, KymatuiApp, LiveTable),
        KeyPlace.TEXTS: (FramedScreen, KymatuiApp, Document),
        KeyPlace.DIALOGS: (),
    }[place]
    owners = [owner for page in chosen for owner in (page.owner, page.pane) if owner is not None]
    for owner in (*owners, *everywhere):
        for binding in _bindings(owner):
            for key in binding.key.split(","):
                yield key_name(key.strip()), binding, owner


def _meanings() -> Iterator[str]:
    """Yield the table of what each key means in tables, texts and dialogs; keys that only move are left out."""
    found: dict[str, dict[KeyPlace, str]] = {}
    for place in KeyPlace:
        for key, binding, _ in _keys_of(place):
            known = meaning(key, binding.id or "")
            found.setdefault(key, {}).setdefault(place, binding.description if known == binding.id else known)
    yield "\n## What each key means\n\nA key has one meaning in all tables, one in all texts, and one in all dialogs."
    yield f"\n| key | {' | '.join(f'in {place}' for place in KeyPlace)} |\n|---|{'---|' * len(KeyPlace)}"
    found = {"0 … 9" if key == "0" else key: names for key, names in found.items() if key not in "123456789"}
    for key, names in sorted(found.items(), key=lambda item: (len(item[0]) > 1, item[0].lower(), item[0])):
        yield f"| {_cell(f'`{key}`')} | {' | '.join(_cell(names.get(place, '')) for place in KeyPlace)} |"


def meaning(key: str, binding_id: str) -> str:
    """Return what a key means there; `help.close` is both the key of the help and one that cancels."""
    names = [name for name, ids in SAME_MEANING.items() if binding_id in ids]
    return (names[0] if key == "?" else names[-1]) if names else binding_id


def screens_page() -> Iterator[str]:
    """Yield the parts of docs/reference/screens.md."""
    yield "# Screens"
    yield "\nGenerated from the code by `python -m tests.reference`. The last column of keys is the id for `[keys]` in"
    yield "the [configuration](../guide/configuration.md)."
    yield "\nTables have fewer columns on narrow terminals."
    for title, pages in (("One cluster", CLUSTER), ("Control plane and runtimes", CONTROL_PLANE)):
        yield f"\n## {title}"
        for page in pages:
            yield from _section(page)
            if page.owner is ModuleScreen:
                yield from (part for tab in TABS for part in _section(tab))
    yield "\n## Dialogs"
    yield from (part for page in DIALOGS for part in _section(page))
    yield from _meanings()
    yield "\n## Keys of every screen"
    yield from _keys(FramedScreen, KymatuiApp)
    yield "\n## Keys of every table"
    yield from _keys(LiveTable)
    yield "\n## Keys of every YAML view"
    yield from _keys(Document)
    yield "\n## Commands of every screen\n\nPress `:` and type a command; Tab completes it."
    known = commands(KymatuiApp)
    yield from _commands(known)
    yield "\n## Further commands on a control plane"
    names = {command.name for command in known}
    yield from _commands([command for command in commands(FleetApp) if command.name not in names])


def _section(page: Page) -> Iterator[str]:
    tab = getattr(page.owner, "TITLE", "")
    title = page.title or (f"Tab {tab}" if tab else getattr(page.owner, "name_in_help", page.owner.__name__))
    yield f"\n### {title}\n\n{page.text}"
    if opened := list(_opened_by(page.kind)):
        yield f"\nOpened by {' or '.join(opened)}."
    if page.picture:
        assert (ROOT / "screenshots" / f"{page.picture}.svg").is_file()
        yield f"\n![{title}](../../screenshots/{page.picture}.svg)"
    if page.owner is CatalogScreen:
        yield "\n| column | name in `:columns` | |\n|---|---|---|"
        for column in page.columns:
            assert isinstance(column, ListColumn)
            name = f"`{column.id}`" if column.id in catalog_list.COLUMN_NAMES else ""
            yield f"| {column.title} | {name} | {column.help} |"
    elif page.columns:
        yield f"\nColumns: {', '.join(column.title for column in page.columns)}."
    yield from _keys(page.owner, *([page.pane] if page.pane is not None else ()))
    own = _own_commands(page.pane or page.owner)
    yield from _commands(own) if own else ()


def _opened_by(kind: str) -> Iterator[str]:
    if kind:
        action = f"open('{kind}')"
        for owner in (FramedScreen, FleetScreen, CompareScreen):
            for binding in owner.__dict__["BINDINGS"]:
                if binding.action == action:
                    yield f"`{key_name(binding.key.split(',')[0])}`"
        if kind in {command.name for command in commands(FleetApp)}:
            yield f"`:{kind}`"


def _keys(*owners: type) -> Iterator[str]:
    """Yield the table of the keys that the classes have besides those that all screens have."""
    rows: dict[tuple[str, str], list[str]] = {}
    ids: dict[tuple[str, str], str] = {}
    for owner in owners:
        for binding in _bindings(owner):
            key = (binding.description, binding.action.partition("(")[0])
            rows.setdefault(key, []).extend(key_name(part.strip()) for part in binding.key.split(","))
            ids.setdefault(key, binding.id or "")
    if rows:
        yield "\n| key | | id |\n|---|---|---|"
    for key, names in rows.items():
        shown = f"`{names[0]}` … `{names[-1]}`" if len(names) > 4 else " ".join(f"`{name}`" for name in names)
        yield f"| {_cell(shown)} | {_cell(key[0])} | {f'`{ids[key]}`' if len(names) < 5 else ''} |"


def _bindings(owner: type) -> Iterator[Binding]:
    """Yield the bindings that a class has besides those of all screens."""
    for kind in owner.__mro__:
        if kind is FramedScreen and owner is not FramedScreen:
            return
        for binding in kind.__dict__.get("BINDINGS", ()) if kind.__module__.startswith("kymatui.") else ():
            if isinstance(binding, Binding) and binding.description and not binding.system:
                yield binding
        if kind.__dict__.get("_inherit_bindings") is False:
            return


def _own_commands(owner: type) -> Sequence[ScreenCommand]:
    if not issubclass(owner, FramedScreen | TablePane) or owner.commands is FramedScreen.commands:
        return ()
    screen = MagicMock(spec=owner)
    if owner is not RuntimesPane:
        screen.kymatui.catalog = None
    return owner.commands(screen)


def commands(app_type: type[KymatuiApp]) -> Sequence[ScreenCommand]:
    """Return the commands behind `:` of every screen of the application, as a screen with a table has them."""
    app = MagicMock(spec=app_type)
    app.desk = app.ways = MagicMock()
    app.plugins = None
    app.shown.exports.return_value = ("csv", "json", "md", "svg")
    return app_type.commands(app)


def _commands(found: Sequence[ScreenCommand]) -> Iterator[str]:
    yield "\n| command | |\n|---|---|"
    for command in found:
        names = " ".join(f"`:{name}`" for name in (command.name, *command.aliases))
        yield f"| {names} | {_cell(command.help)}{f' (`{_cell(command.usage)}`)' if command.usage else ''} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
